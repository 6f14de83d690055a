#include "daemon/pipeline/cpu_limit_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/support/temp_folder.h"

namespace profd::pipeline {
namespace {

class CpuLimitWatchTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(folder_.path()) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void UseQuota(std::uint64_t periods, std::uint64_t throttled) const {
    Write("cgroup/a/cpu.stat", "nr_periods " + std::to_string(periods) + "\nnr_throttled " +
                                   std::to_string(throttled) + "\nthrottled_usec " +
                                   std::to_string(10 * throttled) + "\n");
  }
  void Add(const std::string& cgroup) {
    auto info = std::make_shared<process::ProcessInfo>();
    info->cgroup = cgroup;
    watch_.Add(info);
  }
  // Of one process, number 7.
  [[nodiscard]] std::optional<source::CpuLimits> Describe(const aggregate::ProfileProcess& one) {
    aggregate::Profile profile;
    profile.processes = {one};
    watch_.Describe(profile);
    return profile.processes[0].cpu_limits;
  }
  [[nodiscard]] static aggregate::ProfileProcess Process() {
    aggregate::ProfileProcess process;
    process.key = {7, 1};
    process.cgroup = "/a";
    return process;
  }

  const test::TempFolder folder_;
  CpuLimitWatch watch_{ProcFs(std::string(folder_.path()) + "/proc"),
                       ProcFs(std::string(folder_.path()) + "/cgroup")};
};

TEST_F(CpuLimitWatchTest, TheUseOfAQuotaIsThatOfTheSession) {
  Write("proc/7/status", "Cpus_allowed_list:\t0-2\n");
  Write("cgroup/a/cpu.max", "200000 100000\n");
  UseQuota(1'000, 900);
  Add("/a");
  Add("/other");
  UseQuota(1'100, 912);
  const auto limits = Describe(Process());
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->allowed_cpus, 3u);
  EXPECT_DOUBLE_EQ(limits->quota_cpus, 2);
  EXPECT_EQ(limits->quota_periods, 100u);
  EXPECT_EQ(limits->throttled_periods, 12u);
  EXPECT_EQ(limits->throttled_ns, 120'000u);
}

TEST_F(CpuLimitWatchTest, WithoutAFirstReadingItsUseIsNotKnown) {
  Write("proc/7/status", "Cpus_allowed_list:\t0-2\n");
  Add("/a");
  Write("cgroup/a/cpu.max", "200000 100000\n");
  UseQuota(1'100, 912);
  const auto limits = Describe(Process());
  ASSERT_TRUE(limits);
  EXPECT_DOUBLE_EQ(limits->quota_cpus, 2);
  EXPECT_EQ(limits->quota_periods, 0u);
  EXPECT_EQ(limits->throttled_periods, 0u);
  EXPECT_EQ(limits->throttled_ns, 0u);
}

TEST_F(CpuLimitWatchTest, ACgroupThatWasMadeAgainCountsFromTheBegin) {
  Write("proc/7/status", "Cpus_allowed_list:\t0-2\n");
  Write("cgroup/a/cpu.max", "200000 100000\n");
  UseQuota(1'000, 900);
  Add("/a");
  UseQuota(10, 5);
  const auto limits = Describe(Process());
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->quota_periods, 0u);
}

TEST_F(CpuLimitWatchTest, NothingIsSaidOfProcessesThatAreGoneAndOfGroups) {
  Write("proc/7/status", "Cpus_allowed_list:\t0-2\n");
  aggregate::ProfileProcess process = Process();
  process.exited = true;
  EXPECT_FALSE(Describe(process));
  process = Process();
  process.group_size = 2;
  EXPECT_FALSE(Describe(process));
  process = Process();
  process.key.pid = 8;
  EXPECT_FALSE(Describe(process));
}

}  // namespace
}  // namespace profd::pipeline
