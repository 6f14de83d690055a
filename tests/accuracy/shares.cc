// How often the intervals of shares contain the truth. Threads with prepared lives are sampled as
// the BPF side does it, and pass through the daemon's builder, the protocol and the client.
//   bench_shares [--profiles N] [--svg FILE]
// N: of each row of the table that is printed. The picture shows the same.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bpf/shared/control.h"
#include "bpf/shared/points.h"
#include "client/profile/share_error.h"
#include "daemon/aggregate/profile_builder.h"
#include "daemon/aggregate/weights/weights.h"
#include "daemon/server/grpc/convert/convert.h"
#include "tests/unit/aggregate/synthetic_thread.h"

namespace profd {
namespace {

using aggregate::SyntheticThread;
using process::State;

constexpr std::uint32_t kLevel = 23;
constexpr std::uint64_t kPeriodNs = std::uint64_t{1} << kLevel;
constexpr std::uint64_t kStartNs = 1000 * kPeriodNs;
constexpr std::size_t kRows = 5;  // three kinds of waits, two functions
// Mean lengths, as multiples of that of a case.
constexpr std::array<double, kRows> kMeans{1, 0.3, 0.05, 0.2, 0.1};

enum class Load { kApart, kTogether, kInTurns, kShort, kShorter, kThrottled, kVisited };

bool IsShort(Load load) { return load == Load::kShort || load == Load::kShorter; }

struct Case {
  std::string name;
  Load load = Load::kApart;
  std::size_t threads = 1;
  std::uint64_t periods = 0;
  double wait = 1;  // mean, in periods
};

struct Stay {
  std::size_t row = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};
using Life = std::vector<Stay>;

struct Tally {
  std::uint64_t profiles = 0;
  std::uint64_t shares = 0;
  std::uint64_t covered = 0;
  double half_width = 0;
  void Add(const Tally& other) {
    profiles += other.profiles;
    shares += other.shares;
    covered += other.covered;
    half_width += other.half_width;
  }
  [[nodiscard]] double percent() const {
    return shares == 0 ? 0 : 100 * static_cast<double>(covered) / static_cast<double>(shares);
  }
};

State StateOf(std::size_t row) { return row < 3 ? State::kBlocked : State::kOnCpu; }

class Profiles {
 public:
  explicit Profiles(std::uint64_t seed) : random_(seed) {}

  Tally Run(const Case& of) {
    const std::uint64_t end_ns = kStartNs + of.periods * kPeriodNs;
    mode_ = PROFD_SESSION_ON_CPU | PROFD_SESSION_OFF_CPU |
            (of.load == Load::kVisited ? PROFD_SESSION_OBSERVED : 0);
    std::vector<Life> lives = Lives(of, end_ns);
    seed_ = random_() | 1;
    wire::SessionEvent start = Event(1, kStartNs);
    aggregate::ProfileBuilder builder(start, {});
    const std::uint64_t change_ns = kStartNs + of.periods / 2 * kPeriodNs;
    builder.SetEffectivePeriods(Periods(kStartNs, kPeriodNs));
    std::array<double, kRows> truth{};
    double total = 0;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      AddThread(of, lives[i], i, end_ns, change_ns, builder);
      for (const Stay& stay : lives[i]) {
        const auto ns = static_cast<double>(
            aggregate::Intersect({stay.begin_ns, stay.end_ns}, {kStartNs, end_ns}).Length());
        truth.at(stay.row) += ns;
        total += ns;
      }
    }
    if (of.load == Load::kThrottled) builder.SetEffectivePeriods(Periods(change_ns, 2 * kPeriodNs));
    wire::SessionEvent end = Event(2, end_ns);
    end.end = true;
    return Judge(server::ToProto(builder.Build(end, FrameOf)), truth, total);
  }

 private:
  static const symbolize::Frame& FrameOf(symbolize::FrameId id) {
    static const auto frames = [] {
      std::vector<symbolize::Frame> made(kRows);
      for (std::size_t i = 0; i < kRows; ++i)
        made[i].name = std::string(1, static_cast<char>('a' + i));
      return made;
    }();
    return frames.at(id);
  }
  [[nodiscard]] wire::SessionEvent Event(std::uint64_t epoch, std::uint64_t time_ns) const {
    wire::SessionEvent event;
    event.mode = mode_;
    event.epoch = epoch;
    event.epoch_ns = time_ns;
    event.on_cpu_period_ns = event.off_cpu_period_ns = kPeriodNs;
    return event;
  }
  [[nodiscard]] wire::PeriodsEvent Periods(std::uint64_t time_ns, std::uint64_t period_ns) const {
    wire::PeriodsEvent event;
    event.header.time_ns = time_ns;
    event.on_cpu_period_ns = event.off_cpu_period_ns = period_ns;
    event.point_seed = seed_;
    return event;
  }

