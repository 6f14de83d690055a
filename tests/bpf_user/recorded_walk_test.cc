// Walks of real stacks, replayed (tests/data/walks).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/bpf_user/recorded_walk.h"
#include "tests/support/paths.h"

namespace profd {
namespace {

// Parameters: file, which of the two readers walks.
class RecordedWalkTest : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  void SetUp() override {
    const auto& [name, task_reader] = GetParam();
    const std::string path = test::TestData() + "/walks/" + name + ".txt";
    std::ifstream in(path);
    ASSERT_TRUE(in) << path;
    auto walk = RecordedWalk::Read(in);
    ASSERT_TRUE(walk) << walk.error().message;
    walk_ = *std::move(walk);
    ASSERT_FALSE(walk_.words.empty());
  }
  [[nodiscard]] static bool task_reader() { return std::get<1>(GetParam()); }
  RecordedWalk walk_;
};

TEST_P(RecordedWalkTest, FindsWhatItFound) {
  EXPECT_EQ(Replay(walk_, task_reader()).found, walk_.found);
}

// The recording holds no more than the walk needs: nothing of it goes unused.
TEST_P(RecordedWalkTest, EveryWordCounts) {
  std::map<std::uint64_t, std::uint64_t> unused = walk_.words;
  const WordReader reader = [&](std::uint64_t address, std::uint64_t& word) {
    const auto found = walk_.words.find(address);
    unused.erase(address);
    if (found != walk_.words.end()) word = found->second;
    return found != walk_.words.end();
  };
  EXPECT_EQ(Replay(walk_, task_reader(), reader).found, walk_.found);
  EXPECT_TRUE(unused.empty()) << unused.size();
}

INSTANTIATE_TEST_SUITE_P(Files, RecordedWalkTest,
                         testing::Combine(testing::Values("futex_wait", "signal_on_alternate_stack",
                                                          "plt_entry", "deep_recursion",
                                                          "frame_pointers"),
                                          testing::Bool()),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param)) +
                                  (std::get<1>(param.param) ? "_task" : "");
                         });

}  // namespace
}  // namespace profd
