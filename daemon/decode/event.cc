#include "daemon/decode/event.h"

namespace profd::decode {

const EventHeader& HeaderOf(const Event& event) {
  return std::visit([](const auto& e) -> const EventHeader& { return e.header; }, event);
}

}  // namespace profd::decode
