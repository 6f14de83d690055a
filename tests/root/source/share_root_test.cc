// Shares on the real kernel: what is beyond them is counted to the last one, what lasts is seen,
// and others are not touched.
#include <pthread.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bpf/shared/shares.h"
#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using ShareTest = LiveTest;
using wire::ClockEvent;
using wire::CommEvent;
using wire::ForkEvent;
using wire::SampleOrigin;
using wire::StackEvent;

constexpr std::uint64_t kMs = 1'000'000;
constexpr uid_t kOneUser = 2;             // "bin" of Debian, which runs nothing else
constexpr std::uint64_t kEnough = 1'000;  // left out, until a storm is over

// What a session has counted.
std::uint64_t Counted(const Heard& heard, profd_counter counter) {
  const auto counters = heard.All<wire::CountersEvent>();
  return counters.back().values.at(counter) - counters.front().values.at(counter);
}

// Threads of which anything was reported.
std::set<ThreadKey> Known(const Heard& heard) {
  std::set<ThreadKey> known;
  for (const auto& event : heard.All<ForkEvent>()) known.insert(event.header.thread);
  for (const auto& event : heard.All<ClockEvent>()) known.insert(event.header.thread);
  for (const auto& event : heard.All<StackEvent>()) known.insert(event.header.thread);
  return known;
}

std::set<ThreadKey> Announced(const Heard& heard) {
  std::set<ThreadKey> announced;
  for (const auto& event : heard.All<ForkEvent>()) announced.insert(event.header.thread);
  return announced;
}

