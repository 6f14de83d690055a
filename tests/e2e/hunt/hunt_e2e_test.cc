// One profctl collect of eight processes whose main threads wait for workers that wait for one
// device: both ends with the shares that the program's own clocks give, and who waits for what.
#include <gmock/gmock.h>
#include <sys/types.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int kProcesses = 8;

struct NamedFrame {
  std::string name;
  v1::FrameKind kind = v1::FRAME_NATIVE;
};

// A sample with its stack, root first.
struct Stack {
  std::vector<NamedFrame> frames;
  v1::State state = v1::STATE_ON_CPU;
  v1::WaitReason wait = v1::WAIT_NONE;
  std::uint64_t ns = 0;
  std::uint64_t points = 0;

  [[nodiscard]] std::optional<std::size_t> Find(const std::string& name) const {
    const auto at = std::ranges::find(frames, name, &NamedFrame::name);
    if (at == frames.end()) return std::nullopt;
    return static_cast<std::size_t>(at - frames.begin());
  }
  [[nodiscard]] std::string Text() const {
    std::string text;
    for (const NamedFrame& frame : frames) text += frame.name + ";";
    return text + v1::State_Name(state) + " " + v1::WaitReason_Name(wait);
  }
};

// By index of the thread.
std::vector<std::vector<Stack>> StacksOf(const v1::Profile& profile) {
  std::vector<std::vector<Stack>> threads(static_cast<std::size_t>(profile.threads_size()));
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    Stack& stack = threads[samples.thread(i)].emplace_back();
    stack.state = samples.state(i);
    stack.wait = samples.wait(i);
    stack.ns = samples.weight_ns(i);
    stack.points = samples.count(i);
    for (std::uint32_t at = samples.node(i); at != 0;
         at = profile.nodes(static_cast<int>(at) - 1).parent()) {
      const auto& node = profile.nodes(static_cast<int>(at) - 1);
      const v1::Frame& frame = profile.frames(static_cast<int>(node.frame()));
      stack.frames.insert(stack.frames.begin(), {frame.name(), frame.kind()});
    }
  }
  return threads;
}

