#include "daemon/wire/event.h"

namespace profd::wire {

const EventHeader& HeaderOf(const Event& event) {
  return std::visit([](const auto& e) -> const EventHeader& { return e.header; }, event);
}

}  // namespace profd::wire
