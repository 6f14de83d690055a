#include "client/profile/steps/step_events.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "client/profile/stack_names.h"
#include "client/profile/steps/named_calls.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::size_t kLeastBorders = 3;
constexpr std::string_view kOptimizer = "Optimizer.step#";
constexpr std::string_view kDataLoader = "enumerate(DataLoader)#";
constexpr std::size_t kMostNames = 8;

const v1::StepSource& SourceOf(const v1::Profile& profile, std::uint32_t source) {
  return profile.step_sources(static_cast<int>(source));
}

const std::string& NameOf(const v1::Profile& profile, std::uint32_t name) {
  return profile.step_names(static_cast<int>(name));
}

bool Fits(const v1::Profile& profile, std::uint32_t source, std::uint32_t name,
          const StepChoice& choice) {
  const v1::StepSource& of = SourceOf(profile, source);
  if (!choice.source.empty() && of.text() != choice.source) return false;
  if (!of.names()) return choice.name.empty();
  const std::string& text = NameOf(profile, name);
  if (choice.name.empty()) return text.starts_with(kOptimizer);
  return text == choice.name || text.starts_with(choice.name + "#");
}

// Of a source without names all hits are alike.
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // thread, source, name

std::optional<Key> MostFrequent(const v1::Profile& profile, const StepChoice& choice) {
  const v1::StepEvents& events = profile.step_events();
  std::map<Key, std::size_t> hits;
  for (int i = 0; i < events.time_ns_size(); ++i)
    if (!events.end(i) && Fits(profile, events.source(i), events.name(i), choice))
      ++hits[{events.thread(i), events.source(i), events.name(i)}];
  const auto most = std::ranges::max_element(hits, {}, &std::pair<const Key, std::size_t>::second);
  if (most == hits.end() || most->second < kLeastBorders) return std::nullopt;
  return most->first;
}

Error NothingFits(const v1::Profile& profile, const StepChoice& choice) {
  std::string seen;
  for (const std::string& name : StepNamesOf(profile)) seen += (seen.empty() ? "" : ", ") + name;
  return Error{ErrorCode::kNotFound,
               choice.name.empty() ? "nothing began three times by which steps can be distinguished"
                                   : SafeName(choice.name) + " has not begun three times",
               seen.empty()
                   ? "nothing was watched; collect with --step SPEC, or take --step loop"
                   : "what began: " + seen + "; --step-name NAME takes one, --step loop samples"};
}

}  // namespace

std::vector<std::string> StepNamesOf(const v1::Profile& profile) {
  const v1::StepEvents& events = profile.step_events();
  std::map<std::string, std::size_t> hits;
  for (int i = 0; i < events.time_ns_size(); ++i) {
    if (events.end(i)) continue;
    const v1::StepSource& source = SourceOf(profile, events.source(i));
    ++hits[source.names() ? NameOf(profile, events.name(i)) : source.text()];
  }
  std::vector<std::pair<std::string, std::size_t>> sorted(hits.begin(), hits.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           &std::pair<std::string, std::size_t>::second);
  std::vector<std::string> names;
  for (const auto& [name, count] : sorted) {
    if (names.size() == kMostNames) break;
    names.push_back(SafeName(name) + " (" + FormatCount(count, "time") + ")");
  }
  return names;
}

std::string WhyNotWatched(const v1::Profile& profile) {
  for (const v1::StepSource& source : profile.step_sources())
    if (!source.refused().empty()) return SafeName(source.text() + ": " + source.refused());
  return {};
}

Result<std::optional<ProgramSteps>> FindSaidSteps(const v1::Profile& profile,
                                                  const StepChoice& choice) {
  const bool named = !choice.name.empty() || !choice.source.empty();
  const auto key = MostFrequent(profile, choice);
  if (!key) {
    if (named) return NothingFits(profile, choice);
    return std::optional<ProgramSteps>();
  }
  const auto& [thread, source, name] = *key;
  const v1::StepSource& of = SourceOf(profile, source);
  ProgramSteps said;
  said.loop.thread = thread;
  said.loop.exact = true;
  said.loop.said_by = of.names() ? NameOf(profile, name) : of.text();
  said.loop.by_ends = of.ends();
  for (const NamedCall& call : CallsOf(profile, thread)) {
    if (call.source == source && of.names() && of.ends() && call.end_ns != 0 &&
        NameOf(profile, call.name).starts_with(kDataLoader))
      said.data.push_back({call.begin_ns, call.end_ns});
    if (call.source != source || (of.names() && call.name != name)) continue;
    if (of.ends() && call.end_ns == 0) continue;
    said.loop.borders.push_back({of.ends() ? call.end_ns : call.begin_ns, 0});
    // The call that ends a step; the first one ends what was cut.
    if (of.ends() && said.loop.borders.size() > 1)
      said.optimizer.push_back({call.begin_ns, call.end_ns});
  }
  if (said.loop.borders.size() < kLeastBorders) return NothingFits(profile, choice);
  CountSamples(profile, said.loop);
  return std::optional(std::move(said));
}

}  // namespace profd::client
