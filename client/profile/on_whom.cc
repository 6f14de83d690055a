#include "client/profile/on_whom.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <ranges>
#include <string_view>
#include <utility>

#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

struct KindName {
  v1::PathKind kind;
  std::string_view end;   // what the path ends with
  std::string_view name;  // who is waited for, where it is no thread
  bool unknown = false;
};

constexpr std::array kKindNames{
    KindName{v1::PATH_NONE, "not sampled", "not sampled", true},
    KindName{v1::PATH_WAITS, "waits", "[unknown]"},
    KindName{v1::PATH_RUNS, "runs", "[unknown]"},
    KindName{v1::PATH_NO_CPU, "no CPU", "[unknown]"},
    KindName{v1::PATH_TIMER, "timer", "a timer"},
    KindName{v1::PATH_DISK, "disk", "the disk"},
    KindName{v1::PATH_NET, "net", "the network"},
    KindName{v1::PATH_INTERRUPT, "device", "a device"},
    KindName{v1::PATH_OTHER_USER, "another user", "[another user]"},
    KindName{v1::PATH_NOT_EXPORTED, "not exported", "[not exported]"},
    KindName{v1::PATH_STILL_WAITS, "still waits", "still waits", true},
    KindName{v1::PATH_NOT_FOLLOWED, "not followed yet", "not followed yet", true},
    KindName{v1::PATH_NOT_SEEN, "wake-up not seen", "wake-up not seen", true},
    KindName{v1::PATH_LOST, "samples lost", "samples lost", true},
    KindName{v1::PATH_TOO_LONG, "path too long", "path too long", true},
};

const KindName* Find(v1::PathKind kind) {
  const auto* found = std::ranges::find(kKindNames, kind, &KindName::kind);
  return found == kKindNames.end() ? nullptr : found;
}

WhomStep StepOf(const v1::Profile& profile, const v1::PathNode& path, std::uint32_t pid) {
  WhomStep step{.name = {}, .kind = path.kind(), .how = path.how(), .wait = path.wait()};
  const KindName* known = Find(path.kind());
  if (path.thread() != 0)
    step.name = PathThreadName(profile.path_threads(static_cast<int>(path.thread()) - 1), pid);
  else
    step.name = known == nullptr ? "[unknown]" : known->name;
  return step;
}

// The steps as they are shown.
std::vector<WhomStep> Show(const v1::Profile& profile,
                           const std::vector<const v1::PathNode*>& steps, std::uint32_t pid) {
  std::vector<WhomStep> shown;
  for (const v1::PathNode* path : steps) {
    WhomStep step = StepOf(profile, *path, pid);
    const bool queues =
        !shown.empty() && shown.back().name == step.name && shown.back().kind == v1::PATH_WAITS;
    if (!queues) {
      shown.push_back(std::move(step));
      continue;
    }
    // The last of them says how it goes on.
    step.how = shown.back().how;
    step.several = true;
    shown.back() = std::move(step);
  }
  return shown;
}

// The stack that says most about a path: that of the last thread on it, or nothing.
const v1::PathNode* Speaker(const std::vector<const v1::PathNode*>& steps) {
  for (const v1::PathNode* step : std::views::reverse(steps))
    if (step->thread() != 0) return step->node() == 0 ? nullptr : step;
  return nullptr;
}

// Rows are alike whose steps show the same names in the same states.
using Key = std::pair<v1::WaitReason, std::vector<std::tuple<std::string, int, int>>>;

Key KeyOf(v1::WaitReason wait, const std::vector<WhomStep>& steps) {
  Key key{wait, {}};
  for (const WhomStep& step : steps)
    key.second.emplace_back(step.name, static_cast<int>(step.kind), static_cast<int>(step.how));
  return key;
}

}  // namespace

bool IsUnknown(v1::PathKind kind) {
  const KindName* known = Find(kind);
  return known != nullptr && known->unknown;
}

std::string_view UnknownName(v1::PathKind kind) {
  const KindName* known = Find(kind);
  return known == nullptr ? "unknown" : known->name;
}

std::string_view EndName(v1::PathKind kind) {
  const KindName* known = Find(kind);
  return known == nullptr ? "unknown" : known->end;
}

std::string_view HowName(v1::PathHow how) {
  if (how == v1::HOW_EXIT) return "its end";
  return how == v1::HOW_SIGNAL ? "its signal" : "";
}

std::string PathThreadName(const v1::PathThread& thread, std::uint32_t pid) {
  std::string name = WithoutNumbers(SafeName(thread.comm()));
  const std::string process = WithoutNumbers(SafeName(thread.process_comm()));
  if (thread.pid() == pid || process == name) return name;
  return process + "/" + name;
}

