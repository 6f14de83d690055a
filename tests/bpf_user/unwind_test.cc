// The frame-pointer walk on made-up stacks.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

constexpr std::uint64_t kStack = 0x7ffc'0000'0000;
constexpr std::uint64_t kPc = 0x401000;

// Parameter: which of the two readers walks.
class UnwindTest : public testing::TestWithParam<int> {
 protected:
  UnwindTest()
      : bytes_(sizeof(profd_sample_event) + PROFD_MAX_FRAMES * sizeof(std::uint64_t) + kGuard) {
    user_reset();
    user_set_memory(
        [](void* self, void* to, __u32 bytes, __u64 from) {
          return static_cast<UnwindTest*>(self)->Read(to, bytes, from);
        },
        this);
    std::memset(bytes_.data(), 0xaa, bytes_.size());
    event()->stack_flags = 0;
    event()->kernel_frames = 0;
  }

  profd_sample_event* event() { return reinterpret_cast<profd_sample_event*>(bytes_.data()); }

  // A frame at `at`: saved frame pointer and return address.
  void Frame(std::uint64_t at, std::uint64_t caller, std::uint64_t return_address) {
    memory_[at] = caller;
    memory_[at + 8] = return_address;
  }

  // A sound chain of `depth` frames, the outermost of which returns to nothing.
  void Chain(int depth) {
    for (int i = 0; i < depth; ++i)
      Frame(At(i), At(i + 1), 0x500000 + static_cast<std::uint64_t>(i));
    Frame(At(depth), 0, 0);
  }
  static std::uint64_t At(int i) { return kStack + 0x40 * static_cast<std::uint64_t>(i + 1); }

  void Walk(std::uint64_t frame_pointer) {
    user_walk(event(), kPc, kStack, frame_pointer, GetParam());
  }
  std::vector<std::uint64_t> Frames() {
    const __u64* first = event()->frames + event()->kernel_frames;
    return {first, first + event()->user_frames};
  }
  bool GuardIsWhole() const {
    for (std::size_t i = bytes_.size() - kGuard; i < bytes_.size(); ++i)
      if (bytes_[i] != 0xaa) return false;
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;

  long Read(void* to, __u32 bytes, __u64 from) {
    auto* out = static_cast<std::uint8_t*>(to);
    for (__u32 i = 0; i < bytes; i += 8) {
      const auto word = memory_.find(from + i);
      if (word == memory_.end()) return -14;
      std::memcpy(out + i, &word->second, 8);
    }
    return 0;
  }

  std::vector<std::uint8_t> bytes_;
  std::map<std::uint64_t, std::uint64_t> memory_;
};

TEST_P(UnwindTest, ChainToItsEnd) {
  Chain(3);
  Walk(At(0));
  EXPECT_EQ(Frames(), (std::vector<std::uint64_t>{kPc, 0x500000, 0x500001, 0x500002}));
  EXPECT_EQ(event()->stack_flags, 0);
}

TEST_P(UnwindTest, StandsAfterTheKernelFrames) {
  event()->kernel_frames = 5;
  Chain(1);
  Walk(At(0));
  EXPECT_EQ(event()->frames[5], kPc);
  EXPECT_EQ(event()->frames[6], 0x500000);
  EXPECT_EQ(event()->user_frames, 2);
}

TEST_P(UnwindTest, NoFramePointerLeavesTheProgramCounter) {
  Walk(0);
  EXPECT_EQ(Frames(), std::vector<std::uint64_t>{kPc});
  EXPECT_EQ(event()->stack_flags, 0);
}

TEST_P(UnwindTest, MemoryThatIsNotThereEndsTheWalk) {
  Frame(At(0), At(1), 0x500000);
  Walk(At(0));
  EXPECT_EQ(Frames(), (std::vector<std::uint64_t>{kPc, 0x500000}));
  EXPECT_EQ(event()->stack_flags, PROFD_STACK_USER_FAULT);
  EXPECT_EQ(user_counter(PROFD_COUNTER_USER_STACK_FAULT), 1);
}

TEST_P(UnwindTest, CircleEndsTheWalk) {
  Frame(At(0), At(1), 0x500000);
  Frame(At(1), At(0), 0x500001);
  Walk(At(0));
  EXPECT_EQ(Frames(), (std::vector<std::uint64_t>{kPc, 0x500000, 0x500001}));
  EXPECT_EQ(event()->stack_flags, PROFD_STACK_USER_FAULT);
}

TEST_P(UnwindTest, FrameThatPointsToItselfEndsTheWalk) {
  Frame(At(0), At(0), 0x500000);
  Walk(At(0));
  EXPECT_EQ(Frames(), (std::vector<std::uint64_t>{kPc, 0x500000}));
}

TEST_P(UnwindTest, FramePointerUsedAsANumberIsNotFollowed) {
  for (const std::uint64_t number :
       {std::uint64_t{1}, std::uint64_t{0xdeadbeef}, kStack + 3, kStack - 8, ~std::uint64_t{0}}) {
    event()->stack_flags = 0;
    Walk(number);
    EXPECT_EQ(Frames(), std::vector<std::uint64_t>{kPc});
    EXPECT_EQ(event()->stack_flags, PROFD_STACK_USER_FAULT);
  }
}

TEST_P(UnwindTest, DeepestStackThatFits) {
  Chain(PROFD_MAX_USER_FRAMES - 1);
  Walk(At(0));
  EXPECT_EQ(event()->user_frames, PROFD_MAX_USER_FRAMES);
  EXPECT_EQ(event()->stack_flags, 0);
}

TEST_P(UnwindTest, DeeperOnesAreCutAndSaySo) {
  event()->kernel_frames = PROFD_MAX_KERNEL_FRAMES;
  Chain(PROFD_MAX_USER_FRAMES + 100);
  Walk(At(0));
  EXPECT_EQ(event()->user_frames, PROFD_MAX_USER_FRAMES);
  EXPECT_EQ(event()->stack_flags, PROFD_STACK_USER_TRUNCATED);
  EXPECT_EQ(Frames().front(), kPc);
  EXPECT_TRUE(GuardIsWhole());
}

INSTANTIATE_TEST_SUITE_P(Readers, UnwindTest, testing::Values(0, 1),
                         [](const testing::TestParamInfo<int>& reader) {
                           return reader.param == 0 ? "Current" : "Task";
                         });

}  // namespace
}  // namespace profd
