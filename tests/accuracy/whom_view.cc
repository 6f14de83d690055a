#include "tests/accuracy/whom_view.h"

#include <algorithm>
#include <array>
#include <utility>

namespace profd::accuracy {
namespace {

constexpr std::array kEnds{
    std::pair{v1::PATH_RUNS, "runs"},
    std::pair{v1::PATH_NO_CPU, "runs"},
    std::pair{v1::PATH_TIMER, "timer"},
    std::pair{v1::PATH_DISK, "disk"},
    std::pair{v1::PATH_NET, "net"},
    std::pair{v1::PATH_INTERRUPT, "device"},
    std::pair{v1::PATH_STILL_WAITS, "?still waits"},
    std::pair{v1::PATH_NOT_FOLLOWED, "?not followed"},
    std::pair{v1::PATH_NOT_SEEN, "?not seen"},
    std::pair{v1::PATH_LOST, "?lost"},
    std::pair{v1::PATH_OTHER_USER, "?other user"},
    std::pair{v1::PATH_TOO_LONG, "?too long"},
};

std::string EndOf(v1::PathKind kind) {
  const auto* const found = std::ranges::find(kEnds, kind, &decltype(kEnds)::value_type::first);
  return found == kEnds.end() ? "?none" : found->second;
}

bool HasFunction(const v1::Profile& profile, std::uint32_t node, const std::string& function) {
  for (; node != 0; node = profile.nodes(static_cast<int>(node) - 1).parent()) {
    const auto frame = profile.nodes(static_cast<int>(node) - 1).frame();
    if (profile.frames(static_cast<int>(frame)).name() == function) return true;
  }
  return false;
}

}  // namespace

WhomView::WhomView(const v1::Profile& profile, std::uint32_t tid, const std::string& function)
    : profile_(profile) {
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    if (profile.threads(static_cast<int>(samples.thread(i))).tid() != tid ||
        samples.state(i) != v1::STATE_BLOCKED)
      continue;
    if (!function.empty() && !HasFunction(profile, samples.node(i), function)) continue;
    WhomSample& sample = samples_.emplace_back();
    sample.index = i;
    for (std::uint32_t path = samples.path_size() == 0 ? 0 : samples.path(i); path != 0;) {
      sample.steps.push_back(&profile.paths(static_cast<int>(path) - 1));
      path = sample.steps.back()->parent();
    }
    std::ranges::reverse(sample.steps);
  }
}

WhomView WhomView::OfGil(const v1::Profile& profile, std::uint32_t tid) {
  WhomView view(profile, tid, "");
  std::erase_if(view.samples_, [&profile](const WhomSample& sample) {
    return profile.samples().wait(sample.index) != v1::WAIT_GIL;
  });
  return view;
}

void WhomView::DropBefore(std::uint64_t time_ns) {
  std::erase_if(samples_, [this, time_ns](const WhomSample& sample) {
    return profile_.samples().time_ns(sample.index) < time_ns;
  });
}

std::string WhomView::Name(const v1::PathNode& step) const {
  if (step.thread() == 0) return "";
  return profile_.path_threads(static_cast<int>(step.thread()) - 1).comm();
}

bool WhomView::Has(const v1::PathNode& step, const std::string& function) const {
  return HasFunction(profile_, step.node(), function);
}

std::string WhomView::Text(const WhomSample& sample) const {
  std::string text;
  for (const v1::PathNode* step : sample.steps)
    if (step->thread() != 0) text += Name(*step) + " ";
  return text + EndOf(sample.steps.empty() ? v1::PATH_NONE : sample.steps.back()->kind());
}

void WhomView::AddTo(Part& part, int sample) const {
  const v1::Samples& samples = profile_.samples();
  part.ns += static_cast<double>(samples.weight_ns(sample));
  part.weights.Add(samples.raw_weight_ns(sample), samples.count(sample));
}

std::map<std::string, WhomView::Part> WhomView::By(const Key& key) const {
  std::map<std::string, Part> parts;
  for (const WhomSample& sample : samples_) AddTo(parts[key(sample)], sample.index);
  return parts;
}

std::map<std::string, WhomView::Part> WhomView::ByText() const {
  return By([this](const WhomSample& sample) { return Text(sample); });
}

WhomView::Part WhomView::Whole() const {
  Part whole;
  for (const WhomSample& sample : samples_) AddTo(whole, sample.index);
  return whole;
}

}  // namespace profd::accuracy
