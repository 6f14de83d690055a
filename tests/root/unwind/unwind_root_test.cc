// Stacks of functions without frame pointers, held against what the C++ runtime's own unwinder saw
// from inside.
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bpf/shared/events.h"
#include "tests/root/source/puppet.h"
#include "tests/root/unwind/unwinder.h"
#include "tests/support/kernels/code_kernels.h"

namespace profd::unwind {
namespace {

using source::Puppet;

// The rest of a function after it has reported its callers: what it waits in.
using Ending = std::function<void()>;

constexpr std::size_t kMaxFrames = 600;

// Reports the return addresses of the callers of this function's caller, root last.
[[gnu::noinline]] void PrintCallers(const Puppet::Strings& strings) {
  std::array<void*, kMaxFrames> frames{};
  const int count = ::backtrace(frames.data(), kMaxFrames);
  std::vector<std::uint64_t> numbers{static_cast<std::uint64_t>(count - 2)};
  for (int i = 2; i < count; ++i)
    numbers.push_back(reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(i)]));
  strings.Say(numbers);
}

// Frames of known depth; each keeps something on its stack that differs in size.
[[gnu::noinline, gnu::noclone]] int Descend(int depth, const Puppet::Strings& strings,
                                            const Ending& ending) {
  volatile int kept[7] = {depth, 1, 2, 3, 4, 5, 6};
  if (depth == 0) {
    PrintCallers(strings);
    ending();
  } else {
    kept[1] = Descend(depth - 1, strings, ending);
  }
  return kept[depth % 7] + kept[1];
}

void SleepLong() {
  timespec hour{.tv_sec = 3'600, .tv_nsec = 0};
  ::nanosleep(&hour, nullptr);
}

void SpinLong() {
  for (std::uint64_t i = 0; true; ++i) asm volatile("" : "+r"(i));
}

// A leaf: what it keeps lies below its stack pointer.
[[gnu::noinline]] void SpinInRedZone() {
  volatile std::uint64_t kept[8] = {};
  for (std::uint64_t i = 0; true; ++i) kept[i % 8] = kept[(i + 1) % 8] + i;
}

void SpinInVdso() {
  for (;;) ::time(nullptr);
}

bool InVdso(std::uint64_t address) {
  const std::uint64_t begin = ::getauxval(AT_SYSINFO_EHDR);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(begin);
  const auto* segment = reinterpret_cast<const Elf64_Phdr*>(begin + header->e_phoff);
  return address >= begin && address < begin + segment->p_memsz;
}

class UnwindRootTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (::geteuid() != 0) return;
    void* warm[1];
    ::backtrace(warm, 1);  // it loads a library at its first call
    auto unwinder = Unwinder::Load();
    ASSERT_TRUE(unwinder) << unwinder.error().message;
    unwinder_ = *std::move(unwinder);
  }
  static void TearDownTestSuite() { unwinder_.reset(); }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_TRUE(unwinder_);
  }

  static std::vector<std::uint64_t> HearCallers(const Puppet& puppet) {
    return puppet.Hear(puppet.Hear(1)[0]);
  }

  // The stack ends with exactly the frames that the program reported, and says that it is complete.
  static void ExpectEndsWith(const wire::StackEvent& stack,
                             const std::vector<std::uint64_t>& callers) {
    std::vector<std::uint64_t> frames = stack.user_frames;
    for (std::uint64_t& frame : frames) frame &= ~PROFD_FRAME_EXACT;
    EXPECT_EQ(stack.stack_flags, PROFD_STACK_COMPLETE);
    EXPECT_EQ(stack.uncertain_from, PROFD_ALL_CERTAIN);
    EXPECT_EQ(stack.missing_stack_bytes, 0u);
    ASSERT_GT(frames.size(), callers.size());
    frames.erase(frames.begin(), frames.end() - static_cast<std::ptrdiff_t>(callers.size()));
    EXPECT_EQ(frames, callers);
  }

  static void ExpectBlockedStack(const Puppet& puppet, char state = 'S') {
    const auto callers = HearCallers(puppet);
    puppet.AwaitState(state);
    unwinder_->Watch(puppet.pid());
    const auto stacks = unwinder_->Snapshot();
    ASSERT_EQ(stacks.size(), 1u);
    ExpectEndsWith(stacks[0], callers);
  }

  // The first on-CPU stack whose innermost address is wanted: such a one comes.
  static void ExpectOnCpuStack(
      const Puppet& puppet,
      const std::function<bool(std::uint64_t)>& wanted = [](std::uint64_t) { return true; }) {
    const auto callers = HearCallers(puppet);
    unwinder_->Watch(puppet.pid());
    std::vector<wire::StackEvent> stacks;
    do {
      stacks = unwinder_->SampleOnCpu();
      ASSERT_EQ(stacks.size(), 1u);
    } while (!wanted(stacks[0].user_frames.at(0) & ~PROFD_FRAME_EXACT));
    ExpectEndsWith(stacks[0], callers);
  }

  static inline std::unique_ptr<Unwinder> unwinder_;
};