  double Uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  // Exponential, within a factor of three, or with a long tail.
  std::uint64_t Length(double mean_periods, std::uint64_t kind) {
    const double mean = mean_periods * static_cast<double>(kPeriodNs);
    const double ns = kind == 0 ? -std::log(1 - Uniform()) * mean
                      : kind == 1
                          ? mean * (0.5 + Uniform())
                          : mean * std::lognormal_distribution<double>(-1.125, 1.5)(random_);
    return static_cast<std::uint64_t>(ns) + 1;
  }
  Life Renewal(const Case& of, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t kind) {
    Life life;
    std::size_t row = random_() % kRows;
    for (std::uint64_t time_ns = begin_ns; time_ns < end_ns;) {
      const std::uint64_t next_ns = time_ns + Length(of.wait * kMeans.at(row), kind);
      life.push_back({row, time_ns, next_ns});
      time_ns = next_ns;
      row = (row + 1 + random_() % (kRows - 1)) % kRows;
    }
    return life;
  }
  // One after the other has a lock and waits with it; all others wait for it.
  std::vector<Life> InTurns(const Case& of, std::uint64_t end_ns, std::uint64_t kind) {
    std::vector<Life> lives(of.threads);
    std::vector<std::uint64_t> since_ns(of.threads, kStartNs - kPeriodNs);
    std::uint64_t time_ns = kStartNs - kPeriodNs;
    for (std::size_t i = 0; time_ns < end_ns; ++i) {
      Life& life = lives[i % of.threads];
      const std::uint64_t next_ns = time_ns + Length(of.wait, kind);
      if (time_ns > since_ns[i % of.threads])
        life.push_back({0, since_ns[i % of.threads], time_ns});
      life.push_back({1, time_ns, next_ns});
      time_ns = since_ns[i % of.threads] = next_ns;
    }
    for (std::size_t i = 0; i < of.threads; ++i)
      if (since_ns[i] < end_ns) lives[i].push_back({0, since_ns[i], end_ns + 1});
    return lives;
  }
  std::vector<Life> Lives(const Case& of, std::uint64_t end_ns) {
    const std::uint64_t kind = random_() % 3;
    if (of.load == Load::kInTurns) return InTurns(of, end_ns, kind);
    const std::uint64_t before_ns = kStartNs - 40 * kPeriodNs;
    if (of.load == Load::kTogether) return {of.threads, Renewal(of, before_ns, end_ns, kind)};
    std::vector<Life> lives;
    for (std::size_t i = 0; i < of.threads; ++i) {
      if (!IsShort(of.load)) {
        lives.push_back(Renewal(of, before_ns, end_ns, kind));
        continue;
      }
      // From some time in the session on, for 2 to 6 periods, or for less than one.
      const std::uint64_t least_ns = of.load == Load::kShort ? 2 * kPeriodNs : kPeriodNs / 8;
      const std::uint64_t begin_ns = kStartNs + random_() % (end_ns - kStartNs - 7 * kPeriodNs);
      Life life = Renewal(of, begin_ns, begin_ns + least_ns + random_() % (2 * least_ns), kind);
      life.back().end_ns = std::min(life.back().end_ns, begin_ns + 3 * least_ns);
      lives.push_back(std::move(life));
    }
    return lives;
  }

