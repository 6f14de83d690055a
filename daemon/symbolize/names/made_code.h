// kMadeCode: how names of functions begin that a process has made and that nothing lists.
#pragma once

#include <string_view>

namespace profd::symbolize {

// Before the function's place, as the name of the file is elsewhere.
inline constexpr std::string_view kMadeCode = "[code made at run time]";

}  // namespace profd::symbolize
