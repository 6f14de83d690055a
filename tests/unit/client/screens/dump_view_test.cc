#include "client/screens/dump/dump_view.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "client/profile/check_profile.h"
#include "client/screens/dump/dump_facts.h"
#include "client/screens/json/screen_json.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kMostInJson = 9'007'199'254'740'991;  // 2^53 - 1

constexpr std::uint64_t kMs = 1'000'000;

std::uint32_t AddFrame(v1::Dump& dump, v1::FrameKind kind, const std::string& name,
                       const std::string& file = "", std::uint32_t line = 0) {
  v1::Frame& frame = *dump.add_frames();
  frame.set_kind(kind);
  frame.set_name(name);
  frame.set_file(file);
  frame.set_line(line);
  return static_cast<std::uint32_t>(dump.frames_size() - 1);
}

v1::DumpThread& AddThread(v1::Dump& dump, std::uint32_t tid, v1::State state) {
  v1::DumpThread& thread = *dump.add_threads();
  thread.set_tid(tid);
  thread.set_comm("worker");
  thread.set_state(state);
  thread.set_since_ns(100 * kMs);
  thread.set_seen_ns(112 * kMs);
  thread.set_stack_ns(112 * kMs);
  return thread;
}

// One thread runs with the GIL, two wait for it with one stack, one has none.
v1::Dump Sample() {
  v1::Dump dump;
  v1::Process& process = *dump.add_processes();
  process.set_pid(42);
  process.set_command_line("python3 \x1b[2Jtrain.py");
  process.set_python("3.12.1");
  dump.set_took_ns(128'000);
  const auto futex = AddFrame(dump, v1::FRAME_KERNEL, "futex_wait");
  const auto cond = AddFrame(dump, v1::FRAME_NATIVE, "pthread_cond_timedwait", "cond.c", 7);
  const auto eval = AddFrame(dump, v1::FRAME_NATIVE, "eval");
  dump.mutable_frames(static_cast<int>(eval))->set_interpreter(true);
  const auto step = AddFrame(dump, v1::FRAME_PYTHON, "step", "/srv/train.py", 88);
  v1::DumpThread& running = AddThread(dump, 42, v1::STATE_ON_CPU);
  running.set_stack_ns(111 * kMs);
  running.set_python(true);
  running.set_gil(v1::GIL_HELD);
  running.add_frame(step);
  for (const std::uint32_t tid : {43u, 44u}) {
    v1::DumpThread& waiting = AddThread(dump, tid, v1::STATE_BLOCKED);
    waiting.set_wait(v1::WAIT_GIL);
    waiting.set_gil(v1::GIL_WAITED);
    waiting.set_in_syscall(true);
    waiting.set_syscall(202);
    waiting.add_syscall_arg(0x7f12a0);
    for (const auto frame : {futex, cond, eval, step}) waiting.add_frame(frame);
  }
  v1::DumpThread& none = AddThread(dump, 45, v1::STATE_ON_CPU);
  none.set_stack_ns(0);
  none.set_no_stack("it came to a CPU a moment ago");
  return dump;
}

TEST(DumpViewTest, LabelsStandBelowTheirThread) {
  v1::Dump dump = Sample();
  for (const auto& [name, value] : {std::pair("phase", "load"), std::pair("step", "7\n")}) {
    v1::Label& label = *dump.mutable_threads(0)->add_label();
    label.set_name(name);
    label.set_value(value);
  }
  EXPECT_NE(RenderDump(dump, {.width = 0})
                .find("holds the GIL\n    labels: phase=load, step=7?\n    step (train.py:88)\n"),
            std::string::npos);
}

TEST(DumpViewTest, LeafFirstEqualStacksOnceAndWhoHoldsTheGil) {
  EXPECT_EQ(RenderDump(Sample(), {.width = 0}),
            "python3 ?[2Jtrain.py (42)\n"
            "CPython 3.12.1, 4 threads, all seen within 128 us, nothing was stopped\n"
            "GIL: held by 42 worker, waited for by 2 threads\n"
            "\n"
            "thread 42 worker  running 12.0 ms    stack of 1.00 ms before, holds the GIL\n"
            "    step (train.py:88)\n"
            "\n"
            "thread 43 worker  blocked 12.0 ms    gil (futex 0x7f12a0)\n"
            "thread 44 worker  blocked 12.0 ms    gil (futex 0x7f12a0)\n"
            "        futex_wait_[k]\n"
            "        pthread_cond_timedwait (cond.c:7)\n"
            "    step (train.py:88)\n"
            "\n"
            "thread 45 worker  running 12.0 ms\n"
            "    [running: no stack: it came to a CPU a moment ago]\n");
}

TEST(DumpViewTest, AThreadThatWaitsWithACpuInHandSpins) {
  v1::Dump dump = Sample();
  dump.mutable_threads(0)->mutable_rule()->set_frame_class(v1::CLASS_SPIN);
  dump.mutable_threads(0)->mutable_rule()->set_place("rules.toml:12");
  EXPECT_NE(RenderDump(dump, {.width = 0}).find("thread 42 worker  spinning 12.0 ms   stack of"),
            std::string::npos);
  auto threads = nlohmann::json::parse(DumpJson(dump, {}))["processes"][0]["threads"];
  EXPECT_EQ(threads[0]["state"], "on_cpu");
  EXPECT_EQ(threads[0]["spinning"], true);
  EXPECT_EQ(threads[0]["rule"], "rules.toml:12");
  dump.mutable_threads(0)->mutable_rule()->set_frame_class(v1::CLASS_COPY);
  EXPECT_NE(RenderDump(dump, {.width = 0}).find("thread 42 worker  running"), std::string::npos);
  threads = nlohmann::json::parse(DumpJson(dump, {}))["processes"][0]["threads"];
  EXPECT_FALSE(threads[0].contains("spinning"));
}

TEST(DumpViewTest, EachRuntimeHasItsGil) {
  v1::Dump dump = Sample();
  v1::DumpThread& second = AddThread(dump, 46, v1::STATE_ON_CPU);
  second.set_gil(v1::GIL_HELD);
  second.set_seen_ns(113 * kMs);
  EXPECT_NE(RenderDump(dump, {.width = 0}).find("GIL: held by 46 worker, waited"),
            std::string::npos)
      << "it was given on while threads were looked at";
  dump.mutable_processes(0)->set_python("3.12.1 + 3.11.7");
  EXPECT_NE(RenderDump(dump, {.width = 0})
                .find("GIL: held by 42 worker, another by 46 worker, waited for by 2 threads"),
            std::string::npos);
}

TEST(DumpViewTest, ShowsInterpreterFramesOnDemandAndCutsToTheWidth) {
  const std::string text = RenderDump(Sample(), {.width = 24, .interpreter_frames = true});
  EXPECT_NE(text.find("\n        eval\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("pthread_cond_timedwait"), std::string::npos) << text;
}

TEST(DumpViewTest, JsonSaysTheSame) {
  const auto dump = nlohmann::json::parse(DumpJson(Sample(), {}));
  const auto& process = dump["processes"][0];
  EXPECT_EQ(process["python"], "3.12.1");
  EXPECT_EQ(process["gil_holder"], 42);
  EXPECT_EQ(process["gil_waiters"], 2);
  const auto& waiting = process["threads"][1];
  EXPECT_EQ(waiting["state"], "blocked");
  EXPECT_EQ(waiting["wait"], "gil");
  EXPECT_EQ(waiting["syscall"]["name"], "futex");
  EXPECT_EQ(waiting["stack"].size(), 3u);
  EXPECT_EQ(waiting["stack"][2]["name"], "step");
  EXPECT_EQ(waiting["stack"][2]["line"], 88);
  EXPECT_EQ(process["threads"][3]["no_stack"], "it came to a CPU a moment ago");
}

TEST(DumpViewTest, SaysWhichStacksGoOnByFramePointer) {
  v1::Dump dump = Sample();
  dump.mutable_threads(1)->set_stack_flags(32);
  dump.mutable_threads(2)->set_stack_flags(32 + 128);
  dump.mutable_threads(2)->set_uncertain_from(3);  // the interpreter's frame before it is not shown
  const std::string text = RenderDump(dump, {.width = 0});
  const std::string certain =
      "        futex_wait_[k]\n"
      "        pthread_cond_timedwait (cond.c:7)\n";
  EXPECT_NE(text.find("thread 43 worker  blocked 12.0 ms    gil (futex 0x7f12a0)\n" + certain +
                      "    step (train.py:88)\n"
                      "\n"
                      "thread 44 worker  blocked 12.0 ms    gil (futex 0x7f12a0)\n" +
                      certain +
                      "    [by frame pointer from here on, where code has no unwind rules: callers "
                      "beyond may be wrong or missing]\n"
                      "    step (train.py:88)\n"),
            std::string::npos)
      << text;
  const auto threads = nlohmann::json::parse(DumpJson(dump, {}))["processes"][0]["threads"];
  EXPECT_FALSE(threads[1].contains("by_frame_pointer"));
  EXPECT_EQ(threads[2]["by_frame_pointer"], true);
  EXPECT_FALSE(threads[2]["stack"][1].contains("by_frame_pointer"));
  EXPECT_EQ(threads[2]["stack"][2]["by_frame_pointer"], true);
}

TEST(DumpViewTest, InJsonOnlyNumbersThatADoubleHoldsAreNumbers) {
  v1::Dump dump = Sample();
  dump.set_time_ns(kMostInJson);
  dump.set_time_unix_ns(1'793'187'112'000'000'001);
  auto& waiting = *dump.mutable_threads(1);
  waiting.clear_syscall_arg();
  waiting.add_syscall_arg(kMostInJson + 1);
  waiting.add_syscall_arg(~std::uint64_t{0});
  const auto json = nlohmann::json::parse(DumpJson(dump, {}));
  EXPECT_EQ(json["time_ns"], kMostInJson);
  EXPECT_EQ(json["time_unix_ns"], "1793187112000000001");
  EXPECT_EQ(json["processes"][0]["threads"][1]["syscall"]["arguments"],
            nlohmann::json({"9007199254740992", "18446744073709551615"}));
}

TEST(DumpViewTest, ADumpThatPointsNowhereIsRefused) {
  EXPECT_TRUE(CheckDump(Sample()).ok());
  v1::Dump dump = Sample();
  dump.mutable_threads(1)->add_frame(99);
  EXPECT_FALSE(CheckDump(dump).ok());
  dump = Sample();
  dump.mutable_threads(0)->set_process(1);
  EXPECT_FALSE(CheckDump(dump).ok());
}

TEST(DumpViewTest, SystemCallsSayWhatIsWaitedFor) {
  const auto text = [](std::uint32_t number, std::uint64_t first) {
    v1::DumpThread thread;
    thread.set_in_syscall(true);
    thread.set_syscall(number);
    thread.add_syscall_arg(first);
    return SyscallText(thread);
  };
  EXPECT_EQ(text(SYS_futex, 0x7f12a0), "futex 0x7f12a0");
  EXPECT_EQ(text(SYS_ioctl, 7), "ioctl fd 7");
  EXPECT_EQ(text(SYS_epoll_wait, 3), "epoll_wait fd 3");
  EXPECT_EQ(text(SYS_wait4, 12), "wait4 pid 12");
  EXPECT_EQ(text(SYS_wait4, ~0ull), "wait4");
  EXPECT_EQ(text(SYS_nanosleep, 0x7f12a0), "nanosleep");
  EXPECT_EQ(text(SYS_getrandom, 0x7f12a0), "getrandom");
  EXPECT_EQ(text(4711, 0), "syscall 4711");
  EXPECT_EQ(text(0xffffffff, 0), "syscall 4294967295");
  EXPECT_EQ(SyscallText(v1::DumpThread()), "");
}

// Threads that wait for the lock of the next one, by index; -1: for none.
v1::Dump WaitingFor(const std::vector<int>& owners) {
  v1::Dump dump;
  dump.add_processes()->set_pid(42);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    v1::DumpThread& thread = AddThread(dump, 50 + static_cast<std::uint32_t>(i), v1::STATE_BLOCKED);
    thread.set_comm("t" + std::to_string(i));
    thread.set_wait(v1::WAIT_LOCK);
    thread.set_owner(static_cast<std::uint32_t>(owners[i] + 1));
  }
  return dump;
}

std::vector<std::uint32_t> TidsOf(const std::vector<const v1::DumpThread*>& threads) {
  std::vector<std::uint32_t> tids;
  for (const v1::DumpThread* thread : threads) tids.push_back(thread->tid());
  return tids;
}

TEST(DumpViewTest, FollowsHoldersToTheEnd) {
  const v1::Dump dump = WaitingFor({1, 2, -1});
  EXPECT_EQ(TidsOf(HoldersOf(dump, dump.threads(0))), (std::vector<std::uint32_t>{51, 52}));
  EXPECT_TRUE(HoldersOf(dump, dump.threads(2)).empty());
  EXPECT_TRUE(Deadlocks(dump).empty());
  EXPECT_NE(
      RenderDump(dump, {}).find(
          "    waits for 51 t1, which holds the lock, which waits for 52 t2 and waits: lock\n"),
      std::string::npos)
      << RenderDump(dump, {});
}

TEST(DumpViewTest, ReportsEachCircleOnce) {
  // Three in a circle, one that waits for it, and two in another one.
  const v1::Dump dump = WaitingFor({1, 2, 0, 1, 5, 4});
  const auto deadlocks = Deadlocks(dump);
  ASSERT_EQ(deadlocks.size(), 2u);
  EXPECT_EQ(TidsOf(deadlocks[0]), (std::vector<std::uint32_t>{50, 51, 52}));
  EXPECT_EQ(TidsOf(deadlocks[1]), (std::vector<std::uint32_t>{54, 55}));
  const std::string text = RenderDump(dump, {});
  EXPECT_TRUE(
      text.starts_with("deadlock: 50 t0 waits for 51 t1, 51 t1 waits for 52 t2, "
                       "52 t2 waits for 50 t0\n"))
      << text;
  const auto json = nlohmann::json::parse(DumpJson(dump, {}));
  EXPECT_EQ(json["deadlocks"], nlohmann::json::parse("[[50,51,52],[54,55]]"));
  EXPECT_EQ(json["processes"][0]["threads"][3]["owner"], 51);
}

TEST(DumpViewTest, AnOwnerThatIsNotThereIsDamage) {
  EXPECT_FALSE(CheckDump(WaitingFor({7})));
  EXPECT_TRUE(CheckDump(WaitingFor({0})));
}

}  // namespace
}  // namespace profd::client
