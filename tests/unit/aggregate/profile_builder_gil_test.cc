// What samples say of the GIL, up to the profile.
#include "tests/unit/aggregate/profile_builder_fixture.h"

namespace profd::aggregate {
namespace {

using process::Gil;

constexpr ThreadKey kOther{101, 78};

class ProfileBuilderGilTest : public ProfileBuilderTest {
 protected:
  // A second of each state, ten times, so that the samples of all take what the clock has.
  static SyntheticThread Thread(const ThreadKey& key) {
    SyntheticThread thread(key, kProcess, 1000 * kMs);
    while (thread.end_ns() < kEndNs + 1000 * kMs) {
      thread.Run(State::kOnCpu, 200 * kMs, 1);
      thread.Run(State::kBlocked, 500 * kMs, 2);
      thread.Run(State::kRunnable, 300 * kMs, 2);
    }
    return thread;
  }
  void Add(const SyntheticThread& thread, Gil on_cpu, Gil off_cpu, std::uint16_t flags,
           process::PythonInterpreterRef interpreter = nullptr) {
    AddReadings(thread);
    for (auto sample : thread.Samples(kPeriodNs, random_)) {
      sample.sample.gil = sample.sample.state == State::kOnCpu ? on_cpu : off_cpu;
      sample.sample.python_flags = flags;
      sample.sample.interpreter = interpreter;
      builder_.AddSample(sample);
    }
  }
  static std::map<Gil, std::uint64_t> Sums(const Profile& profile, std::uint32_t thread) {
    std::map<Gil, std::uint64_t> sums;
    for (const auto& sample : profile.samples)
      if (sample.thread == thread) sums[sample.gil] += sample.weight_ns;
    return sums;
  }
};

TEST_F(ProfileBuilderGilTest, BothPartsOfAnIntervalHaveItAndTheSumsAreTheClocks) {
  Add(Thread(kMain), Gil::kHeld, Gil::kWaited, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
  const Profile profile = Build();
  ExpectSumsEqualClocks(profile);
  const auto sums = Sums(profile, 0);
  const auto& clock = profile.threads[0].clock;
  EXPECT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums.at(Gil::kHeld), clock.on_cpu_ns);
  EXPECT_EQ(sums.at(Gil::kWaited), ClockTotal(clock) - clock.on_cpu_ns);
}

TEST_F(ProfileBuilderGilTest, AThreadWithoutAStateHasNothingToDoWithIt) {
  Add(Thread(kMain), Gil::kHeld, Gil::kNotHeld, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
  Add(Thread(kOther), Gil::kNone, Gil::kNone, PROFD_PYTHON_PROCESS);
  const Profile profile = Build();
  EXPECT_EQ(Sums(profile, 1).size(), 1u);
  EXPECT_TRUE(Sums(profile, 1).contains(Gil::kNone));
}

TEST_F(ProfileBuilderGilTest, WhatIsNotReportedOfAPythonProcessIsUnknown) {
  // Taken before the interpreter was found.
  Add(Thread(kMain), Gil::kHeld, Gil::kNotHeld, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
  Add(Thread(kOther), Gil::kNone, Gil::kNone, 0);
  const Profile profile = Build();
  EXPECT_EQ(Sums(profile, 1).size(), 1u);
  EXPECT_TRUE(Sums(profile, 1).contains(Gil::kUnknown));
}

TEST_F(ProfileBuilderGilTest, TimeWithoutSamplesIsUnknownInAPythonProcessAlone) {
  Add(Thread(kMain), Gil::kHeld, Gil::kHeld, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
  AddReadings(Thread(kOther));
  const Profile python = Build();
  EXPECT_TRUE(Sums(python, 1).contains(Gil::kUnknown));
  EXPECT_EQ(Sums(python, 1).size(), 1u);
}

TEST_F(ProfileBuilderGilTest, ElsewhereThereIsNone) {
  Add(Thread(kMain), Gil::kNone, Gil::kNone, 0);
  AddReadings(Thread(kOther));
  const Profile profile = Build();
  for (const std::uint32_t thread : {0u, 1u}) {
    EXPECT_EQ(Sums(profile, thread).size(), 1u);
    EXPECT_TRUE(Sums(profile, thread).contains(Gil::kNone));
  }
}

TEST_F(ProfileBuilderGilTest, ARefusedInterpreterIsNotedWithItsReason) {
  const auto interpreter = std::make_shared<const process::PythonInterpreter>(
      process::PythonInterpreter{"3.13.1", "free-threaded builds are not supported"});
  Add(Thread(kMain), Gil::kUnknown, Gil::kUnknown, 0, interpreter);
  const Profile profile = Build();
  EXPECT_EQ(profile.processes[0].interpreter, interpreter);
  const auto note = std::find_if(profile.counters.begin(), profile.counters.end(),
                                 [](const auto& one) { return one.name == "python_refused"; });
  ASSERT_NE(note, profile.counters.end());
  EXPECT_EQ(note->text, "python: PID 100 (" + profile.processes[0].comm +
                            "): free-threaded builds are not supported");
  EXPECT_GT(note->count, 100u);
}

}  // namespace
}  // namespace profd::aggregate