  void AddThread(const Case& of, const Life& life, std::size_t number, std::uint64_t end_ns,
                 std::uint64_t change_ns, aggregate::ProfileBuilder& builder) {
    const auto tid = static_cast<std::uint32_t>(100 + number);
    const std::uint64_t begin_ns = life.front().begin_ns;
    SyntheticThread thread({tid, begin_ns}, {100, 1}, begin_ns);
    for (const Stay& stay : life)
      thread.Run(StateOf(stay.row), stay.end_ns - stay.begin_ns,
                 static_cast<symbolize::FrameId>(stay.row));
    if (of.load == Load::kVisited) {
      AddVisits(life, thread, end_ns, builder);
      return;
    }
    const bool is_short = IsShort(of.load);
    if (is_short) {
      wire::ForkEvent fork;
      fork.header = thread.Header(begin_ns);
      builder.AddFork(fork);
    } else {
      builder.AddClock(thread.ClockAt(1, kStartNs));
    }
    AddSamples(life, thread, end_ns, of.load == Load::kThrottled ? change_ns : ~std::uint64_t{0},
               builder);
    if (is_short) {
      wire::ExitEvent exit;
      exit.header = thread.Header(thread.end_ns());
      builder.AddExit(exit);
      builder.AddClock(thread.EndEvent());
    } else {
      builder.AddClock(thread.ClockAt(2, end_ns));
    }
  }
  void AddSamples(const Life& life, const SyntheticThread& thread, std::uint64_t end_ns,
                  std::uint64_t change_ns, aggregate::ProfileBuilder& builder) {
    std::uint64_t timer_ns = std::max(life.front().begin_ns, kStartNs) - random_() % kPeriodNs;
    for (const Stay& stay : life) {
      symbolize::SymbolizedSample made;
      made.frames = {static_cast<symbolize::FrameId>(stay.row)};
      process::Sample& sample = made.sample;
      const wire::EventHeader header = thread.Header(stay.end_ns);
      sample.process = header.process;
      sample.thread = header.thread;
      sample.state = StateOf(stay.row);
      if (sample.state == State::kOnCpu) {
        while (timer_ns < std::min(stay.end_ns, end_ns)) {
          const std::uint64_t nominal_ns = timer_ns < change_ns ? kPeriodNs : 2 * kPeriodNs;
          if (timer_ns >= stay.begin_ns) {
            sample.time_ns = timer_ns;
            sample.period_ns = nominal_ns;
            builder.AddSample(made);
          }
          timer_ns += nominal_ns / 2 + random_() % nominal_ns;
        }
        continue;
      }
      // As in bpf/: the period at the end of a wait counts for all of it.
      const std::uint32_t level = stay.end_ns < change_ns ? kLevel : kLevel + 1;
      sample.begin_ns = stay.begin_ns;
      sample.wait = process::WaitReason::kLock;
      sample.period_ns = std::uint64_t{1} << level;
      if (stay.end_ns > end_ns) {
        sample.time_ns = end_ns;
        sample.snapshot = true;
      } else {
        sample.time_ns = stay.end_ns;
        sample.blocked_points =
            static_cast<std::uint32_t>(profd_points_in(seed_, level, stay.begin_ns, stay.end_ns));
        if (sample.blocked_points == 0) continue;
      }
      builder.AddSample(made);
      if (stay.end_ns > end_ns) return;
    }
  }

  // As observers find it: a stack at the first point of a wait, and then a total that grows.
  void AddVisits(const Life& life, const SyntheticThread& thread, std::uint64_t end_ns,
                 aggregate::ProfileBuilder& builder) {
    wire::Observation visited;
    const auto clock = [&](std::uint64_t epoch, std::uint64_t time_ns) {
      wire::ClockEvent event = thread.ClockAt(epoch, time_ns);
      event.observation = visited;
      builder.AddClock(event);
    };
    clock(1, kStartNs);
    Life running;
    for (const Stay& stay : life) {
      if (StateOf(stay.row) == State::kOnCpu) {
        running.push_back(stay);
        continue;
      }
      symbolize::SymbolizedSample made;
      made.frames = {static_cast<symbolize::FrameId>(stay.row)};
      made.sample.process = thread.Header(0).process;
      made.sample.thread = thread.Header(0).thread;
      made.sample.state = State::kBlocked;
      made.sample.wait = process::WaitReason::kLock;
      made.sample.period_ns = kPeriodNs;
      const std::uint64_t begin_ns = std::max(stay.begin_ns, kStartNs);
      for (std::uint64_t period = begin_ns >> kLevel;
           profd_point(seed_, kLevel, period) < std::min(stay.end_ns, end_ns); ++period) {
        const std::uint64_t point_ns = profd_point(seed_, kLevel, period);
        if (point_ns < begin_ns) continue;
        if (made.sample.time_ns != 0) {
          visited.held_ns += kPeriodNs;
          continue;
        }
        ++visited.stack_number;
        made.sample.time_ns = point_ns;
        made.sample.begin_ns = point_ns;
        made.sample.observation = visited;
        builder.AddSample(made);
      }
    }
    if (!running.empty()) AddSamples(running, thread, end_ns, ~std::uint64_t{0}, builder);
    clock(2, end_ns);
  }

  static Tally Judge(const v1::Profile& profile, const std::array<double, kRows>& truth,
                     double total) {
    const client::ShareError error(profile);
    std::array<client::ErrorSum, kRows> sums{};
    for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
      const std::uint32_t node = profile.samples().node(i);
      const v1::StackNode& leaf = profile.nodes(static_cast<int>(node) - 1);
      const std::string& name = profile.frames(static_cast<int>(leaf.frame())).name();
      if (name.size() == 1) error.Add(i, sums.at(static_cast<std::size_t>(name[0] - 'a')));
    }
    Tally tally{.profiles = 1};
    for (std::size_t row = 0; row < kRows; ++row) {
      if (sums.at(row).weight_ns == 0) continue;
      const auto interval = client::ShareInterval(sums.at(row), static_cast<std::uint64_t>(total));
      if (!interval) continue;
      // Weights are whole ns: rounding is no error of sampling.
      constexpr double kRounding = 1e-6;
      const double share = truth.at(row) / total;
      ++tally.shares;
      tally.half_width += (interval->high - interval->low) / 2;
      if (share >= interval->low - kRounding && share <= interval->high + kRounding)
        ++tally.covered;
    }
    return tally;
  }