TEST_F(UnwindRootTest, InNanosleep) {
  const Puppet puppet([](const Puppet::Strings& strings) { Descend(20, strings, SleepLong); });
  ExpectBlockedStack(puppet);
}

TEST_F(UnwindRootTest, InRead) {
  const Puppet puppet([](const Puppet::Strings& strings) {
    Descend(5, strings, [] {
      std::array<int, 2> ends{};
      char byte = 0;
      if (::pipe(ends.data()) == 0 && ::read(ends[0], &byte, 1) < 0) ::_exit(1);
    });
  });
  ExpectBlockedStack(puppet);
}

TEST_F(UnwindRootTest, InAFutexOfAnotherThread) {
  const Puppet puppet([](const Puppet::Strings& strings) {
    std::thread([&strings] {
      Descend(9, strings, [] {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        ::pthread_mutex_lock(&mutex);
        ::pthread_mutex_lock(&mutex);
      });
    }).join();
  });
  const auto callers = HearCallers(puppet);
  puppet.AwaitStateOfAll('S');
  unwinder_->Watch(puppet.pid());
  const auto stacks = unwinder_->Snapshot();
  ASSERT_EQ(stacks.size(), 2u);
  const bool first = stacks[0].header.thread.tid != puppet.pid();
  ExpectEndsWith(stacks[first ? 0 : 1], callers);
  EXPECT_EQ(stacks[first ? 1 : 0].stack_flags, PROFD_STACK_COMPLETE);
}

// Each waits for a child that it has made by vfork, which gdb cannot attach to.
TEST_F(UnwindRootTest, InVfork) {
  const Puppet puppet([](const Puppet::Strings& strings) {
    Descend(5, strings, [] {
      if (::vfork() != 0) return;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    });
  });
  ExpectBlockedStack(puppet, 'D');
}

TEST_F(UnwindRootTest, InPosixSpawn) {
  std::string folder = ::testing::TempDir() + "profd-spawn-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  Puppet puppet([&fifo](const Puppet::Strings& strings) {
    Descend(5, strings, [&fifo] {
      posix_spawn_file_actions_t actions;
      ::posix_spawn_file_actions_init(&actions);
      ::posix_spawn_file_actions_addopen(&actions, 0, fifo.c_str(), O_RDONLY, 0);
      std::array<char, 10> program{"/bin/true"};
      std::array<char*, 2> arguments{program.data(), nullptr};
      pid_t child = 0;
      ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), nullptr);
      ::waitpid(child, nullptr, 0);
    });
  });
  ExpectBlockedStack(puppet, 'D');
  const UniqueFd lets_the_child_go(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(puppet.Join());
  std::filesystem::remove_all(folder);
}

TEST_F(UnwindRootTest, InUserMode) {
  const Puppet puppet([](const Puppet::Strings& strings) { Descend(30, strings, SpinLong); });
  ExpectOnCpuStack(puppet);
}

TEST_F(UnwindRootTest, InALeafThatUsesTheRedZone) {
  const Puppet puppet([](const Puppet::Strings& strings) { Descend(4, strings, SpinInRedZone); });
  ExpectOnCpuStack(puppet);
}

