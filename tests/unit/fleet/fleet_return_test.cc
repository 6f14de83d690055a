// A receiver that is away, and many agents that come back to it: Exporter, Spool and SendTimes of
// each, over one history, on one clock. tests/bench/fleet_return.cc has the times of 10,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fleet/exporter.h"
#include "tests/unit/store/store_fixture.h"
#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

using store::kSecond;
using store::kStartUnixNs;

constexpr std::uint64_t kMinute = 60 * kSecond;
constexpr std::size_t kAgents = 100;
constexpr std::uint64_t kBeforeNs = 3 * kMinute;

// Of all agents.
struct Receiver {
  bool away = false;
  std::map<std::uint64_t, std::size_t> requests;           // by second
  std::vector<std::vector<std::uint64_t>> taken{kAgents};  // begins, in minutes, by agent
  [[nodiscard]] std::size_t MostIn(std::uint64_t seconds, std::uint64_t from_ns,
                                   std::uint64_t to_ns) const {
    std::size_t most = 0;
    for (std::uint64_t begin = from_ns / kSecond; begin + seconds <= to_ns / kSecond; ++begin) {
      std::size_t sum = 0;
      for (auto i = requests.lower_bound(begin); i != requests.lower_bound(begin + seconds); ++i)
        sum += i->second;
      most = std::max(most, sum);
    }
    return most;
  }
};

class AgentsTarget : public Target {
 public:
  AgentsTarget(Receiver& receiver, std::size_t agent, const Clock& clock)
      : receiver_(receiver), agent_(agent), clock_(clock) {}
  Result<EncodedProfile> Encode(const ExportProfile& /*profile*/) override {
    return EncodedProfile{{"rows"}, 0};
  }
  Verdict Send(const SpoolEntry& entry, std::uint64_t /*number*/) override {
    ++receiver_.requests[clock_.MonotonicNs() / kSecond];
    if (receiver_.away) return Later("it is away");
    receiver_.taken[agent_].push_back((entry.from_unix_ns - kStartUnixNs) / kMinute);
    return {};
  }

 private:
  Receiver& receiver_;
  const std::size_t agent_;
  const Clock& clock_;
};

class FleetReturnTest : public store::StoreFixture {
 protected:
  using Random = std::function<std::uint64_t()>;

  // The receiver goes after three minutes, comes back after `down_ns`, and stays for `after_ns`.
  void Run(std::uint64_t down_ns, std::uint64_t after_ns,
           const std::function<Random(std::size_t)>& random) {
    store_ = Open();
    for (std::size_t i = 0; i < kAgents; ++i) {
      ExportSettings settings;
      settings.name = "agent";
      settings.spool_bytes = 1u << 20;
      agents_.push_back(std::make_unique<Exporter>(
          Exporter::Parts{.settings = settings,
                          .folder = folder_.Path("agent-" + std::to_string(i)),
                          .history = options_.path,
                          .grace_ns = 140 * kSecond,
                          .relabelling = *Relabelling::Make({}),
                          .rules = nullptr,
                          .target = std::make_unique<AgentsTarget>(receiver_, i, clock_),
                          .random = random(i)},
          clock_));
      due_.emplace(std::max(agents_[i]->Step(), Now()), i);
    }
    returns_ns_ = Now() + kBeforeNs + down_ns;
    const std::uint64_t goes_ns = Now() + kBeforeNs;
    const std::uint64_t ends_ns = returns_ns_ + after_ns;
    while (Now() < ends_ns) {
      StepUntil(begin_ns_ + windows_ * 10 * kSecond);
      receiver_.away = Now() >= goes_ns && Now() < returns_ns_;
      if (!store_->Put(store::MakeWindow(windows_++, kSmall)).ok()) FAIL() << "no window";
    }
  }
  [[nodiscard]] std::uint64_t Now() const { return clock_.MonotonicNs(); }

  // Each window of each agent is there once, in order, and no agent has a gap.
  void CheckAllWasTaken(std::uint64_t minutes) {
    for (std::size_t i = 0; i < kAgents; ++i) {
      const auto& taken = receiver_.taken[i];
      ASSERT_GE(taken.size(), minutes) << i;
      for (std::size_t minute = 0; minute < taken.size(); ++minute)
        ASSERT_EQ(taken[minute], minute) << i;
      EXPECT_TRUE(agents_[i]->status().gaps.empty());
      EXPECT_LE(agents_[i]->status().spool_entries, 1u);
    }
  }

  Receiver receiver_;
  std::uint64_t returns_ns_ = 0;

 private:
  using Due = std::pair<std::uint64_t, std::size_t>;
  static constexpr store::HostShape kSmall{.processes = 1, .threads_each = 1, .stacks_each = 1};

  void SetNow(std::uint64_t ns) { clock_.Set(ns, kStartUnixNs + ns - begin_ns_); }
  void StepUntil(std::uint64_t end_ns) {
    while (!due_.empty() && due_.top().first < end_ns) {
      const auto [due_ns, agent] = due_.top();
      due_.pop();
      SetNow(std::max(due_ns, Now()));
      due_.emplace(std::max(agents_[agent]->Step(), Now()), agent);
    }
    SetNow(end_ns);
  }

  const std::uint64_t begin_ns_ = Now();
  std::unique_ptr<store::SqliteStore> store_;
  std::vector<std::unique_ptr<Exporter>> agents_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t windows_ = 0;
};

TEST_F(FleetReturnTest, AgentsDoNotComeBackAtOnce) {
  constexpr std::uint64_t kDown = 10 * kMinute;
  constexpr std::uint64_t kAfter = 12 * kMinute;  // pauses up to 5 min, and a backlog of 13 windows
  Run(kDown, kAfter, [](std::size_t agent) {
    return [random = std::make_shared<std::mt19937_64>(agent)] { return (*random)(); };
  });
  CheckAllWasTaken(22);
  const std::uint64_t gone = returns_ns_ - kDown;
  const auto most = [&](std::uint64_t seconds, std::uint64_t from, std::uint64_t to) {
    return receiver_.MostIn(seconds, from, to);
  };
  // A request of each agent in a minute is 17 in ten seconds.
  EXPECT_LT(most(10, gone - kMinute, gone), 40u);
  // Pauses are short at first, and agents begin to fail one after the other.
  EXPECT_LT(most(10, gone, returns_ns_), 17u * 10) << "while it is away";
  EXPECT_LT(most(10, gone + 8 * kMinute, returns_ns_), 25u) << "while it is away, later";
  // Backlogs come four times as fast as they grew: 67 in ten seconds.
  EXPECT_LT(most(10, returns_ns_, returns_ns_ + kAfter), 17u * 6);
  EXPECT_LT(most(1, returns_ns_, returns_ns_ + kAfter), kAgents / 4);
  EXPECT_GT(most(10, returns_ns_, returns_ns_ + kAfter), 17u * 2) << "but no slower either";
}

// What the test above is against: agents that all draw the same number.
TEST_F(FleetReturnTest, WithoutChanceAllComeInOneSecond) {
  constexpr std::uint64_t kAfter = 2 * kMinute;
  Run(3 * kMinute, kAfter, [](std::size_t) { return [] { return std::uint64_t{0}; }; });
  EXPECT_GE(receiver_.MostIn(1, returns_ns_, returns_ns_ + kAfter), kAgents);
}

}  // namespace
}  // namespace profd::fleet