  std::mt19937_64 random_;
  std::uint64_t seed_ = 1;
  std::uint32_t mode_ = 0;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& [name, load, threads] : std::vector<std::tuple<std::string, Load, std::size_t>>{
           {"one thread", Load::kApart, 1},
           {"16 threads, apart", Load::kApart, 16},
           {"16 threads, together", Load::kTogether, 16},
           {"16 threads, in turns", Load::kInTurns, 16},
           {"200 short threads", Load::kShort, 200},
           {"2000 shorter threads", Load::kShorter, 2000},
           {"16 threads, throttled", Load::kThrottled, 16},
           {"16 threads, snapshot mode", Load::kVisited, 16}})
    for (const std::uint64_t periods : {30u, 300u})
      for (const double wait : {0.03, 0.3, 1.0, 3.0, 20.0})
        cases.push_back({name, load, threads, periods, wait});
  return cases;
}

using Results = std::vector<std::pair<Case, Tally>>;

void WriteSvg(const Results& results, std::ofstream out) {
  constexpr int kLeft = 170;
  constexpr int kStep = 60;
  constexpr int kBand = 70;
  const auto y = [](double percent) { return kBand - 4 * (std::clamp(percent, 85.0, 100.0) - 85); };
  std::map<std::string, std::vector<const std::pair<Case, Tally>*>> by_name;
  std::vector<std::string> names;
  for (const auto& result : results) {
    if (!by_name.contains(result.first.name)) names.push_back(result.first.name);
    by_name[result.first.name].push_back(&result);
  }
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\""
      << 90 * names.size() + 40 << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
      << "<text x=\"8\" y=\"18\">Intervals that contain the truth, in percent (85 to 100); the "
         "band is 93 to 97. "
         "Below: mean wait in periods.</text>\n";
  for (std::size_t row = 0; row < names.size(); ++row) {
    out << "<g transform=\"translate(0," << 30 + 90 * row << ")\"><text x=\"8\" y=\"40\">"
        << names[row] << "</text><rect x=\"" << kLeft << "\" y=\"" << y(97) << "\" width=\""
        << kStep * 10 << "\" height=\"" << y(93) - y(97) << "\" fill=\"#dafbe1\"/>\n";
    const auto& cells = by_name[names[row]];
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto& [of, tally] = *cells[i];
      const int x = kLeft + kStep * static_cast<int>(i) + kStep / 2;
      std::array<char, 32> wait{};
      std::snprintf(wait.data(), wait.size(), "%g", of.wait);
      out << "<circle cx=\"" << x << "\" cy=\"" << y(tally.percent()) << "\" r=\"4\" fill=\""
          << (of.periods == 30 ? "#bc4c00" : "#0969da") << "\"><title>" << of.periods
          << " periods: " << tally.percent() << " %</title></circle><text x=\"" << x
          << "\" y=\"84\" text-anchor=\"middle\" fill=\"#656d76\">" << wait.data() << "</text>\n";
    }
    out << "</g>\n";
  }
  out << "</svg>\n";
}

int Main(int argc, char** argv) {
  std::uint64_t profiles = 40;
  std::string svg;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--profiles") profiles = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--svg") svg = argv[i + 1];
  }
  Results results;
  Profiles source(1);
  for (const Case& of : Cases()) {
    Tally tally;
    for (std::uint64_t i = 0; i < profiles; ++i) tally.Add(source.Run(of));
    results.emplace_back(of, tally);
  }
  std::puts(
      "| load | periods | mean wait, periods | profiles | shares | contain the truth | mean "
      "half-width, points |");
  std::puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
  Tally all;
  for (const auto& [of, tally] : results) {
    all.Add(tally);
    std::printf("| %s | %llu | %g | %llu | %llu | %.1f %% | %.2f |\n", of.name.c_str(),
                static_cast<unsigned long long>(of.periods), of.wait,
                static_cast<unsigned long long>(tally.profiles),
                static_cast<unsigned long long>(tally.shares), tally.percent(),
                100 * tally.half_width / static_cast<double>(tally.shares));
  }
  std::printf("| all | | | %llu | %llu | %.1f %% | |\n",
              static_cast<unsigned long long>(all.profiles),
              static_cast<unsigned long long>(all.shares), all.percent());
  if (!svg.empty()) WriteSvg(results, std::ofstream(svg));
  return 0;
}

}  // namespace
}  // namespace profd

int main(int argc, char** argv) { return profd::Main(argc, argv); }