TEST_F(UnwindRootTest, InTheVdso) {
  if (::getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "this kernel maps no vdso";
  const Puppet puppet([](const Puppet::Strings& strings) { Descend(4, strings, SpinInVdso); });
  ExpectOnCpuStack(puppet, InVdso);
}

// What the handler needs; set before the signal.
const Puppet::Strings* handler_strings = nullptr;

void SleepInHandler(int) { Descend(3, *handler_strings, SleepLong); }

// Gets the signal while it is in a leaf; the handler reports its callers, too.
void AwaitSignal(const Puppet::Strings& strings, int flags) {
  handler_strings = &strings;
  struct sigaction action {};
  action.sa_handler = SleepInHandler;
  action.sa_flags = flags;
  ::sigaction(SIGALRM, &action, nullptr);
  Descend(7, strings, [] {
    itimerval soon{};
    soon.it_value.tv_usec = 20'000;
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    SpinInRedZone();
  });
}

TEST_F(UnwindRootTest, InASignalHandlerBelowARedZone) {
  const Puppet puppet([](const Puppet::Strings& strings) { AwaitSignal(strings, 0); });
  HearCallers(puppet);
  ExpectBlockedStack(puppet);
}

TEST_F(UnwindRootTest, InASignalHandlerOnAnAlternateStack) {
  const Puppet puppet([](const Puppet::Strings& strings) {
    stack_t stack{};
    stack.ss_size = 1u << 20;
    stack.ss_sp =
        ::mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::sigaltstack(&stack, nullptr);
    AwaitSignal(strings, SA_ONSTACK);
  });
  HearCallers(puppet);
  ExpectBlockedStack(puppet);
}

bool InKernels(std::uint64_t address) {
  address &= ~PROFD_FRAME_EXACT;
  return address - test::CodeKernelsBegin() < test::CodeKernelsEnd() - test::CodeKernelsBegin();
}

void RunKernel(const test::CodeKernel& kernel, void (*callback)(void*)) {
  int argument = 0;
  kernel.run(callback, &argument);
}

// Through functions without unwind information, in which no register leads to the caller.
TEST_F(UnwindRootTest, BlockedBelowKernelsWithoutUnwindInformation) {
  for (const test::CodeKernel& kernel : test::CodeKernels()) {
    SCOPED_TRACE(kernel.name);
    const Puppet puppet([&](const Puppet::Strings& strings) {
      Descend(4, strings, [&] { RunKernel(kernel, [](void*) { SleepLong(); }); });
    });
    const auto callers = HearCallers(puppet);
    puppet.AwaitState('S');
    unwinder_->Watch(puppet.pid());
    const auto stacks = unwinder_->Snapshot();
    ASSERT_EQ(stacks.size(), 1u);
    ExpectEndsWith(stacks[0], callers);
    EXPECT_TRUE(std::ranges::any_of(stacks[0].user_frames, InKernels));
  }
}

TEST_F(UnwindRootTest, RunningBelowKernelsWithoutUnwindInformation) {
  for (const test::CodeKernel& kernel : test::CodeKernels()) {
    SCOPED_TRACE(kernel.name);
    const Puppet puppet([&](const Puppet::Strings& strings) {
      Descend(4, strings, [&] { RunKernel(kernel, [](void*) { SpinLong(); }); });
    });
    ExpectOnCpuStack(puppet);
  }
}

TEST_F(UnwindRootTest, RunningInAKernelWithoutUnwindInformation) {
  const Puppet puppet(
      [](const Puppet::Strings& strings) { Descend(4, strings, test::SpinInKernel); });
  ExpectOnCpuStack(puppet, InKernels);
}

// A copy of all kernels in memory that has no file; null where one would need data beside them.
test::Kernel CopyOf(const test::CodeKernel& kernel) {
  if (std::string_view(kernel.name) == "jump_table") return nullptr;
  const std::uint64_t begin = test::CodeKernelsBegin();
  const std::size_t bytes = test::CodeKernelsEnd() - begin;
  void* copy = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(copy, reinterpret_cast<const void*>(begin), bytes);
  ::mprotect(copy, bytes, PROT_READ | PROT_EXEC);
  return reinterpret_cast<test::Kernel>(static_cast<char*>(copy) +
                                        (reinterpret_cast<std::uint64_t>(kernel.run) - begin));
}

TEST_F(UnwindRootTest, BelowCodeMadeAtRunTime) {
  for (const test::CodeKernel& kernel : test::CodeKernels()) {
    const test::Kernel copy = CopyOf(kernel);
    if (copy == nullptr) continue;
    SCOPED_TRACE(kernel.name);
    const Puppet blocked([&](const Puppet::Strings& strings) {
      Descend(4, strings, [&] { RunKernel({"", copy}, [](void*) { SleepLong(); }); });
    });
    const auto callers = HearCallers(blocked);
    blocked.AwaitState('S');
    unwinder_->Watch(blocked.pid());
    (void)unwinder_->Snapshot();  // left by frame pointer, as there are no tables yet
    const auto stacks = unwinder_->Snapshot();
    ASSERT_EQ(stacks.size(), 1u);
    ExpectEndsWith(stacks[0], callers);
    const Puppet running([&](const Puppet::Strings& strings) {
      Descend(4, strings, [&] { RunKernel({"", copy}, [](void*) { SpinLong(); }); });
    });
    const auto running_callers = HearCallers(running);
    unwinder_->Watch(running.pid());
    (void)unwinder_->SampleOnCpu();
    const auto samples = unwinder_->SampleOnCpu();
    ASSERT_EQ(samples.size(), 1u);
    ExpectEndsWith(samples[0], running_callers);
  }
}

TEST_F(UnwindRootTest, DeeperThanWhatIsKept) {
  const Puppet puppet([](const Puppet::Strings& strings) { Descend(550, strings, SleepLong); });
  const auto callers = HearCallers(puppet);
  puppet.AwaitState('S');
  unwinder_->Watch(puppet.pid());
  const auto stacks = unwinder_->Snapshot();
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].user_frames.size(), std::size_t{PROFD_MAX_USER_FRAMES});
  EXPECT_EQ(stacks[0].stack_flags, PROFD_STACK_USER_TRUNCATED);
  EXPECT_GT(stacks[0].missing_stack_bytes, 40u * 48);
  EXPECT_LT(stacks[0].missing_stack_bytes, 1u << 20);
}

TEST_F(UnwindRootTest, WhatAFrameCosts) {
  const auto cost = [](int depth) {
    const Puppet puppet(
        [depth](const Puppet::Strings& strings) { Descend(depth, strings, SpinLong); });
    HearCallers(puppet);
    unwinder_->Watch(puppet.pid());
    const auto stacks = unwinder_->SampleOnCpu();
    const double ns = unwinder_->OnCpuCostNs();
    std::printf("%zu user frames: %.0f ns a sample\n", stacks.at(0).user_frames.size(), ns);
    return ns;
  };
  const double shallow = cost(10);
  const double deep = cost(110);
  std::printf("%.0f ns a frame\n", (deep - shallow) / 100);
  EXPECT_GT(deep, shallow);
}

}  // namespace
}  // namespace profd::unwind
