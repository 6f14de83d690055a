#include "client/profile/threads/placement_advice.h"

#include <algorithm>
#include <map>
#include <set>

#include "client/profile/threads/concurrency.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

// Of a thread's samples: it is at home on a CPU.
constexpr double kAtHome = 0.9;
// Two threads on one core each run at some 0.6 of the speed that they would have alone. Where the
// other is busy for a fifth of the time, that is a tenth of it.
constexpr double kBusySibling = 0.2;
// A thread that hardly runs does not gain by running elsewhere.
constexpr double kRuns = 0.1;  // of its life
// After a move a thread reads its data again: some ms for what fills a cache, from another node
// more slowly, and as long as its memory is there. So these are some percent of its time.
constexpr double kNodeMoves = 10;   // a second of its life
constexpr double kCacheMoves = 50;  // the same
// A few moves of a short session say little of the next one.
constexpr std::uint64_t kFewMoves = 20;

struct Home {
  std::size_t thread = 0;
  std::uint32_t cpu = 0;
};

std::optional<std::uint32_t> HomeOf(const Placement& placement) {
  std::uint64_t all = 0;
  for (const auto& of_cpu : placement.points) all += of_cpu.second;
  const auto most = std::ranges::max_element(placement.points, {},
                                             [](const auto& of_cpu) { return of_cpu.second; });
  if (all == 0 || !(ShareOf(most->second, all) >= kAtHome)) return std::nullopt;
  return most->first;
}

bool Runs(const ThreadUse& use) {
  return use.elapsed_ns != 0 && ShareOf(use.running_ns(), use.elapsed_ns) >= kRuns;
}

double PerSecond(std::uint64_t count, const ThreadUse& use) {
  constexpr double kSecond = 1e9;
  return static_cast<double>(count) * kSecond / static_cast<double>(use.elapsed_ns);
}

}  // namespace

std::optional<SharedCore> FindSharedCore(const CpuMap& cpus, const std::vector<ThreadUse>& threads,
                                         const std::vector<std::size_t>& pool) {
  std::map<std::uint32_t, std::vector<Home>> homes;  // by core
  std::set<std::uint32_t> seen;                      // cores
  for (const std::size_t thread : pool) {
    const Placement& placement = threads[thread].placement;
    for (const auto& of_cpu : placement.points)
      if (const auto core = cpus.CoreOf(of_cpu.first)) seen.insert(*core);
    const auto cpu = HomeOf(placement);
    const auto core = cpu ? cpus.CoreOf(*cpu) : std::nullopt;
    if (core && Runs(threads[thread])) homes[*core].push_back({thread, *cpu});
  }
  if (seen.size() >= cpus.cores()) return std::nullopt;
  std::optional<SharedCore> worst;
  for (const auto& [core, at] : homes) {
    const auto other =
        std::ranges::find_if(at, [&](const Home& home) { return home.cpu != at.front().cpu; });
    if (other == at.end()) continue;
    Placement both = threads[at.front().thread].placement;
    both.AddSamples(threads[other->thread].placement);
    const auto busy = BusyShare(both);
    if (!busy || BusyInterval(both).low < kBusySibling || (worst && worst->busy >= *busy)) continue;
    worst = SharedCore{.first = at.front().thread,
                       .second = other->thread,
                       .core = core,
                       .busy = *busy,
                       .interval = BusyInterval(both),
                       .free_cores = cpus.cores() - seen.size()};
  }
  return worst;
}

std::optional<FrequentMoves> FindMoves(const std::vector<ThreadUse>& threads,
                                       const std::vector<std::size_t>& some) {
  const auto find = [&](bool nodes) {
    FrequentMoves found{.nodes = nodes};
    for (const std::size_t thread : some) {
      const ThreadUse& use = threads[thread];
      const auto& moves = use.placement.moves;
      if (!moves || !Runs(use)) continue;
      const std::uint64_t count = nodes ? moves->node : moves->cache;
      const double per_second = PerSecond(count, use);
      if (count < kFewMoves || per_second < (nodes ? kNodeMoves : kCacheMoves)) continue;
      ++found.threads;
      if (per_second <= found.per_second) continue;
      found.per_second = per_second;
      found.busiest = thread;
    }
    return found;
  };
  for (const bool nodes : {true, false})
    if (const FrequentMoves found = find(nodes); found.threads != 0) return found;
  return std::nullopt;
}

}  // namespace profd::client
