// The walk in a process with several runtimes, each with a layout of its own.
#include <cstdint>
#include <vector>

#include "tests/bpf_user/python/python_world.h"

namespace profd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kSecondState = 0x5100'0000;
constexpr std::uint64_t kThirdState = 0x5200'0000;
constexpr std::uint64_t kNext = PROFD_PYTHON_ANCHOR | PROFD_PYTHON_RUNTIME;
constexpr unsigned kThreadOf2 =
    PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD | 1u << PROFD_PYTHON_MORE_SHIFT;

class PythonRuntimesTest : public PythonWalkTest {
 protected:
  PythonRuntimesTest() {
    first_ = Layout(PROFD_PYTHON_ENTRY_FRAMES);
    second_ = Layout(PROFD_PYTHON_ENTRY_FLAGS);
    second_.slot = 0x328;
    second_.cframe_current = 8;
    second_.cframe_previous = 16;
    second_.frame_owner = 68;
    third_ = Layout(PROFD_PYTHON_ENTRY_FRAMES);
    third_.slot = 0x338;
    for (const auto& one : {first_, second_, third_}) Put(SlotOf(one), std::uint64_t{0});
    for (int i = 1; i <= 3; ++i) Code(i, 100 + static_cast<std::uint32_t>(i));
  }
  static std::uint64_t SlotOf(const profd_python_process& process) {
    return kThread + static_cast<std::uint64_t>(process.slot);
  }