std::vector<const v1::PathNode*> StepsOf(const v1::Profile& profile, std::uint32_t path) {
  std::vector<const v1::PathNode*> steps;
  while (path != 0) {
    steps.push_back(&profile.paths(static_cast<int>(path) - 1));
    path = steps.back()->parent();
  }
  std::ranges::reverse(steps);
  return steps;
}

std::vector<WhomStep> ShownSteps(const v1::Profile& profile, std::uint32_t path,
                                 std::uint32_t pid) {
  return Show(profile, StepsOf(profile, path), pid);
}

std::string ChainOf(const std::vector<WhomStep>& steps) {
  std::string text;
  for (const WhomStep& step : steps) text += (text.empty() ? "" : " < ") + step.name;
  return text;
}

WhomWords WordsOf(const v1::Profile& profile, std::uint32_t path, std::uint32_t pid) {
  const std::vector<WhomStep> steps = ShownSteps(profile, path, pid);
  if (steps.empty()) return {};
  const bool by_thread = StepsOf(profile, path).front()->thread() != 0;
  return {by_thread ? steps.front().name : "",
          SafeName(ChainOf(steps)),  // which bounds it
          EndName(steps.back().kind)};
}

std::vector<WakerTimes> WakersOfThreads(const v1::Profile& profile) {
  std::vector<WakerTimes> times(static_cast<std::size_t>(profile.threads_size()));
  const v1::Samples& samples = profile.samples();
  if (samples.path_size() == 0) return times;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    if (samples.state(i) != v1::STATE_BLOCKED || samples.weight_ns(i) == 0) continue;
    const v1::Thread& thread = profile.threads(static_cast<int>(samples.thread(i)));
    const std::uint32_t pid = profile.processes(static_cast<int>(thread.process())).pid();
    const auto steps = StepsOf(profile, samples.path(i));
    std::string name;
    if (!steps.empty() && steps.front()->thread() != 0)
      name = StepOf(profile, *steps.front(), pid).name;
    else if (!steps.empty() && !IsUnknown(steps.front()->kind()))
      name = "[" + std::string(EndName(steps.front()->kind())) + "]";
    times[samples.thread(i)][name] += samples.weight_ns(i);
  }
  return times;
}

std::vector<WhomRow> OnWhom(const v1::Profile& profile, std::span<const std::uint32_t> threads) {
  std::vector<bool> wanted(static_cast<std::size_t>(profile.threads_size()), false);
  for (const std::uint32_t thread : threads) wanted[thread] = true;
  const v1::Samples& samples = profile.samples();
  const ShareError error(profile);
  std::vector<WhomRow> rows;
  std::map<Key, std::size_t> index;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    if (!wanted[samples.thread(i)] || samples.state(i) != v1::STATE_BLOCKED) continue;
    if (samples.weight_ns(i) == 0) continue;
    const v1::Thread& thread = profile.threads(static_cast<int>(samples.thread(i)));
    const std::uint32_t pid = profile.processes(static_cast<int>(thread.process())).pid();
    const auto steps = StepsOf(profile, samples.path_size() == 0 ? 0 : samples.path(i));
    std::vector<WhomStep> shown = Show(profile, steps, pid);
    const auto [at, is_new] = index.try_emplace(KeyOf(samples.wait(i), shown), rows.size());
    if (is_new) {
      rows.emplace_back();
      rows.back().wait = samples.wait(i);
      rows.back().steps = shown;
    }
    WhomRow& row = rows[at->second];
    for (std::size_t step = 0; step < shown.size(); ++step)
      row.steps[step].several = row.steps[step].several || shown[step].several;
    row.ns += samples.weight_ns(i);
    row.points += samples.count(i);
    error.Add(i, row.error);
    if (samples.exact(i)) row.exact_ns += samples.weight_ns(i);
    if (const v1::PathNode* speaker = Speaker(steps)) {
      const bool runs = speaker->kind() == v1::PATH_RUNS;
      row.stacks.push_back({.node = speaker->node(),
                            .ns = samples.weight_ns(i),
                            .state = runs ? v1::STATE_ON_CPU : v1::STATE_BLOCKED,
                            .wait = speaker->wait()});
    } else if (samples.node(i) != 0) {
      row.stacks.push_back({.node = samples.node(i),
                            .ns = samples.weight_ns(i),
                            .state = v1::STATE_BLOCKED,
                            .wait = samples.wait(i)});
    }
  }
  std::ranges::stable_sort(rows, std::greater<>{}, &WhomRow::ns);
  return rows;
}

}  // namespace profd::client
