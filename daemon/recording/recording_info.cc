#include "daemon/recording/recording_info.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "bpf/shared/events.h"
#include "daemon/recording/recording_format.h"

namespace profd::recording {
namespace {

constexpr std::size_t kTotals = 8;

void AppendField(InfoField field, const void* data, std::size_t bytes,
                 std::vector<std::byte>& out) {
  const InfoFrame frame{.field = static_cast<std::uint32_t>(field),
                        .bytes = static_cast<std::uint32_t>(bytes)};
  const std::size_t at = out.size();
  out.resize(at + sizeof(frame) + Padded(bytes));
  std::memcpy(out.data() + at, &frame, sizeof(frame));
  if (bytes > 0) std::memcpy(out.data() + at + sizeof(frame), data, bytes);
}

void AppendText(InfoField field, std::string_view text, std::vector<std::byte>& out) {
  constexpr std::size_t kMaxText = 65'536;
  AppendField(field, text.data(), std::min(text.size(), kMaxText), out);
}

template <typename Number>
bool ReadNumber(std::span<const std::byte> bytes, Number& number) {
  if (bytes.size() != sizeof(number)) return false;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return true;
}

// Instead of a number: it is not known.
constexpr std::uint32_t kNowhere = UINT32_MAX;
using PlaceWords = std::array<std::uint32_t, 4>;

void AppendPlaces(const std::vector<CpuPlace>& places, std::vector<std::byte>& out) {
  if (places.empty()) return;
  std::vector<PlaceWords> words;
  words.reserve(places.size());
  for (const CpuPlace& place : places)
    words.push_back({place.cpu, place.core, place.cache.value_or(kNowhere), place.node});
  AppendField(InfoField::kCpuPlaces, words.data(), words.size() * sizeof(PlaceWords), out);
}

bool ReadPlaces(std::span<const std::byte> bytes, std::vector<CpuPlace>& places) {
  if (bytes.size() % sizeof(PlaceWords) != 0) return false;
  places.clear();
  for (; !bytes.empty(); bytes = bytes.subspan(sizeof(PlaceWords))) {
    PlaceWords words;
    std::memcpy(words.data(), bytes.data(), sizeof(words));
    CpuPlace place{.cpu = words[0], .core = words[1], .cache = words[2], .node = words[3]};
    if (place.cache == kNowhere) place.cache.reset();
    places.push_back(place);
  }
  return true;
}

bool TakeField(InfoField field, std::span<const std::byte> bytes, RecordingInfo& info) {
  const auto text = [bytes] {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  switch (field) {
    case InfoField::kEventsVersion:
      return ReadNumber(bytes, info.events_version);
    case InfoField::kArchitecture:
      info.architecture = text();
      break;
    case InfoField::kKernelRelease:
      info.kernel_release = text();
      break;
    case InfoField::kHost:
      info.host = text();
      break;
    case InfoField::kProfdVersion:
      info.profd_version = text();
      break;
    case InfoField::kHook:
      info.hook = text();
      break;
    case InfoField::kOptions:
      info.options = text();
      break;
    case InfoField::kStartMonotonicNs:
      return ReadNumber(bytes, info.start_monotonic_ns);
    case InfoField::kRealtimeOffsetNs:
      return ReadNumber(bytes, info.realtime_offset_ns);
    case InfoField::kCpuPlaces:
      return ReadPlaces(bytes, info.cpu_places);
  }
  // A newer profd may write fields that this one does not know.
  return true;
}

std::array<std::uint64_t, kTotals> ToArray(const RecordingTotals& totals) {
  return {totals.events,           totals.event_bytes,
          totals.dropped_events,   totals.dropped_event_bytes,
          totals.environment,      totals.dropped_environment,
          totals.end_monotonic_ns, totals.write_error};
}

}  // namespace

RecordingInfo DescribeThisMachine(const Clock& clock) {
  utsname name{};
  ::uname(&name);
  RecordingInfo info;
  info.events_version = PROFD_EVENTS_VERSION;
  info.architecture = name.machine;
  info.kernel_release = name.release;
  info.host = name.nodename;
  info.profd_version = PROFD_VERSION;
  info.start_monotonic_ns = clock.MonotonicNs();
  info.realtime_offset_ns = static_cast<std::int64_t>(clock.RealtimeNs() - info.start_monotonic_ns);
  return info;
}

std::vector<std::byte> EncodeInfo(const RecordingInfo& info) {
  std::vector<std::byte> out;
  AppendField(InfoField::kEventsVersion, &info.events_version, sizeof(info.events_version), out);
  AppendText(InfoField::kArchitecture, info.architecture, out);
  AppendText(InfoField::kKernelRelease, info.kernel_release, out);
  AppendText(InfoField::kHost, info.host, out);
  AppendText(InfoField::kProfdVersion, info.profd_version, out);
  AppendText(InfoField::kHook, info.hook, out);
  AppendText(InfoField::kOptions, info.options, out);
  AppendField(InfoField::kStartMonotonicNs, &info.start_monotonic_ns,
              sizeof(info.start_monotonic_ns), out);
  AppendField(InfoField::kRealtimeOffsetNs, &info.realtime_offset_ns,
              sizeof(info.realtime_offset_ns), out);
  AppendPlaces(info.cpu_places, out);
  return out;
}

std::vector<std::byte> EncodeTotals(const RecordingTotals& totals) {
  const auto values = ToArray(totals);
  std::vector<std::byte> out(sizeof(values));
  std::memcpy(out.data(), values.data(), sizeof(values));
  return out;
}

Result<RecordingInfo> DecodeInfo(std::span<const std::byte> bytes) {
  RecordingInfo info;
  while (!bytes.empty()) {
    InfoFrame frame;
    if (bytes.size() < sizeof(frame)) return Error{ErrorCode::kCorrupt, "a field is cut", ""};
    std::memcpy(&frame, bytes.data(), sizeof(frame));
    bytes = bytes.subspan(sizeof(frame));
    if (bytes.size() < Padded(frame.bytes)) return Error{ErrorCode::kCorrupt, "a field is cut", ""};
    if (!TakeField(static_cast<InfoField>(frame.field), bytes.first(frame.bytes), info)) {
      return Error{ErrorCode::kCorrupt,
                   "field " + std::to_string(frame.field) + " has the wrong length", ""};
    }
    bytes = bytes.subspan(Padded(frame.bytes));
  }
  return info;
}

Result<RecordingTotals> DecodeTotals(std::span<const std::byte> bytes) {
  // Totals are only appended: a newer writer has more of them, an older one fewer.
  if (bytes.size() % sizeof(std::uint64_t) != 0)
    return Error{ErrorCode::kCorrupt, "the totals are cut", ""};
  std::array<std::uint64_t, kTotals> values{};
  const std::size_t known = std::min(bytes.size(), sizeof(values));
  if (known > 0) std::memcpy(values.data(), bytes.data(), known);
  return RecordingTotals{.events = values[0],
                         .event_bytes = values[1],
                         .dropped_events = values[2],
                         .dropped_event_bytes = values[3],
                         .environment = values[4],
                         .dropped_environment = values[5],
                         .end_monotonic_ns = values[6],
                         .write_error = values[7]};
}

}  // namespace profd::recording
