#include "daemon/source/perf/cpu_places.h"

#include <gtest/gtest.h>

#include "tests/unit/source/fake_proc.h"

namespace profd::source {
namespace {

// A /sys of files.
class CpuPlacesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    sys_.Write("devices/system/" + path, text + "\n");
  }
  void AddCpu(std::uint32_t cpu, const std::string& core,
              const std::string& last_cache = "") const {
    const std::string folder = "cpu/cpu" + std::to_string(cpu);
    Write(folder + "/topology/core_cpus_list", core);
    if (last_cache.empty()) return;
    Write(folder + "/cache/index0/level", "1");
    Write(folder + "/cache/index0/shared_cpu_list", core);
    Write(folder + "/cache/index1/level", "3");
    Write(folder + "/cache/index1/shared_cpu_list", last_cache);
  }
  [[nodiscard]] std::vector<CpuPlace> Places() const { return ReadCpuPlaces(sys_.proc().root()); }

  const FakeProc sys_;
};

TEST_F(CpuPlacesTest, TwoNodesWithSmt) {
  Write("cpu/online", "0-7");
  Write("node/online", "0-1");
  Write("node/node0/cpulist", "0-1,4-5");
  Write("node/node1/cpulist", "2-3,6-7");
  for (std::uint32_t core = 0; core < 4; ++core) {
    const std::string cpus = std::to_string(core) + "," + std::to_string(core + 4);
    const std::string cache = core < 2 ? "0-1,4-5" : "2-3,6-7";
    AddCpu(core, cpus, cache);
    AddCpu(core + 4, cpus, cache);
  }
  const auto places = Places();
  ASSERT_EQ(places.size(), 8u);
  EXPECT_EQ(places[5], (CpuPlace{.cpu = 5, .core = 1, .cache = 0, .node = 0}));
  EXPECT_EQ(places[7], (CpuPlace{.cpu = 7, .core = 3, .cache = 2, .node = 1}));
}

TEST_F(CpuPlacesTest, AHybridHostHasCoresOfOneCpuToo) {
  Write("cpu/online", "0-3");
  AddCpu(0, "0-1", "0-3");
  AddCpu(1, "0-1", "0-3");
  AddCpu(2, "2", "0-3");
  AddCpu(3, "3", "0-3");
  const auto places = Places();
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[1].core, 0u);
  EXPECT_EQ(places[3].core, 3u);
  EXPECT_EQ(places[3].cache, 0u);
  EXPECT_EQ(places[3].node, 0u) << "without NUMA";
}

TEST_F(CpuPlacesTest, CpusThatAreOfflineHaveNoPlace) {
  Write("cpu/online", "0,2");
  Write("cpu/possible", "0-7");
  AddCpu(0, "0", "0,2");
  AddCpu(2, "2", "0,2");
  const auto places = Places();
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[1].cpu, 2u);
  EXPECT_EQ(CpuNumbers(sys_.proc().root()), 8u);
}

TEST_F(CpuPlacesTest, CachesAreKnownOfAllCpusOrOfNone) {
  Write("cpu/online", "0-1");
  AddCpu(0, "0", "0-1");
  AddCpu(1, "1");
  const auto places = Places();
  ASSERT_EQ(places.size(), 2u);
  EXPECT_FALSE(places[0].cache);
  EXPECT_FALSE(places[1].cache);
}

TEST_F(CpuPlacesTest, TheOlderNameOfCoresIsReadToo) {
  Write("cpu/online", "0-1");
  for (const char* cpu : {"cpu0", "cpu1"})
    Write("cpu/" + std::string(cpu) + "/topology/thread_siblings_list", "0-1");
  const auto places = Places();
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[1].core, 0u);
}

TEST_F(CpuPlacesTest, WithoutACoreOfEachCpuNothingIsKnown) {
  EXPECT_TRUE(Places().empty());
  EXPECT_EQ(CpuNumbers(sys_.proc().root()), 0u);
  Write("cpu/online", "0-1");
  AddCpu(0, "0", "0-1");
  EXPECT_TRUE(Places().empty());
  AddCpu(1, "0", "0-1");  // of which it is not
  EXPECT_TRUE(Places().empty());
  AddCpu(1, "1 or so", "0-1");
  EXPECT_TRUE(Places().empty());
  Write("cpu/online", "0-65535");
  EXPECT_TRUE(Places().empty()) << "more than a host can have";
}

TEST(CpuPlaces, EachCpuOfThisHostIsInItsOwnCore) {
  for (const CpuPlace& place : ReadCpuPlaces()) {
    EXPECT_LE(place.core, place.cpu);
    EXPECT_LT(place.cpu, CpuNumbers());
  }
}

}  // namespace
}  // namespace profd::source
