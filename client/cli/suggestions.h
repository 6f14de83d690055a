// Suggestions: the words that a user may have meant, for words that profctl does not know.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace profd::client {

// The candidate that `word` is most likely a slip of: a beginning of it, or few letters apart.
// Empty when there is none.
[[nodiscard]] std::string ClosestOf(std::string_view word, std::span<const std::string> candidates);

// For options that users of other profilers know: what to do here instead. Empty for others.
[[nodiscard]] std::string_view ForeignOption(std::string_view option);

}  // namespace profd::client
