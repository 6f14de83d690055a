#include "daemon/fleet/tables/thread_group.h"

namespace profd::fleet {

std::string ThreadGroup(std::string_view name) {
  std::string group;
  bool in_number = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      group += c;
    else if (!in_number)
      group += '#';
    in_number = digit;
  }
  return group;
}

}  // namespace profd::fleet
