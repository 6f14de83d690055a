// What a receiver sees of many agents when it comes back: SendTimes of each, on a clock of their
// own. No request is sent.
//   bench_fleet_return [--agents N] [--down SECONDS] [--interval SECONDS] [--immediately]
// --immediately: what agents would do without it: they try once a second, and send all at once.
// Prints: requests a second before, the most of any second and of any 10 s after, and when the last
// backlog is gone.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/fleet/spool/send_times.h"

namespace {

using profd::fleet::SendTimes;

constexpr std::uint64_t kSecondNs = 1'000'000'000;
// Agents have been there for some intervals before the receiver goes.
constexpr std::uint64_t kBefore = 10;

struct Options {
  std::size_t agents = 10'000;
  std::uint64_t down_s = 3'600;
  std::uint64_t interval_s = 60;
  bool immediately = false;
};

class Fleet {
 public:
  explicit Fleet(const Options& options)
      : options_(options),
        goes_ns_(kBefore * options.interval_s * kSecondNs),
        returns_ns_(goes_ns_ + options.down_s * kSecondNs),
        agents_(options.agents, Agent{SendTimes(options.interval_s * kSecondNs)}) {}

  void Run() {
    const std::uint64_t interval = options_.interval_s * kSecondNs;
    for (std::uint64_t now = interval;; now += interval) {
      SendUntil(now);
      for (std::size_t i = 0; i < agents_.size(); ++i) AddWindow(i, now);
      if (now > returns_ns_ && backlog_ <= agents_.size()) break;
    }
    SendUntil(UINT64_MAX);
  }

  void Print() const {
    const auto second = [](std::uint64_t ns) { return ns / kSecondNs; };
    const auto begin = requests_.begin();
    const auto at = [&](std::uint64_t ns) {
      return begin +
             static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(second(ns), requests_.size()));
    };
    std::uint64_t before = 0;
    for (auto i = at(goes_ns_ / 2); i != at(goes_ns_); ++i) before += *i;
    std::uint64_t of_ten = 0;
    std::uint64_t most_of_ten = 0;
    for (std::size_t i = second(returns_ns_); i < requests_.size(); ++i) {
      of_ten += requests_[i];
      if (i >= second(returns_ns_) + 10) of_ten -= requests_[i - 10];
      most_of_ten = std::max(most_of_ten, of_ten);
    }
    std::printf(
        "requests/s before\t%.0f\nmost in 1 s after\t%u\nmost in 10 s after, a second\t%.0f\n"
        "most in 1 s while away\t%u\nbacklog gone after, s\t%llu\n",
        static_cast<double>(before) / static_cast<double>(second(goes_ns_ - goes_ns_ / 2)),
        *std::max_element(at(returns_ns_), requests_.end()), static_cast<double>(most_of_ten) / 10,
        *std::max_element(at(goes_ns_ + options_.interval_s * kSecondNs), at(returns_ns_)),
        static_cast<unsigned long long>(second(std::max(drained_ns_, returns_ns_) - returns_ns_)));
  }

 private:
  struct Agent {
    SendTimes times;
    std::uint64_t waiting = 0;  // windows
  };
  using Due = std::pair<std::uint64_t, std::size_t>;

  void AddWindow(std::size_t index, std::uint64_t now) {
    Agent& agent = agents_[index];
    ++backlog_;
    if (agent.waiting++ != 0) return;
    agent.times.Began(now, options_.immediately ? 0 : random_());
    due_.emplace(agent.times.next_ns(), index);
  }

  void SendUntil(std::uint64_t end) {
    while (!due_.empty() && due_.top().first < end) {
      const auto [now, index] = due_.top();
      due_.pop();
      Send(agents_[index], now);
      if (agents_[index].waiting != 0) due_.emplace(agents_[index].times.next_ns(), index);
    }
  }

  void Send(Agent& agent, std::uint64_t now) {
    const std::size_t second = now / kSecondNs;
    if (requests_.size() <= second) requests_.resize(second + 1);
    ++requests_[second];
    if (now >= goes_ns_ && now < returns_ns_) {
      if (options_.immediately)
        agent.times.Wait(now + kSecondNs);
      else
        agent.times.Failed(now, 0, random_());
      return;
    }
    --agent.waiting;
    --backlog_;
    agent.times.Ended(now, options_.immediately ? 0 : options_.interval_s * kSecondNs,
                      agent.waiting != 0, random_());
    // Of a backlog, not of the window that has just come.
    if (now >= returns_ns_ && agent.waiting == 1) drained_ns_ = std::max(drained_ns_, now);
  }

  const Options options_;
  const std::uint64_t goes_ns_;
  const std::uint64_t returns_ns_;
  std::vector<Agent> agents_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::mt19937_64 random_{1};
  std::vector<std::uint32_t> requests_;  // by second
  std::uint64_t backlog_ = 0;
  std::uint64_t drained_ns_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--immediately") {
      options.immediately = true;
      continue;
    }
    const std::uint64_t value = i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0;
    if (name == "--agents" && value != 0)
      options.agents = value;
    else if (name == "--down" && value != 0)
      options.down_s = value;
    else if (name == "--interval" && value != 0)
      options.interval_s = value;
    else
      return std::fprintf(stderr,
                          "usage: bench_fleet_return [--agents N] [--down SECONDS] "
                          "[--interval SECONDS] [--immediately]\n"),
             2;
  }
  Fleet fleet(options);
  fleet.Run();
  fleet.Print();
}
