// PathFinder on a log that is made by hand.
#include "daemon/aggregate/waits/path_finder.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace profd::aggregate {
namespace {

constexpr ProcessKey kProcess{10, 1};
constexpr ThreadKey kReader{100, 1};
constexpr ThreadKey kPeer{101, 1};

enum Name : std::uint32_t { kWriteSpace, kReadable, kWork };

const symbolize::Frame& FrameOf(std::uint32_t id) {
  static const auto frames = [] {
    std::vector<symbolize::Frame> made(3);
    const std::array names{"unix_write_space", "sock_def_readable", "work"};
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].name = names[i];
      if (i != kWork) made[i].kind = symbolize::FrameKind::kKernel;
    }
    return made;
  }();
  return frames.at(id);
}

// A reader waits for its peer, which runs all the time.
class PathFinderTest : public ::testing::Test {
 protected:
  PathFinderTest() {
    log_.OnClock(kReader, kProcess, {.time_ns = 1, .number = 0});
    log_.OnClock(kPeer, kProcess, {.time_ns = 1, .number = 0});
  }

  void AddWait(std::uint64_t begin_ns, std::uint64_t woken_ns, std::uint64_t end_ns, Name by) {
    process::Sample waker;
    waker.thread = kPeer;
    waker.process = kProcess;
    waker.time_ns = woken_ns;
    waker.wake_up = wire::WakeUp{.wakee = kReader, .begin_ns = begin_ns, .comm = "peer"};
    log_.AddWaker(waker, Node(by), 1);
    process::Sample wait;
    wait.thread = kReader;
    wait.process = kProcess;
    wait.state = process::State::kBlocked;
    wait.wait = process::WaitReason::kNet;
    wait.begin_ns = begin_ns;
    wait.time_ns = end_ns;
    wait.runnable_ns = end_ns - woken_ns;
    wait.number = ++number_;
    log_.AddWait(wait, Node(kWork));
  }

  const std::vector<PathStep>& Find(std::uint64_t begin_ns, std::uint64_t time_ns) {
    const std::uint32_t reader = *log_.Find(kReader);
    return finder_.Find(reader, *log_.FindWait(reader, begin_ns), time_ns);
  }
  bool IsSpurious(std::uint64_t begin_ns) {
    const std::uint32_t reader = *log_.Find(kReader);
    return finder_.IsSpurious(reader, *log_.FindWait(reader, begin_ns));
  }

 private:
  // Each stack has one frame.
  static StackId Node(Name name) { return name + 1; }

  WaitLog log_{100};
  PathFinder finder_{log_, [](StackId stack, const auto& visit) { visit(FrameOf(stack - 1)); }};
  std::uint32_t number_ = 0;
};

TEST_F(PathFinderTest, AWakeUpForNothingIsOneIfTheThreadWaitsOnAtOnce) {
  AddWait(1'000'000, 2'000'000, 2'010'000, kWriteSpace);
  AddWait(2'011'000, 5'000'000, 5'010'000, kReadable);
  EXPECT_TRUE(IsSpurious(1'000'000));
  EXPECT_FALSE(IsSpurious(2'011'000));
  EXPECT_EQ(Find(1'000'000, 1'500'000).front().kind, PathKind::kRuns);
}

TEST_F(PathFinderTest, AThreadThatIsWokenForNothingAndGetsSomethingHasWaitedForWhoWokeIt) {
  // Its peer has read what it wrote, which wakes it. It gets no CPU before the answer is there, and
  // does not wait again.
  AddWait(1'000'000, 2'000'000, 6'000'000, kWriteSpace);
  AddWait(9'000'000, 12'000'000, 12'010'000, kReadable);
  EXPECT_FALSE(IsSpurious(1'000'000));
  const std::vector<PathStep>& path = Find(1'000'000, 1'500'000);
  ASSERT_EQ(path.size(), 1u);
  EXPECT_EQ(path.front().kind, PathKind::kRuns);
}

}  // namespace
}  // namespace profd::aggregate
