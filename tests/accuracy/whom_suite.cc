#include "tests/accuracy/whom_suite.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/support/paths.h"

namespace profd::accuracy {
namespace {

// The program's own uncertainty of a share, at most.
constexpr double kMostUnsure = 0.05;
// Waits whose stacks do not show their function yet are left out: those of the begin, which may be
// of another kind.
constexpr double kMostNotReady = 0.01;
constexpr int kRuns = 3;

struct Share {
  double least = 0;
  double most = 0;
};

// The rest of the wait may be as long as it can be where the part is as short as it can be.
Share ShareOf(const nlohmann::json& whom, const nlohmann::json& part) {
  const auto& blocked = whom.at("blocked");
  return {part.at("least_ns").get<double>() / blocked.at("most_ns").get<double>(),
          std::min(1.0, part.at("most_ns").get<double>() / blocked.at("least_ns").get<double>())};
}

// The threads on the longest path that the program knows of, and its end.
std::ptrdiff_t MostSteps(const nlohmann::json& paths) {
  std::ptrdiff_t most = 0;
  for (const auto& [path, part] : paths.items())
    most = std::max(most, std::ranges::count(path, ' ') + 1);
  return most;
}

double MostUnsure(const TruthRun& run) {
  double unsure = 0;
  for (const auto& whom : run.truth().value("whom", nlohmann::json::array())) {
    if (!whom.contains("paths")) continue;
    for (const auto& part : whom.at("paths")) {
      const Share share = ShareOf(whom, part);
      unsure = std::max(unsure, share.most - share.least);
    }
  }
  return unsure;
}

}  // namespace

void WhomTest::CollectWhom(const std::vector<std::string>& arguments, int frequency_hz) {
  std::vector<std::string> command = {test::BinaryDirectory() + "/testprogs/truth"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  CollectWhomOf(command, frequency_hz);
}

void WhomTest::CollectWhomOf(const std::vector<std::string>& command, int frequency_hz) {
  for (int runs = 1;; ++runs) {
    auto run = TruthRun::CollectCommand(command, {"-F", std::to_string(frequency_hz)});
    ASSERT_TRUE(run.ok()) << run.error().message;
    run_ = std::move(*run);
    if (IsStolen()) continue;
    const double unsure = MostUnsure(*run_);
    const double not_ready = run_->NotReadyShare();
    if ((unsure <= kMostUnsure && not_ready <= kMostNotReady) || runs >= kRuns) break;
    std::cout << "run " << runs << ": the program is not sure of " << unsure << "; " << not_ready
              << " of the stacks before their tables\n";
  }
  ExpectSums(*run_);
}

Whom WhomTest::Of(const std::string& waiter, const std::string& function) const {
  const auto& all = run_->truth().at("whom");
  const auto truth = std::ranges::find_if(all, [&](const auto& whom) {
    return whom.at("waiter") == waiter && whom.at("function") == function;
  });
  const std::uint32_t tid = run_->Truth(waiter).at("tid");
  const bool gil = truth->contains("gil");
  Whom whom{.truth = &*truth,
            .view = gil ? WhomView::OfGil(run_->profile(), tid)
                        : WhomView(run_->profile(), tid, function)};
  if (truth->contains("known_ns")) whom.view.DropBefore(truth->at("known_ns"));
  if (truth->contains("blocked")) {
    whom.blocked_least_ns = truth->at("blocked").at("least_ns");
    whom.blocked_most_ns = truth->at("blocked").at("most_ns");
    whom.hand_over = truth->at("hand_over_ns").get<double>() / whom.blocked_most_ns;
  }
  if (truth->contains("longest_ns"))
    whom.cut = run_->borders() * truth->at("longest_ns").get<double>() / whom.blocked_least_ns;
  if (truth->contains("paths"))
    whom.unseen = static_cast<double>(MostSteps(truth->at("paths"))) * run_->most_unseen();
  const auto clock_ns = static_cast<double>(BlockedNs(run_->Thread(tid).value().thread().clock()));
  EXPECT_NEAR(WhomView(run_->profile(), tid, "").Whole().ns / clock_ns, 1, 0.001) << waiter;
  return whom;
}

void WhomTest::ExpectParts(const std::string& waiter, const std::string& function) const {
  ExpectParts(waiter, function,
              [](const WhomView& view, const WhomSample& sample) { return view.Text(sample); });
}

void WhomTest::ExpectParts(const std::string& waiter, const std::string& function,
                           const Key& key) const {
  const Whom whom = Of(waiter, function);
  const WhomView::Part whole = whom.view.Whole();
  const double samples = whole.weights.EffectiveSamples();
  auto parts = whom.view.By([&](const WhomSample& sample) { return key(whom.view, sample); });
  for (const auto& [path, part] : whom.truth->at("paths").items()) {
    const Share share = ShareOf(*whom.truth, part);
    ExpectShareWithin(parts[path].ns / whole.ns, share.least * (1 - whom.unseen - whom.cut),
                      share.most, samples, waiter + ": " + path);
    parts.erase(path);
  }
  // All other paths are of the moments in which the waiter is woken.
  double others = 0;
  std::string named;
  for (const auto& [path, part] : parts) {
    others += part.ns / whole.ns;
    named += " [" + path + " " + std::to_string(part.ns / whole.ns) + "]";
  }
  ExpectShareWithin(others, 0, std::min(1.0, whom.hand_over + whom.unseen + whom.cut), samples,
                    waiter + ": other paths" + named);
}

std::string LastOf(const WhomView& view, const WhomSample& sample) {
  const std::string text = view.Text(sample);
  const std::size_t end = text.rfind(' ');
  if (end == std::string::npos) return text;
  const std::size_t thread = text.rfind(' ', end - 1);
  return thread == std::string::npos ? text : text.substr(thread + 1);
}

void ExpectRuns(const TruthRun& run, const Whom& whom, const std::string& thread,
                const std::string& function) {
  double there_ns = 0;
  WhomView::Part all;
  const v1::Samples& samples = run.profile().samples();
  for (const WhomSample& sample : whom.view.samples()) {
    // None: of a wait that a window cuts, all sampling points lie in the other one.
    if (sample.steps.empty()) continue;
    const v1::PathNode& last = *sample.steps.back();
    if (last.kind() != v1::PATH_RUNS || whom.view.Name(last) != thread) continue;
    const auto ns = static_cast<double>(samples.weight_ns(sample.index));
    all.ns += ns;
    all.weights.Add(samples.raw_weight_ns(sample.index), samples.count(sample.index));
    if (whom.view.Has(last, function)) there_ns += ns;
  }
  const auto& truth = run.Truth(thread);
  const double share = TrueTimeIn(truth, function).cpu_ns / truth.at("cpu_ns").get<double>();
  ExpectShareWithin(there_ns / all.ns, share, 1, all.weights.EffectiveSamples(),
                    thread + " runs " + function);
}

}  // namespace profd::accuracy
