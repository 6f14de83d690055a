// CleanText: names from files, processes and the kernel, made fit for terminals and documents.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace profd::symbolize {

// Longest name, path or reason in a Frame.
inline constexpr std::size_t kMaxTextBytes = 4096;

// Valid UTF-8 of at most `max_bytes`, in which every code point that is unsafe to print and every
// byte that is not UTF-8 is "?". A text that is cut ends in "...".
[[nodiscard]] std::string CleanText(std::string_view text, std::size_t max_bytes = kMaxTextBytes);

}  // namespace profd::symbolize
