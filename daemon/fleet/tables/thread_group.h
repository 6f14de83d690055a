// Groups of threads by their names.
#pragma once

#include <string>
#include <string_view>

namespace profd::fleet {

// "worker-#" of "worker-12": threads of one job are one.
[[nodiscard]] std::string ThreadGroup(std::string_view name);

}  // namespace profd::fleet
