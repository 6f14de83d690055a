#include "daemon/labels/label_source.h"

#include <sys/mman.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "daemon/process/label_record.h"
#include "daemon/wire/event_bytes.h"

namespace profd::labels {

Result<wire::PollStatus> LabelSource::Poll(std::chrono::milliseconds timeout, const Sink& sink) {
  SendFound(sink);
  return source_.Poll(timeout, [&](const wire::RawEvent& event) {
    See(event);
    sink(event);
  });
}

void LabelSource::SendFound(const Sink& sink) {
  for (const FoundLabels& found : service_.TakeFound()) {
    seen_.Put(found.process.pid, {.process = found.process,
                                  .known = found.facts.refused.empty(),
                                  .names = found.facts.keys.size()});
    profd_label_process_event fixed{};
    fixed.event.time_ns = found.time_ns;
    fixed.event.pid = fixed.event.tid = found.process.pid;
    fixed.event.process_start_ns = fixed.event.thread_start_ns = found.process.start_ns;
    const auto bytes = wire::LayOutLabelProcess(fixed, found.facts.keys, found.facts.refused);
    sink(wire::RawEvent{bytes});
  }
}

void LabelSource::See(const wire::RawEvent& event) {
  profd_event header{};
  if (!wire::ReadHeader(event.bytes, &header)) return;
  const ProcessKey process{header.pid, header.process_start_ns};
  profd_mmap_event mmap{};
  switch (header.kind) {
    case PROFD_EVENT_SESSION_START:
      return SeeSession(event, true);
    case PROFD_EVENT_SESSION_END:
      return SeeSession(event, false);
    case PROFD_EVENT_ON_CPU:
    case PROFD_EVENT_OFF_CPU:
    case PROFD_EVENT_SNAPSHOT:
      return SeeSample(event, header);
    case PROFD_EVENT_EXIT:
      if ((header.flags & PROFD_TASK_LAST_THREAD) == 0) return;
      [[fallthrough]];
    case PROFD_EVENT_EXEC:
      if (seen_.Find(header.pid) == nullptr) return;
      seen_.Erase(header.pid);
      return service_.Forget(process);
    case PROFD_EVENT_MMAP:
      if (seen_.Find(header.pid) != nullptr && wire::ReadFixed(event.bytes, &mmap) &&
          (mmap.prot & PROT_EXEC) != 0)
        service_.LookAgain(process);
      return;
    default:
      return;
  }
}

void LabelSource::SeeSession(const wire::RawEvent& event, bool begins) {
  profd_session_event session{};
  if (!wire::ReadFixed(event.bytes, &session) || (session.mode & PROFD_SESSION_BACKGROUND) != 0)
    return;
  if (begins) {
    ++sessions_;
  } else if (sessions_ > 0 && --sessions_ == 0) {
    seen_.Clear();
    service_.ForgetAll();
  }
}

void LabelSource::SeeSample(const wire::RawEvent& event, const profd_event& header) {
  constexpr std::uint16_t kOfOthers = PROFD_SAMPLE_BACKGROUND | PROFD_SAMPLE_KTHREAD;
  if (sessions_ == 0 || header.sessions == 0 || (header.flags & kOfOthers) != 0) return;
  const ProcessKey process{header.pid, header.process_start_ns};
  const Seen* seen = seen_.Find(header.pid);
  if (seen == nullptr || seen->process != process) {
    seen_.Put(header.pid, {.process = process});
    return service_.Look(process);
  }
  if (seen->known && HasUnnamed(event, seen->names)) service_.LookAgain(process);
}

bool LabelSource::HasUnnamed(const wire::RawEvent& event, std::size_t names) {
  profd_sample_event sample{};
  std::span<const std::byte> tail;
  if (!wire::ReadSample(event.bytes, &sample, &tail) || sample.label_bytes == 0 ||
      sample.label_bytes > tail.size())
    return false;
  const auto bytes = tail.last(sample.label_bytes);
  const auto record =
      process::ParseLabelRecord({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return std::ranges::any_of(record.attributes,
                             [names](const auto& attribute) { return attribute.first >= names; });
}

}  // namespace profd::labels
