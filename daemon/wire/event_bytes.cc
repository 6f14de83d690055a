#include "daemon/wire/event_bytes.h"

#include <algorithm>

namespace profd::wire {

EventBytes LayOutMmap(profd_mmap_event fixed, std::string_view path) {
  std::string tail(path);
  tail.push_back('\0');
  fixed.path_bytes = static_cast<__u32>(tail.size());
  return LayOut(PROFD_EVENT_MMAP, fixed, tail);
}

EventBytes LayOutProcess(profd_process_event fixed,
                         const std::array<std::string, PROFD_BLOB_MAX>& blobs) {
  std::string tail;
  for (std::size_t blob = 0; blob < blobs.size(); ++blob) {
    fixed.blob_bytes[blob] = static_cast<__u32>(blobs[blob].size());
    tail.append(blobs[blob]);
  }
  return LayOut(PROFD_EVENT_PROCESS, fixed, tail);
}

EventBytes LayOutSession(profd_event_kind kind, profd_session_event fixed,
                         std::string_view target) {
  fixed.target_bytes = static_cast<__u32>(target.size());
  return LayOut(kind, fixed, target);
}

EventBytes LayOutPeriods(std::uint64_t time_ns, const PeriodsNs& periods,
                         std::uint64_t point_seed) {
  profd_periods_event fixed{};
  fixed.event.time_ns = time_ns;
  fixed.on_cpu_period_ns = periods.on_cpu;
  fixed.off_cpu_period_ns = periods.off_cpu;
  fixed.background_on_cpu_period_ns = periods.background_on_cpu;
  fixed.background_off_cpu_period_ns = periods.background_off_cpu;
  fixed.point_seed = point_seed;
  return LayOut(PROFD_EVENT_PERIODS, fixed);
}

EventBytes LayOutLabelProcess(profd_label_process_event fixed, std::span<const std::string> keys,
                              std::string_view reason) {
  constexpr std::size_t kMaxName = 255;
  keys = keys.first(std::min<std::size_t>(keys.size(), PROFD_MAX_LABEL_KEYS));
  fixed.keys = static_cast<__u32>(keys.size());
  fixed.reason_bytes = static_cast<__u32>(reason.size());
  std::string tail(reason);
  for (const std::string_view key : keys) {
    const std::string_view name = key.substr(0, kMaxName);
    tail += static_cast<char>(name.size());
    tail += name;
  }
  return LayOut(PROFD_EVENT_LABEL_PROCESS, fixed, tail);
}

EventBytes LayOutStepSource(profd_step_source_event fixed, std::string_view text,
                            std::string_view reason) {
  fixed.text_bytes = static_cast<__u32>(text.size());
  fixed.reason_bytes = static_cast<__u32>(reason.size());
  if (!reason.empty()) fixed.event.flags |= PROFD_STEP_SOURCE_REFUSED;
  return LayOut(PROFD_EVENT_STEP_SOURCE, fixed, std::string(text).append(reason));
}

EventBytes LayOutCounters(std::uint64_t time_ns, std::span<const std::uint64_t> values) {
  profd_counters_event fixed{};
  fixed.event.time_ns = time_ns;
  fixed.count = static_cast<__u32>(values.size());
  return LayOut(PROFD_EVENT_COUNTERS, fixed,
                {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace profd::wire
