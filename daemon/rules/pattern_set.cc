#include "daemon/rules/pattern_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/rules/pattern.h"

namespace profd::rules {
namespace {

constexpr std::int64_t kMostMemory = 8 << 20;  // of all function patterns together

RE2::Options SetOptions() {
  RE2::Options options = PatternOptions();
  options.set_max_mem(kMostMemory);
  return options;
}

std::unique_ptr<RE2> Compile(const std::optional<std::string>& pattern) {
  return pattern ? std::make_unique<RE2>(*pattern, PatternOptions()) : nullptr;
}

bool PathMatches(const std::unique_ptr<RE2>& pattern, const std::string& path) {
  if (!pattern || RE2::FullMatch(path, *pattern)) return true;
  const std::string_view name = BaseName(path);
  return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *pattern);
}

}  // namespace

PatternSet::PatternSet(std::vector<FramePattern> patterns)
    : patterns_(std::move(patterns)), functions_(SetOptions(), RE2::ANCHOR_BOTH) {
  for (const FramePattern& pattern : patterns_) {
    functions_.Add(pattern.function.value_or(".*"), nullptr);
    places_.push_back({Compile(pattern.module), Compile(pattern.file)});
  }
}

Result<PatternSetRef> PatternSet::Make(std::vector<FramePattern> patterns) {
  std::unique_ptr<PatternSet> set(new PatternSet(std::move(patterns)));
  if (!set->functions_.Compile())
    return Error{ErrorCode::kExhausted, "the patterns of the rules need too much memory together",
                 "use fewer or shorter ones"};
  return PatternSetRef(std::move(set));
}

std::vector<std::uint32_t> PatternSet::Matches(const symbolize::Frame& frame) const {
  std::vector<std::uint32_t> found;
  for (const int match : FunctionMatches(frame.name)) {
    const auto index = static_cast<std::uint32_t>(match);
    const std::optional<std::string>& function = patterns_[index].function;
    const bool of_unnamed = function && function->empty();
    if (of_unnamed == frame.name.empty() && PlacesMatch(index, frame)) found.push_back(index);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<int> PatternSet::FunctionMatches(const std::string& name) const {
  std::vector<int> matches;
  RE2::Set::ErrorInfo error{};
  if (patterns_.empty() || functions_.Match(name, &matches, &error)) return matches;
  if (error.kind != RE2::Set::kOutOfMemory) return {};
  // The automaton of all patterns is too large for this name: one after the other.
  matches.clear();
  for (std::size_t i = 0; i < patterns_.size(); ++i)
    if (RE2::FullMatch(name, RE2(patterns_[i].function.value_or(".*"), PatternOptions())))
      matches.push_back(static_cast<int>(i));
  return matches;
}

bool PatternSet::PlacesMatch(std::size_t pattern, const symbolize::Frame& frame) const {
  return PathMatches(places_[pattern].module, frame.module) &&
         PathMatches(places_[pattern].file, frame.file);
}

}  // namespace profd::rules