  void RunFirst() {
    Thread(first_);
    Put(kState + 56, std::uint64_t{0x7001'0000});
    Frame(0x7001'0000, 1, 0x7ffc'0000, 12, 0);
    Frame(0x7ffc'0000, 0, 0, 0, 3);
  }
  void RunSecond() {
    Put(SlotOf(second_), kSecondState);
    Put(kSecondState + second_.thread_id, kThread);
    Put(kSecondState + 56, std::uint64_t{0x7ffe'0000});
    Put(0x7ffe'0008, std::uint64_t{0x7011'0000});
    Put(0x7ffe'0010, kSecondState + 256);
    Put(kSecondState + 264, std::uint64_t{0});
    Put(kSecondState + 272, std::uint64_t{0});
    Frame(0x7011'0000, 2, 0, 8, 0);
    Put(0x7011'0000 + 68, std::uint8_t{1});
  }
  void RunThird() {
    Put(SlotOf(third_), kThirdState);
    Put(kThirdState + third_.thread_id, kThread);
    Put(kThirdState + 56, std::uint64_t{0x7021'0000});
    Frame(0x7021'0000, 3, 0x7fff'0000, 4, 0);
    Frame(0x7fff'0000, 0, 0, 0, 3);
  }
  std::vector<std::uint64_t> WalkBoth(std::uint32_t parent = 0, std::uint64_t futex = 0) {
    return Walk(std::vector{first_, second_}, parent, futex);
  }
  std::vector<std::uint64_t> WalkAll() { return Walk(std::vector{first_, second_, third_}); }

  profd_python_process first_;
  profd_python_process second_;
  profd_python_process third_;
};

TEST_P(PythonRuntimesTest, AThreadOfTheFirst) {
  RunFirst();
  EXPECT_THAT(WalkBoth(), ElementsAre(CodeOf(1), At(101, 12), kAnchor | 0x7ffc'0000));
  EXPECT_EQ(event()->python_flags, kThreadOf2);
}

TEST_P(PythonRuntimesTest, AThreadOfTheSecond) {
  RunSecond();
  EXPECT_THAT(WalkBoth(), ElementsAre(kNext | 1, CodeOf(2), At(102, 8), kAnchor | 0x7ffe'0000));
  EXPECT_EQ(event()->python_flags, kThreadOf2);
  EXPECT_TRUE(woken_);
}

TEST_P(PythonRuntimesTest, AThreadOfNone) {
  EXPECT_THAT(WalkBoth(), IsEmpty());
  EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS | 1u << PROFD_PYTHON_MORE_SHIFT);
}

TEST_P(PythonRuntimesTest, StatesInSeveral) {
  RunFirst();
  RunSecond();
  EXPECT_THAT(WalkBoth(), ElementsAre(CodeOf(1), At(101, 12), kAnchor | 0x7ffc'0000, kNext | 1,
                                      CodeOf(2), At(102, 8), kAnchor | 0x7ffe'0000));
  EXPECT_EQ(event()->python_flags, kThreadOf2);
  RunThird();
  Put(SlotOf(second_), std::uint64_t{0});
  EXPECT_THAT(WalkAll(), ElementsAre(CodeOf(1), At(101, 12), kAnchor | 0x7ffc'0000, kNext | 2,
                                     CodeOf(3), At(103, 4), kAnchor | 0x7fff'0000));
  Put(SlotOf(first_), std::uint64_t{0});
  EXPECT_THAT(WalkAll(), ElementsAre(kNext | 2, CodeOf(3), At(103, 4), kAnchor | 0x7fff'0000));
}

TEST_P(PythonRuntimesTest, AWalkThatBeginsAgainKeepsWhatOthersHave) {
  RunFirst();
  RunSecond();
  const auto before = WalkBoth();
  // A new call has linked its CFrame, and not filled it.
  Put(kSecondState + 56, std::uint64_t{0x7ffd'0000});
  Put(0x7ffd'0008, std::uint64_t{0});
  Put(0x7ffd'0010, std::uint64_t{0x7ffe'0000});
  EXPECT_EQ(WalkBoth(), before);
  EXPECT_EQ(event()->python_flags, kThreadOf2);

  Put(0x7ffd'0010, std::uint64_t{0});
  EXPECT_THAT(WalkBoth(), IsEmpty()) << "half a stack is none";
  EXPECT_NE(event()->python_flags & PROFD_PYTHON_TORN, 0);
}

TEST_P(PythonRuntimesTest, TheDeepOneLeavesNoRoom) {
  RunFirst();
  RunSecond();
  Put(kState + 56, std::uint64_t{0x7100'0000});
  for (std::uint32_t i = 0; i < 600; ++i)
    Frame(0x7100'0000 + i * 0x100, 1, 0x7100'0000 + (i + 1) * 0x100, i, 0);
  const auto words = WalkBoth();
  ASSERT_EQ(words.size(), 2u * PROFD_MAX_PYTHON_FRAMES + 1);
  EXPECT_EQ(words.back(), kNext | 1);
  EXPECT_NE(event()->python_flags & PROFD_PYTHON_TRUNCATED, 0);
}

TEST_P(PythonRuntimesTest, ACircleInOneEndsThatOne) {
  RunFirst();
  RunSecond();
  Frame(0x7001'0000, 1, 0x7001'0000, 12, 0);
  const auto words = WalkBoth();
  ASSERT_GE(words.size(), 4u);
  EXPECT_EQ(words[words.size() - 4], kNext | 1);
  EXPECT_NE(event()->python_flags & PROFD_PYTHON_FAULT, 0);
}

TEST_P(PythonRuntimesTest, NoAnchorLooksLikeAnotherRuntime) {
  RunFirst();
  constexpr std::uint64_t kStrange = PROFD_PYTHON_RUNTIME | 0x7ffc'0000;
  Frame(0x7001'0000, 1, kStrange, 12, 0);
  Frame(kStrange, 0, 0, 0, 3);
  EXPECT_THAT(WalkBoth(), ElementsAre(CodeOf(1), At(101, 12), kAnchor | 0x7ffc'0000));
}

TEST_P(PythonRuntimesTest, AForkedChildHasItsParentsRuntimes) {
  RunSecond();
  EXPECT_THAT(WalkBoth(77), ElementsAre(kNext | 1, CodeOf(2), At(102, 8), kAnchor | 0x7ffe'0000));
}

TEST_P(PythonRuntimesTest, TheGilOfEach) {
  for (auto* process : {&first_, &second_}) {
    process->gil = process == &first_ ? 0x9000 : 0xa000;
    process->gil_holder = 8;
    process->gil_locked = 16;
  }
  RunFirst();
  RunSecond();
  const auto flags = [&](std::uint64_t first_holder, std::uint64_t second_holder,
                         std::uint64_t futex = 0) {
    Put(0x9008, first_holder);
    Put(0x9010, 1u);
    Put(0xa008, second_holder);
    Put(0xa010, 1u);
    (void)WalkBoth(0, futex);
    return event()->python_flags &
           (PROFD_PYTHON_GIL_HELD | PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_FUTEX);
  };
  EXPECT_EQ(flags(1, 1), PROFD_PYTHON_GIL_KNOWN);
  EXPECT_EQ(flags(kState, 1), PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_HELD);
  EXPECT_EQ(flags(1, kSecondState), PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_HELD);
  EXPECT_EQ(flags(1, kState), PROFD_PYTHON_GIL_KNOWN) << "a state of the other runtime";
  EXPECT_EQ(flags(1, 1, 0xa020), PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_FUTEX);
  EXPECT_EQ(flags(1, 1, 0x9020), PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_FUTEX);
  first_.gil = 0;
  EXPECT_EQ(flags(1, 1), 0u) << "one of them may be held";
  EXPECT_EQ(flags(1, kSecondState), PROFD_PYTHON_GIL_HELD);
  Put(SlotOf(first_), std::uint64_t{0});
  EXPECT_EQ(flags(1, 1), PROFD_PYTHON_GIL_KNOWN) << "it has nothing to do with that";
}

INSTANTIATE_TEST_SUITE_P(Readers, PythonRuntimesTest, testing::Bool(),
                         [](const auto& reader) { return reader.param ? "Task" : "Current"; });

}  // namespace
}  // namespace profd
