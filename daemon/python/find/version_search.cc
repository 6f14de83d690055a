#include "daemon/python/find/version_search.h"

#include <bit>
#include <charconv>

namespace profd::python {
namespace {

constexpr std::string_view kTag = "cpython-3";
constexpr std::string_view kMajor = "3.";
constexpr std::uint32_t kFinal = 0xf0;

// The text from `at` to the next zero, if that is near.
std::string_view TextAt(std::string_view piece, std::size_t at) {
  const std::string_view rest = piece.substr(at, VersionSearch::kOverlap - 1);
  const auto end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

// A number of at most three digits at the beginning, taken away; false when there is none.
bool TakeNumber(std::string_view& text, std::uint32_t* number) {
  const auto digits = text.substr(0, 3);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - digits.data()));
  return true;
}

// Linkers let a constant begin inside another one that ends alike, such as a path.
bool Begins(std::string_view piece, std::size_t at) {
  const char before = at == 0 ? 'x' : piece[at - 1];
  return before == '\0' || before == '/' || before == ' ';
}

template <typename See>
void ForEach(std::string_view piece, std::string_view prefix, const See& see) {
  for (auto at = piece.find(prefix); at != std::string_view::npos; at = piece.find(prefix, at + 1))
    if (Begins(piece, at)) see(TextAt(piece, at));
}

}  // namespace

void VersionSearch::Look(std::string_view piece) {
  ForEach(piece, kTag, [this](std::string_view text) {
    if (text.size() > kTag.size()) SeeTag(text.substr(kTag.size()));
  });
  ForEach(piece, kMajor, [this](std::string_view text) {
    if (text.size() > kMajor.size()) SeeVersion(text.substr(kMajor.size()));
  });
}

void VersionSearch::SeeTag(std::string_view digits) {
  std::uint32_t minor = 0;
  if (TakeNumber(digits, &minor) && digits.empty() && minor < kMinors) tagged_ |= 1u << minor;
}

void VersionSearch::SeeVersion(std::string_view text) {
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;
  if (!TakeNumber(text, &minor) || minor >= kMinors || !text.starts_with('.')) return;
  text.remove_prefix(1);
  // "3.9.18+" is a build between releases.
  if (TakeNumber(text, &patch) && (text.empty() || text == "+") && patch < 256)
    patches_[minor] = patch + 1;
}

std::uint32_t VersionSearch::version() const {
  if (!std::has_single_bit(tagged_)) return 0;
  const auto minor = static_cast<std::uint32_t>(std::countr_zero(tagged_));
  const std::uint32_t patch = patches_[minor];
  return 3u << 24 | minor << 16 | (patch == 0 ? 0 : (patch - 1) << 8 | kFinal);
}

}  // namespace profd::python