class HuntTest : public ProfctlTest {
 protected:
  void Collect() {
    // A name that no other process has.
    name_ = "train-" + std::to_string(::getpid());
    auto program = testing::Subprocess::Start(
        {"/usr/bin/python3", TestProgram("hunt/launch.py"), "--name", name_}, options_);
    ASSERT_TRUE(program) << program.error().message;
    const auto ready = program->ReadLine();
    ASSERT_TRUE(ready) << ready.error().message;
    const auto outcome = Profctl({"collect", "--comm", name_, "-d", "4", "-F", "299", "--budget",
                                  "off", "-o", File("x.json"), "-o", File("x.svg")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    live_ = Profctl({"waits", "-q", "--comm", name_, "-d", "2", "-f", "json"});
    program->Signal(SIGTERM);
    const auto clocks = program->ReadLine();
    ASSERT_TRUE(clocks) << clocks.error().message;
    profile_ = ReadProfile(File("x.json"));
    stacks_ = StacksOf(profile_);
    for (const auto& one : nlohmann::json::parse(*clocks)) clocks_[one["pid"]] = one;
    ASSERT_EQ(clocks_.size(), static_cast<std::size_t>(kProcesses));
    ASSERT_EQ(profile_.threads_size(), 2 * kProcesses);
  }

  [[nodiscard]] const nlohmann::json& ClocksOf(int thread) const {
    const auto process = static_cast<int>(profile_.threads(thread).process());
    return clocks_.at(profile_.processes(process).pid());
  }
  [[nodiscard]] bool IsMain(int thread) const {
    return ClocksOf(thread)["pid"] == profile_.threads(thread).tid();
  }

  // What lies inside the session of a program's intervals, from entry `from` to entry `to` of each.
  [[nodiscard]] double InsideNs(const nlohmann::json& log, std::size_t from, std::size_t to) const {
    std::uint64_t sum = 0;
    for (const auto& entry : log) {
      const auto begin = std::max(entry[from].get<std::uint64_t>(), profile_.start_ns());
      const auto end = std::min(entry[to].get<std::uint64_t>(), profile_.end_ns());
      if (begin < end) sum += end - begin;
    }
    return static_cast<double>(sum);
  }

  void ExpectShare(int thread, const std::string& function, double truth_ns) const;
  void ExpectTheSharesOfTheProgramsClocks() const;
  void ExpectThatStatesAddUp() const;
  void ExpectMainThreadsToWaitInTheirPythonFrames() const;
  void ExpectWorkersToWaitForTheDevice() const;
  void ExpectMainThreadsToWaitForTheirWorkers() const;
  void ExpectSummaryAndPictureToSayIt() const;
  void ExpectTheTableOfWaitsToSayIt() const;

  std::string name_;
  std::map<std::uint32_t, nlohmann::json> clocks_;  // by pid
  v1::Profile profile_;
  testing::Outcome live_;  // of profctl waits
  std::vector<std::vector<Stack>> stacks_;
};

// A sampling point falls into the function with the probability of its share; n independent ones
// vary by sqrt(p (1 - p) / n), points of which each has a period of its own by less. 4.5 standard
// deviations are left once in 100,000 times.
void HuntTest::ExpectShare(int thread, const std::string& function, double truth_ns) const {
  double seen = 0;
  double sum = 0;
  double points = 0;
  for (const Stack& stack : stacks_[static_cast<std::size_t>(thread)]) {
    sum += static_cast<double>(stack.ns);
    points += static_cast<double>(stack.points);
    if (stack.Find(function)) seen += static_cast<double>(stack.ns);
  }
  const double share = truth_ns / static_cast<double>(profile_.end_ns() - profile_.start_ns());
  ASSERT_GT(points, 500);
  EXPECT_NEAR(seen / sum, share, 4.5 * std::sqrt(share * (1 - share) / points))
      << function << " of thread " << profile_.threads(thread).tid() << ", " << points
      << " samples";
}

void HuntTest::ExpectTheSharesOfTheProgramsClocks() const {
  for (int thread = 0; thread < profile_.threads_size(); ++thread) {
    const nlohmann::json& clocks = ClocksOf(thread);
    if (IsMain(thread)) {
      ExpectShare(thread, "Tensor.numpy", InsideNs(clocks["numpy"], 0, 1));
      continue;
    }
    EXPECT_EQ(profile_.threads(thread).tid(), clocks["worker"]);
    EXPECT_EQ(profile_.threads(thread).comm(), "engine-worker");
    ExpectShare(thread, "engine::get_device_properties", InsideNs(clocks["device"], 0, 3));
    ExpectShare(thread, "flock",
                InsideNs(clocks["device"], 0, 1) + InsideNs(clocks["device"], 2, 3));
  }
}

void HuntTest::ExpectThatStatesAddUp() const {
  for (int thread = 0; thread < profile_.threads_size(); ++thread) {
    const v1::Thread& it = profile_.threads(thread);
    std::uint64_t sum = 0;
    for (const Stack& stack : stacks_[static_cast<std::size_t>(thread)]) sum += stack.ns;
    EXPECT_EQ(sum, ClockSum(it.clock())) << it.comm();
    EXPECT_FALSE(it.clock_missing());
    EXPECT_LE(std::abs(it.closure_error()), 0.001) << it.comm();
  }
}

void HuntTest::ExpectMainThreadsToWaitInTheirPythonFrames() const {
  std::uint64_t waits = 0;
  std::uint64_t for_futex = 0;
  for (int thread = 0; thread < profile_.threads_size(); ++thread) {
    if (!IsMain(thread)) continue;
    for (const Stack& stack : stacks_[static_cast<std::size_t>(thread)]) {
      EXPECT_FALSE(stack.Find("[merge=failed]")) << stack.Text();
      const auto numpy = stack.Find("Tensor.numpy");
      if (!numpy || stack.state != v1::STATE_BLOCKED) continue;
      const std::vector<std::optional<std::size_t>> path = {stack.Find("<module>"),
                                                            stack.Find("main"), stack.Find("train"),
                                                            stack.Find("train_step"), numpy};
      ASSERT_TRUE(std::ranges::is_sorted(path) && path.front()) << stack.Text();
      waits += stack.ns;
      const auto wait = stack.Find("engine::Engine::Wait");
      const auto futex = stack.Find("futex_do_wait");
      const auto futex_call = stack.Find("__x64_sys_futex");
      if (stack.wait != v1::WAIT_LOCK || !wait || (!futex && !futex_call)) continue;
      EXPECT_LT(*numpy, *wait) << stack.Text();
      EXPECT_LT(*wait, futex.value_or(stack.frames.size())) << stack.Text();
      for_futex += stack.ns;
    }
  }
  EXPECT_GT(waits, 0u);
  // A page that has to be fetched first is a wait, too.
  EXPECT_GT(static_cast<double>(for_futex), 0.99 * static_cast<double>(waits));
}

void HuntTest::ExpectWorkersToWaitForTheDevice() const {
  std::uint64_t waits = 0;
  std::uint64_t for_lock = 0;
  for (int thread = 0; thread < profile_.threads_size(); ++thread) {
    if (IsMain(thread)) continue;
    for (const Stack& stack : stacks_[static_cast<std::size_t>(thread)]) {
      EXPECT_FALSE(std::ranges::count(stack.frames, v1::FRAME_PYTHON, &NamedFrame::kind))
          << stack.Text();
      if (!stack.Find("flock") || stack.state != v1::STATE_BLOCKED) continue;
      waits += stack.ns;
      const std::vector<std::optional<std::size_t>> path = {
          stack.Find("engine::topk"), stack.Find("engine::get_device_properties"),
          stack.Find("engine::device_ioctl"), stack.Find("flock"),
          stack.Find("locks_lock_inode_wait")};
      if (stack.wait != v1::WAIT_LOCK) continue;
      EXPECT_TRUE(std::ranges::is_sorted(path) && path.front()) << stack.Text();
      for_lock += stack.ns;
    }
  }
  EXPECT_GT(waits, 0u);
  EXPECT_GT(static_cast<double>(for_lock), 0.99 * static_cast<double>(waits));
}

// No thread but the worker of its process ends a main thread's waits in Tensor.numpy. What is not
// known says so: waits that last at the end, and wake-ups that were not captured.
void HuntTest::ExpectMainThreadsToWaitForTheirWorkers() const {
  ASSERT_TRUE(profile_.wakers());
  std::uint64_t waits = 0;
  std::uint64_t known = 0;
  for (int thread = 0; thread < profile_.threads_size(); ++thread) {
    if (!IsMain(thread)) continue;
    const std::uint32_t pid = ClocksOf(thread)["pid"];
    int sample = -1;
    for (const Stack& stack : stacks_[static_cast<std::size_t>(thread)]) {
      // Its samples come in the order of the profile's.
      do ++sample;
      while (profile_.samples().thread(sample) != static_cast<std::uint32_t>(thread));
      if (!stack.Find("Tensor.numpy") || stack.wait != v1::WAIT_LOCK) continue;
      waits += stack.ns;
      const v1::PathNode* first = nullptr;
      for (std::uint32_t at = profile_.samples().path(sample); at != 0; at = first->parent())
        first = &profile_.paths(static_cast<int>(at) - 1);
      if (first == nullptr || first->thread() == 0) continue;
      const v1::PathThread& waker = profile_.path_threads(static_cast<int>(first->thread()) - 1);
      EXPECT_EQ(waker.comm(), "engine-worker");
      EXPECT_EQ(waker.pid(), pid);
      known += stack.ns;
    }
  }
  EXPECT_GT(static_cast<double>(known), 0.9 * static_cast<double>(waits));
}

// What a person reads without a question: which threads wait, where, for what.
void HuntTest::ExpectSummaryAndPictureToSayIt() const {
  const auto outcome = Profctl({"export", File("x.json"), "-f", "summary"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string& text = outcome.out;
  EXPECT_THAT(text, HasSubstr("where the time goes: " + name_ + " x 8\n"));
  EXPECT_THAT(text, ContainsRegex("\n +[0-9.]+ % .*Tensor.numpy.* futex +lock\n"));
  EXPECT_THAT(text, HasSubstr("where the time goes: " + name_ + " x 8 / engine-worker\n"));
  EXPECT_THAT(text, ContainsRegex("\n +[0-9.]+ % .*get_device_properties.* flock +lock\n"));
  EXPECT_THAT(text, ContainsRegex("waits of " + name_ +
                                  " x 8 \\(8 threads, [0-9.]+ s blocked\\): on whom\n"));
  EXPECT_THAT(
      text, ContainsRegex("\n +[0-9.]+ %[ +0-9.-]* lock +engine-worker < .*get_device_properties"));
  const std::string picture = ReadFile(File("x.svg"));
  for (const char* const frame : {"Tensor.numpy (tensor.py:", "engine::get_device_properties"})
    EXPECT_THAT(picture, HasSubstr(frame));
}

// profctl waits shows the same of the running program as of the file. No thread but the workers
// ends waits of the main threads for locks, and the time of a group of waiters adds up.
void HuntTest::ExpectTheTableOfWaitsToSayIt() const {
  const auto of_file = Profctl({"waits", File("x.json"), "-f", "json"});
  for (const testing::Outcome& outcome : {of_file, live_}) {
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto table = nlohmann::json::parse(outcome.out);
    std::map<std::string, std::uint64_t> sums;
    std::map<std::string, std::uint64_t> blocked;
    std::uint64_t by_workers = 0;
    for (const auto& row : table["rows"]) {
      const std::string waiter = row["waiter"];
      sums[waiter] += row["ns"].get<std::uint64_t>();
      blocked[waiter] = row["waiter_blocked_ns"];
      const std::string by = row["ended_by"];
      if (waiter == "engine-worker" || row["reason"] != "lock") continue;
      if (by == "engine-worker") by_workers += row["ns"].get<std::uint64_t>();
      EXPECT_TRUE(by == "engine-worker" || by.starts_with('[')) << row;
    }
    EXPECT_GT(by_workers, 0u);
    EXPECT_EQ(sums, blocked);
    EXPECT_EQ(sums.size(), 2u) << "main threads and workers: " << outcome.out;
  }
}

TEST_F(HuntTest, OneCollectShowsBothEndsOfTheWait) {
  ASSERT_NO_FATAL_FAILURE(Collect());
  ExpectTheSharesOfTheProgramsClocks();
  ExpectThatStatesAddUp();
  ExpectMainThreadsToWaitInTheirPythonFrames();
  ExpectWorkersToWaitForTheDevice();
  ExpectMainThreadsToWaitForTheirWorkers();
  ExpectSummaryAndPictureToSayIt();
  ExpectTheTableOfWaitsToSayIt();
}

}  // namespace
}  // namespace profd::e2e
