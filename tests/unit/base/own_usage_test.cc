#include "daemon/base/proc/own_usage.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <latch>
#include <thread>
#include <vector>

namespace profd {
namespace {

// Burns CPU until this process has used `ns` more.
void Burn(std::uint64_t ns) {
  const auto used = [] {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
  };
  for (const std::uint64_t begin = used(); used() - begin < ns;) {
  }
}

TEST(OwnUsage, CountsItsOwnTimeAndThatOfEndedChildren) {
  const std::uint64_t begin = OwnCpuNs();
  Burn(5'000'000);
  const std::uint64_t alone = OwnCpuNs();
  EXPECT_GE(alone - begin, 5'000'000u);
  const pid_t child = ::fork();
  if (child == 0) {
    Burn(50'000'000);
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  // The kernel rounds the time of children to ticks where it does not account it exactly.
  EXPECT_GE(OwnCpuNs() - alone, 30'000'000u);
}

TEST(OwnUsage, ThreadsAreDistinguishedByName) {
  std::latch burnt(1);
  std::latch seen(1);
  std::jthread thread([&] {
    ::pthread_setname_np(::pthread_self(), "odd) (name");
    Burn(100'000'000);
    burnt.count_down();
    seen.wait();
  });
  burnt.wait();
  const auto threads = OwnThreadCpuNs(ProcFs());
  seen.count_down();
  ASSERT_TRUE(threads.contains("odd) (name"));
  // The main thread only waits meanwhile; one tick of user and one of kernel time may be missing.
  EXPECT_GE(threads.at("odd) (name"), 70'000'000u);
  EXPECT_TRUE(OwnThreadCpuNs(ProcFs("/nonexistent")).empty());
}

TEST(OwnUsage, ResidentMemoryGrowsByWhatIsTouched) {
  const OwnResident resident{ProcFs()};
  const std::uint64_t before = resident.Bytes();
  ASSERT_GT(before, 0u);
  const std::vector<char> touched(64u << 20, 'x');
  EXPECT_GE(resident.Bytes(), before + touched.size() / 2);
  EXPECT_GE(OwnResidentBytes(ProcFs()), before + touched.size() / 2);
  EXPECT_EQ(OwnResidentBytes(ProcFs("/nonexistent")), 0u);
}

}  // namespace
}  // namespace profd
