#include "client/profile/path_frames.h"

#include <utility>

#include "client/profile/on_whom.h"

namespace profd::client {
namespace {

std::string WaitsFor(const std::string& name, v1::PathHow how) {
  const std::string by(HowName(how));
  return "[waits for " + name + (by.empty() ? "" : ": " + by) + "]";
}

std::string End(v1::PathKind kind, bool estimated) {
  return "[" + std::string(EndName(kind)) + (estimated ? " ~]" : "]");
}

}  // namespace

std::vector<PathFrame> PathFramesOf(const v1::Profile& profile, std::uint32_t path,
                                    std::uint32_t pid, PathDetail detail) {
  std::vector<PathFrame> frames;
  if (path == 0 || detail == PathDetail::kNone) return frames;
  frames.push_back({"--"});
  const v1::PathNode& last = profile.paths(static_cast<int>(path) - 1);
  if (detail == PathDetail::kSteps) {
    std::vector<WhomStep> steps = ShownSteps(profile, path, pid);
    if (last.thread() == 0) steps.pop_back();
    for (const WhomStep& step : steps) frames.push_back({WaitsFor(step.name, step.how)});
  } else {
    for (const v1::PathNode* step : StepsOf(profile, path)) {
      if (step->thread() == 0) continue;
      const v1::PathThread& thread = profile.path_threads(static_cast<int>(step->thread()) - 1);
      frames.push_back({WaitsFor(PathThreadName(thread, pid), step->how()), step->node()});
    }
  }
  if (last.kind() != v1::PATH_WAITS)
    frames.push_back({End(last.kind(), detail == PathDetail::kStacks && last.estimated())});
  return frames;
}

}  // namespace profd::client
