// What the tests of ProfileBuilder share: a session from second 5 to 15 and its events.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "daemon/aggregate/profile_builder.h"
#include "tests/unit/aggregate/synthetic_thread.h"

namespace profd::aggregate {

using process::State;
using process::WaitReason;

inline constexpr std::uint64_t kMs = 1'000'000;
inline constexpr std::uint64_t kStartNs = 5000 * kMs;
inline constexpr std::uint64_t kEndNs = 15000 * kMs;
inline constexpr std::uint64_t kPeriodNs = 10 * kMs;
inline constexpr ProcessKey kProcess{100, 77};
inline constexpr ThreadKey kMain{100, 77};

inline wire::SessionEvent StartEvent(std::uint32_t mode = 3, std::uint64_t period_ns = kPeriodNs) {
  wire::SessionEvent event;
  event.mode = mode;
  event.epoch = 1;
  event.epoch_ns = kStartNs;
  event.on_cpu_period_ns = event.off_cpu_period_ns = period_ns;
  event.bpf_cost_ns = 1000;
  event.own_cpu_ns = 2000;
  event.hook = PROFD_HOOK_SCHED_EXIT;
  event.target = "pid 100";
  return event;
}

inline wire::SessionEvent EndEvent() {
  auto event = StartEvent();
  event.end = true;
  event.epoch = 2;
  event.epoch_ns = kEndNs;
  event.bpf_cost_ns = 1500;
  event.own_cpu_ns = 9000;
  return event;
}

inline const symbolize::Frame& FrameOf(symbolize::FrameId id) {
  static const auto frames = [] {
    std::vector<symbolize::Frame> made(10);
    for (std::size_t i = 0; i < made.size(); ++i) made[i].name = "f" + std::to_string(i);
    return made;
  }();
  return frames.at(id);
}

class ProfileBuilderTest : public testing::Test {
 protected:
  explicit ProfileBuilderTest(std::uint32_t mode = 3)
      : builder_(StartEvent(mode), ProfileOrigin{"host", "6.18", "0.1.0", 1'000'000}) {}

  // A thread that lives through the session: both readings.
  void AddReadings(const SyntheticThread& thread) {
    builder_.AddClock(thread.ClockAt(1, kStartNs));
    builder_.AddClock(thread.ClockAt(2, kEndNs));
  }
  void AddSamples(const SyntheticThread& thread, std::uint64_t period_ns = kPeriodNs) {
    for (const auto& sample : thread.Samples(period_ns, random_)) builder_.AddSample(sample);
  }
  Profile Build() { return builder_.Build(EndEvent(), FrameOf); }

  std::mt19937_64 random_{4711};
  ProfileBuilder builder_;
};

inline std::string LeafName(const Profile& profile, const ProfileSample& sample) {
  return sample.node == 0 ? "" : profile.frames[profile.nodes[sample.node].frame].name;
}

// Sum of weights of one thread by leaf name and state.
inline std::map<std::string, std::uint64_t> Weights(const Profile& profile, std::uint32_t thread,
                                                    State state) {
  std::map<std::string, std::uint64_t> weights;
  for (const auto& sample : profile.samples)
    if (sample.thread == thread && sample.state == state)
      weights[LeafName(profile, sample)] += sample.weight_ns;
  return weights;
}

inline std::uint64_t Total(const std::map<std::string, std::uint64_t>& weights) {
  std::uint64_t sum = 0;
  for (const auto& [name, ns] : weights) sum += ns;
  return sum;
}

inline void ExpectSumsEqualClocks(const Profile& profile) {
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const auto& thread = profile.threads[i];
    ASSERT_FALSE(thread.clock_missing);
    EXPECT_EQ(Total(Weights(profile, i, State::kOnCpu)), thread.clock.on_cpu_ns);
    EXPECT_EQ(Total(Weights(profile, i, State::kRunnable)),
              thread.clock.runnable_ns[PROFD_AFTER_WAKEUP]);
    EXPECT_EQ(Total(Weights(profile, i, State::kBlocked)),
              thread.clock.blocked_ns[PROFD_INTERRUPTIBLE]);
    EXPECT_EQ(ClockTotal(thread.clock), thread.end_ns - thread.begin_ns);
    EXPECT_EQ(ClosureError(thread), 0.0);
  }
}

// Alternates 3 ms and 7 ms of lock waits with computing and waiting for the CPU between them.
inline SyntheticThread BusyThread(std::mt19937_64& random) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  while (thread.end_ns() < kEndNs + 1000 * kMs) {
    thread.Run(State::kOnCpu, 1 * kMs + random() % kMs, 1);
    thread.Run(State::kBlocked, 3 * kMs, 2);
    thread.Run(State::kRunnable, kMs / 2 + random() % kMs, 2);
    thread.Run(State::kOnCpu, 2 * kMs + random() % kMs, 3);
    thread.Run(State::kBlocked, 7 * kMs, 4);
    thread.Run(State::kOnCpu, 1 * kMs, 3);
    thread.Run(State::kRunnable, kMs, 5);
  }
  return thread;
}

}  // namespace profd::aggregate
