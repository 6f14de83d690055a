// --counters: where the host has hardware counters, rates of them that a CPU may have; where it has
// none, every command says so in one sentence, and all else is as without.
#include <gmock/gmock.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNone =
    "no hardware counters: this host has no PMU (usual in virtual machines)";

// Whether this host has a counter of cycles, by the kernel itself.
bool HasCycles() {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = PERF_COUNT_HW_CPU_CYCLES;
  const auto fd = static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0));
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

class CountersTest : public ProfctlTest {
 protected:
  // A command of a program that hands over rounds between threads.
  testing::Outcome Of(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--", TestProgram("handoffs"), "300"});
    return Profctl(std::move(arguments));
  }
};

class WithoutPmuTest : public CountersTest {
 protected:
  void SetUp() override {
    CountersTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (HasCycles()) GTEST_SKIP() << "this host has hardware counters";
  }
};

TEST_F(WithoutPmuTest, TheProfileSaysSoAndIsElseWhole) {
  const auto outcome = Of({"collect", "--counters", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const v1::Profile profile = ReadProfile(File("x.json"));
  ASSERT_TRUE(profile.has_hardware_counters());
  EXPECT_EQ(profile.hardware_counters().missing(), kNone);
  EXPECT_FALSE(profile.hardware_counters().cycles());
  EXPECT_EQ(profile.samples().cycles_size(), 0);
  EXPECT_GT(profile.samples().weight_ns_size(), 0);
  for (const v1::Thread& thread : profile.threads()) {
    EXPECT_FALSE(thread.has_counters());
    EXPECT_EQ(thread.closure_error(), 0) << thread.comm();
  }
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"threads", File("x.json")},
        std::vector<std::string>{"threads", File("x.json"), "--counters"},
        std::vector<std::string>{"report", File("x.json"), "--counters", "--by", "function"}}) {
    const auto shown = Profctl(command);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr(kNone));
  }
}

TEST_F(WithoutPmuTest, ThreadsReportAndDoctorSaySo) {
  const auto threads = Of({"threads", "--counters"});
  EXPECT_EQ(threads.exit_code, 0) << threads.err;
  EXPECT_THAT(threads.out, HasSubstr(kNone));
  EXPECT_THAT(threads.out, Not(HasSubstr("IPC")));
  const auto report = Of({"report", "--counters", "--by", "function"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr(kNone));
  EXPECT_THAT(Profctl({"doctor", "--json"}).out, HasSubstr(kNone));
}

class WithPmuTest : public CountersTest {
 protected:
  void SetUp() override {
    CountersTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!HasCycles()) GTEST_SKIP() << "this host has no hardware counters";
  }
};

TEST_F(WithPmuTest, RatesAreThoseThatACpuMayHave) {
  const auto outcome = Of({"collect", "--counters", "-o", File("x.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const v1::Profile profile = ReadProfile(File("x.json"));
  EXPECT_EQ(profile.hardware_counters().missing(), "");
  ASSERT_TRUE(profile.hardware_counters().cycles());
  std::uint64_t cycles = 0;
  std::uint64_t counted_ns = 0;
  for (const v1::Thread& thread : profile.threads()) {
    cycles += thread.counters().cycles();
    counted_ns += thread.counters().counted_ns();
    EXPECT_LE(thread.counters().counted_ns(),
              thread.clock().on_cpu_ns() + thread.clock().stolen_exact_ns() + 20'000'000);
  }
  ASSERT_GT(counted_ns, 0u);
  const double gigahertz = static_cast<double>(cycles) / static_cast<double>(counted_ns);
  EXPECT_GT(gigahertz, 0.1);
  EXPECT_LT(gigahertz, 10);
  const auto threads = Profctl({"threads", File("x.json")});
  EXPECT_THAT(threads.out, HasSubstr("IPC"));
}

TEST_F(CountersTest, WithoutHooksItIsRefused) {
  const auto outcome = Of({"collect", "--counters", "--no-hooks", "-o", File("x.json")});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("--counters has no meaning with --no-hooks"));
}

}  // namespace
}  // namespace profd::e2e
