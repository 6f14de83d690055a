#include "client/profile/report/function_names.h"

#include <string>
#include <unordered_set>

#include "client/profile/stack_names.h"

namespace profd::client {

bool IsFunction(const v1::Frame& frame, std::string_view name) {
  return FrameName(frame, {.place = false, .suffixes = false}) == name ||
         FrameName(frame, {.place = false, .inlined = false}) == name ||
         FrameName(frame, {.inlined = false}) == name ||
         FrameName(frame, {.line = false, .inlined = false}) == name;
}

Error NoSuchFunction(const v1::Profile& profile, std::string_view name) {
  constexpr std::size_t kMost = 5;
  std::string like;
  std::unordered_set<std::string> seen;
  for (const v1::Frame& frame : profile.frames()) {
    const std::string text = FrameName(frame, {.line = false, .inlined = false});
    if (text.find(name) == std::string::npos || !seen.insert(text).second) continue;
    if (seen.size() > kMost) break;
    like += (like.empty() ? "" : ", ") + text;
  }
  return Error{ErrorCode::kNotFound, "no data: no stack has the function '" + SafeName(name) + "'",
               like.empty() ? "profctl report --by function lists them" : "there are " + like};
}

}  // namespace profd::client