// Lets the puppet go on until so much was left out; it runs until a second Go stops it, which it
// looks for between two of its steps.
void RunUntil(const Puppet& puppet, const BpfSource& source, profd_counter counter) {
  const std::uint64_t before = source.Status().counters.at(counter);
  puppet.Go();
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (source.Status().counters.at(counter) < before + kEnough) {
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << "the storm stays within its share";
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  puppet.Go();
}

// Waits for Go on a thread of its own, so that a storm can see it without waiting.
class Stop {
 public:
  explicit Stop(const Puppet::Strings& strings)
      : thread_([this, &strings] {
          strings.Wait();
          stopped_ = true;
        }) {}
  ~Stop() { thread_.join(); }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

void* Return(void* /*unused*/) { return nullptr; }
void* Stay(void* /*unused*/) {
  Spin(kMs);
  ::pause();
  return nullptr;
}

TEST_F(ShareTest, ShortThreadsBeyondItAreCountedAndThoseThatLastAreSeen) {
  constexpr std::uint64_t kEach = 100;  // one in so many stays
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    std::uint64_t made = 1;  // the one that waits
    std::uint64_t stay = 0;
    {
      const Stop stop(strings);
      while (!stop.stopped()) {
        const bool stays = made++ % kEach == 0;
        pthread_t thread{};
        if (::pthread_create(&thread, nullptr, stays ? Stay : Return, nullptr) != 0) break;
        stay += stays ? 1 : 0;
        if (!stays) ::pthread_join(thread, nullptr);
      }
    }
    strings.Say({made, stay});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  RunUntil(puppet, live_->source(), PROFD_COUNTER_THREADS_BEYOND_SHARE);
  const auto said = puppet.Hear(2);
  puppet.AwaitStateOfAll('S');
  const Heard heard = live_->End(session);

  const auto known = Known(heard);
  EXPECT_EQ(known.size() + Counted(heard, PROFD_COUNTER_THREADS_BEYOND_SHARE), said[0] + 1);
  EXPECT_GT(Counted(heard, PROFD_COUNTER_THREADS_BEYOND_SHARE_TIME), 0u);
  // Each that is known has a clock from its begin to its end, or to the session's.
  std::uint64_t stayed = 0;
  std::uint64_t unannounced = 0;
  const auto announced = Announced(heard);
  std::set<ThreadKey> ended;
  for (const auto& clock : heard.All<ClockEvent>()) {
    if (clock.epoch_ns != heard.end.epoch_ns && !clock.end) continue;
    ended.insert(clock.header.thread);
    if (clock.end || clock.header.thread.tid == puppet.pid()) continue;
    ++stayed;
    unannounced += announced.contains(clock.header.thread) ? 0 : 1;
    EXPECT_GT(clock.begin_ns, heard.start.epoch_ns);
    EXPECT_EQ(SumOf(clock.at_epoch), heard.end.epoch_ns - clock.begin_ns);
  }
  EXPECT_EQ(ended, known);
  EXPECT_EQ(stayed, said[1]);
  // A thread takes less than 400 us, and the share brings back one in 500 us. So of all that follow
  // the first 10,000 at most four in five are within it: 5,000 pass until 1,000 are left out, of
  // which 50 stay, and all 50 are within the share with a chance of 10^-5.
  EXPECT_GT(unannounced, 0u) << "of " << said[1];
}

TEST_F(ShareTest, AUserWhoStartsProcessesWithoutEndCostsNoOtherUser) {
  Puppet storm([](const Puppet::Strings& strings) {
    if (::setresgid(kOneUser, kOneUser, kOneUser) != 0 ||
        ::setresuid(kOneUser, kOneUser, kOneUser) != 0)
      ::_exit(1);
    strings.Wait();
    std::uint64_t made = 0;
    {
      const Stop stop(strings);
      while (!stop.stopped()) {
        const pid_t child = ::vfork();  // as fast as it can be: no memory is copied
        if (child == 0) ::_exit(0);
        if (child < 0) break;
        ::waitpid(child, nullptr, 0);
        ++made;
      }
    }
    strings.Say({made});
    strings.Wait();
  });
  Puppet other([](const Puppet::Strings& strings) {
    while (true) {
      strings.Wait();
      const pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      ::waitpid(child, nullptr, 0);
      strings.Say({static_cast<std::uint64_t>(child)});
    }
  });
  storm.AwaitState('S');
  other.AwaitState('S');
  const auto session = live_->Begin(SpecOf("pid " + std::to_string(storm.pid()) + "," +
                                           std::to_string(other.pid()) + " +children"));
  RunUntil(storm, live_->source(), PROFD_COUNTER_THREADS_BEYOND_SHARE);
  other.Go();
  const auto child = other.Hear(1)[0];
  const auto made = storm.Hear(1)[0];
  const Heard heard = live_->End(session);

  // The two puppets, the thread that waits, the other's child.
  EXPECT_EQ(Known(heard).size() + Counted(heard, PROFD_COUNTER_THREADS_BEYOND_SHARE), made + 4);
  bool announced = false;
  for (const auto& fork : heard.All<ForkEvent>()) announced |= fork.header.process.pid == child;
  EXPECT_TRUE(announced);
  const auto beyond = live_->source().Status().beyond_share;
  const passwd* known = ::getpwuid(kOneUser);
  const std::string user = "user " + std::to_string(kOneUser) +
                           (known != nullptr ? " (" + std::string(known->pw_name) + ")" : "");
  const bool named = std::ranges::any_of(beyond, [&](const std::string& text) {
    return text.starts_with(user + ": starts processes too often");
  });
  EXPECT_TRUE(named);
}

TEST_F(ShareTest, NamesBeyondItAreCountedAndTheLastOneIsKnown) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    std::uint64_t renamed = 0;
    {
      const Stop stop(strings);
      while (!stop.stopped()) ::prctl(PR_SET_NAME, std::to_string(renamed++).c_str());
    }
    ::prctl(PR_SET_NAME, "last");
    strings.Say({renamed + 1});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  RunUntil(puppet, live_->source(), PROFD_COUNTER_NAMES_BEYOND_SHARE);
  const auto renamed = puppet.Hear(1)[0];
  const Heard heard = live_->End(session);

  const std::uint64_t reported = heard.All<CommEvent>().size();
  EXPECT_EQ(reported + Counted(heard, PROFD_COUNTER_NAMES_BEYOND_SHARE), renamed);
  EXPECT_LE(reported,
            PROFD_NAMES_AT_ONCE + 1 + PROFD_NAMES_PER_SECOND * heard.ElapsedNs() / 1'000'000'000);
  const auto clock = heard.AtEnd(puppet.pid());
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->comm, "last");
}

// Threads that sleep for a millisecond again and again.
void* Doze(void* stopped) {
  while (!*static_cast<std::atomic<bool>*>(stopped)) ::usleep(1'000);
  return nullptr;
}

TEST_F(ShareTest, WaitsBeyondItAreSubsampledWithoutBias) {
  constexpr std::size_t kThreads = 64;
  const auto dozer = [](std::size_t threads) {
    return [threads](const Puppet::Strings& strings) {
      std::atomic<bool> stopped = false;
      std::vector<pthread_t> all(threads);
      for (pthread_t& thread : all)
        if (::pthread_create(&thread, nullptr, Doze, &stopped) != 0) ::_exit(1);
      strings.Say({1});
      strings.Wait();
      stopped = true;
      for (const pthread_t thread : all) ::pthread_join(thread, nullptr);
    };
  };
  Puppet crowd(dozer(kThreads));
  Puppet single(dozer(1));
  (void)crowd.Hear(1);
  (void)single.Hear(1);
  session::SessionSpec spec = SpecOf("all");
  spec.on_cpu = false;
  spec.budget_cpus = 8;
  const auto session = live_->Begin(spec);
  // So long is the session: samples must be few for their time, beside those that are free at
  // first.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const Heard heard = live_->End(session);
  EXPECT_GT(Counted(heard, PROFD_COUNTER_WAITS_BEYOND_SHARE), 0u);

  double weight = 0;
  double variance = 0;
  std::uint64_t samples = 0;
  for (const auto& stack : heard.All<StackEvent>()) {
    // Threads join shortly before the session starts, and leave after its end.
    if (stack.origin != SampleOrigin::kOffCpu || stack.header.time_ns < heard.start.epoch_ns ||
        stack.header.time_ns >= heard.end.epoch_ns)
      continue;
    const double one =
        static_cast<double>(stack.period_ns) * (stack.blocked_points + stack.runnable_points);
    if (stack.header.process.pid == single.pid()) {
      EXPECT_EQ(stack.period_ns, heard.start.off_cpu_period_ns) << "it is within its share";
      continue;
    }
    if (stack.header.process.pid != crowd.pid()) continue;
    ++samples;
    weight += one;
    variance += one * one;
  }
  double off_cpu_ns = 0;
  for (const auto& clock : heard.All<ClockEvent>()) {
    if (clock.header.process.pid != crowd.pid() || clock.epoch_ns != heard.end.epoch_ns) continue;
    const auto begin = heard.AtStart(clock.header.thread.tid);
    ASSERT_TRUE(begin);
    const profd_clock grown = Growth(begin->at_epoch, clock.at_epoch);
    // The main thread waits all the time: its wait does not end, so it has no sample.
    if (clock.header.thread.tid == crowd.pid()) continue;
    off_cpu_ns += static_cast<double>(BlockedOf(grown) + RunnableOf(grown));
  }
  // Each due sample of weight w is taken with 1/k and counts k w: the variance of the sum is at
  // most that of the squares of what was taken. At either end of the session a wait and a period of
  // each thread may be cut.
  const double ends = 2.0 * kThreads * static_cast<double>(heard.start.off_cpu_period_ns + kMs);
  EXPECT_LE(std::abs(weight - off_cpu_ns), 5 * std::sqrt(variance) + ends);
  // A block of 250 ms takes at most 50 on average, the first one 50 for each doubling of 1,600 due.
  const double seconds = static_cast<double>(heard.ElapsedNs()) / 1e9;
  EXPECT_LE(static_cast<double>(samples), 2 * (50 * 4 * seconds + 100 * 6));
}

}  // namespace
}  // namespace profd::source
