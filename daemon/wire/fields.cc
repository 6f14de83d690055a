#include "daemon/wire/fields.h"

#include <string>

#include "daemon/wire/event_names.h"

namespace profd::wire {

Error Corrupt(std::uint16_t kind, std::string_view what) {
  return Error{ErrorCode::kCorrupt, std::string(KindName(kind)) + " event: " + std::string(what),
               ""};
}

EventHeader HeaderFrom(const profd_event& event) {
  return EventHeader{.time_ns = event.time_ns,
                     .process = {event.pid, event.process_start_ns},
                     .thread = {event.tid, event.thread_start_ns},
                     .sessions = event.sessions,
                     .cpu = event.cpu};
}

std::string_view TextOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ReadNumbers(Bytes from, std::size_t count, std::vector<std::uint64_t>& numbers) {
  numbers.resize(count);
  if (count > 0) std::memcpy(numbers.data(), from.data(), count * sizeof(std::uint64_t));
}

}  // namespace profd::wire
