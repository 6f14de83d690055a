// profctl dump of programs that know where each of their threads stands, and its errors.
#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/running_daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/interpreters.h"
#include "tests/support/paths.h"

namespace profd::e2e {
namespace {

using nlohmann::json;

// A thread that has come to its CPU a moment ago has no sample yet: the test requests that
// again, so often.
constexpr int kAttempts = 50;

const json* FindThread(const json& process, const json& tid) {
  for (const auto& thread : process["threads"])
    if (thread["tid"] == tid) return &thread;
  return nullptr;
}

// Index of a frame, leaf first; the stack's length if it is not there.
std::size_t Place(const json& thread, const std::string& name, const std::string& kind) {
  const json& stack = thread["stack"];
  std::size_t index = 0;
  while (index < stack.size() && !(stack[index]["name"] == name && stack[index]["kind"] == kind))
    ++index;
  return index;
}

bool Has(const json& thread, const std::string& name, const std::string& kind) {
  return Place(thread, name, kind) < thread["stack"].size();
}

// The number of the system call that a thread sleeps in; "" when it does not.
std::string SyscallOf(int pid, const json& tid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid.get<int>()) +
                   "/syscall");
  std::string word;
  in >> word;
  return word;
}

class DumpTest : public RunningDaemonTest {
 protected:
  void BeginWithDaemon() {
    auto daemon = StartDaemon();
    ASSERT_TRUE(daemon.has_value());
    daemon_.emplace(std::move(*daemon));
    options_.environment["PROFD_HOST"] = host_;
  }

  // What the program says of its threads.
  void StartProgram(const std::vector<std::string>& command) {
    auto program = testing::Subprocess::Start(command, options_);
    ASSERT_TRUE(program.ok());
    const auto line = program->ReadLine();
    ASSERT_TRUE(line.ok()) << line.error().message;
    truth_ = json::parse(*line)["threads"];
    program_.emplace(std::move(*program));
  }

  // The process of a dump of the program.
  [[nodiscard]] json Dump(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"dump", "--json", "-p", std::to_string(program_->pid())};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = Profctl(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const json dump = json::parse(outcome.out, nullptr, false);
    EXPECT_EQ(dump.value("format", ""), "profd-dump") << outcome.out;
    if (!dump.contains("processes") || dump["processes"].size() != 1) {
      ADD_FAILURE() << outcome.out;
      return json{{"threads", json::array()}};
    }
    return dump["processes"][0];
  }

  // Asks again until the thread that computes has a stack, or waits for a CPU with one.
  [[nodiscard]] json DumpWithStackOf(const json& tid) const {
    json process;
    for (int left = kAttempts; left > 0; --left) {
      process = Dump();
      const json* thread = FindThread(process, tid);
      if (thread == nullptr || !(*thread)["stack"].empty()) break;
      EXPECT_TRUE(thread->contains("no_stack")) << *thread;
    }
    return process;
  }

  json truth_;
  std::optional<testing::Subprocess> program_;
  std::optional<testing::Subprocess> daemon_;
};

TEST_F(DumpTest, ShowsWhereEveryThreadIsAndWhy) {
  BeginWithDaemon();
  StartProgram({TestProgram("parked")});
  const json* computing = &truth_.back();
  ASSERT_EQ((*computing)["wait"], "");
  const json process = DumpWithStackOf((*computing)["tid"]);
  EXPECT_EQ(process["threads"].size(), truth_.size());
  EXPECT_FALSE(process.contains("gil_holder"));
  for (const json& place : truth_) {
    const json* thread = FindThread(process, place["tid"]);
    ASSERT_NE(thread, nullptr) << place;
    SCOPED_TRACE(place.dump() + "\n" + thread->dump(1));
    const std::string wait = place["wait"];
    if (wait.empty()) {
      EXPECT_TRUE((*thread)["state"] == "on_cpu" || (*thread)["state"] == "runnable");
    } else {
      EXPECT_EQ((*thread)["state"], "blocked");
      EXPECT_EQ((*thread)["wait"], wait);
      EXPECT_LE((*thread)["since_ns"], (*thread)["seen_ns"]);
      EXPECT_EQ((*thread)["stack"][0]["kind"], "kernel");
    }
    const std::string function = place["function"];
    if (function.empty()) continue;
    EXPECT_TRUE(Has(*thread, function, "native"));
    EXPECT_EQ(Place(*thread, "parked::Enters", "native"), Place(*thread, function, "native") + 1);
  }
}

TEST_F(DumpTest, NamesWhoHoldsAMutexAndReportsDeadlocks) {
  BeginWithDaemon();
  StartProgram({TestProgram("deadlock")});
  const auto outcome = Profctl({"dump", "--json", "-p", std::to_string(program_->pid())});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json dump = json::parse(outcome.out);
  for (const json& place : truth_) {
    const json* thread = FindThread(dump["processes"][0], place["tid"]);
    ASSERT_NE(thread, nullptr) << place;
    EXPECT_EQ(thread->value("owner", 0u), place["owner"].get<unsigned>()) << thread->dump(1);
  }
  const json left = truth_[0]["tid"];
  const json right = truth_[1]["tid"];
  EXPECT_EQ(dump["deadlocks"],
            json::array({json::array({std::min(left, right), std::max(left, right)})}));
  const auto text = Profctl({"dump", "-p", std::to_string(program_->pid())});
  const bool left_first = left < right;
  const std::string one = to_string(left) + " left";
  const std::string other = to_string(right) + " right";
  const std::string first = left_first ? one : other;
  const std::string second = left_first ? other : one;
  EXPECT_NE(text.out.find("deadlock: " + first + " waits for " + second + ", " + second +
                          " waits for " + first + "\n"),
            std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("waits for " + to_string(truth_[2]["tid"]) +
                          " sleeper, which holds the lock and waits: sleep\n"),
            std::string::npos)
      << text.out;
}

// The first dump of a daemon shows them, too: the labels of a process are found before its stacks
// are taken.
TEST_F(DumpTest, ShowsWhatThreadsHavePublished) {
  BeginWithDaemon();
  StartProgram({"/usr/bin/python3", test::SourceDirectory() + "/tests/e2e/dump/labelled.py",
                test::BinaryDirectory() + "/deploy"});
  const json process = Dump();
  EXPECT_EQ(process["threads"].size(), truth_.size() + 1);
  for (const json& place : truth_) {
    const json* thread = FindThread(process, place["tid"]);
    ASSERT_NE(thread, nullptr) << place;
    EXPECT_EQ(thread->value("labels", json::object()), place["labels"]) << thread->dump(1);
  }
  const auto text = Profctl({"dump", "-p", std::to_string(program_->pid())});
  EXPECT_NE(text.out.find("\n    labels: phase=load, step=7\n"), std::string::npos) << text.out;
}

// The host's tids of a process's threads, by those that it sees itself.
std::map<int, int> TidsOfHost(int pid) {
  std::map<int, int> tids;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream status(task.path() / "status");
    std::string line;
    while (std::getline(status, line))
      if (line.starts_with("NSpid:"))
        tids[std::stoi(line.substr(line.find_last_of(" \t") + 1))] =
            std::stoi(task.path().filename());
  }
  return tids;
}

TEST_F(DumpTest, NamesWhoHoldsAMutexInAnotherPidNamespace) {
  BeginWithDaemon();
  StartProgram(
      {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", TestProgram("deadlock")});
  const std::string outside = std::to_string(program_->pid());
  std::ifstream children("/proc/" + outside + "/task/" + outside + "/children");
  int pid = 0;
  ASSERT_TRUE(children >> pid);
  const std::map<int, int> tids = TidsOfHost(pid);
  const auto outcome = Profctl({"dump", "--json", "-p", std::to_string(pid)});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json dump = json::parse(outcome.out);
  std::size_t owned = 0;
  for (const json& place : truth_) {
    const json* thread = FindThread(dump["processes"][0], tids.at(place["tid"].get<int>()));
    ASSERT_NE(thread, nullptr) << place;
    const int owner = place["owner"].get<int>();
    EXPECT_EQ(thread->value("owner", 0), owner == 0 ? 0 : tids.at(owner)) << thread->dump(1);
    if (owner != 0) ++owned;
  }
  EXPECT_GE(owned, 3u);
  EXPECT_EQ(dump["deadlocks"].size(), 1u);
}

TEST_F(DumpTest, TextAndJsonAgree) {
  BeginWithDaemon();
  StartProgram({TestProgram("parked")});
  const auto text = Profctl({"dump", "-p", std::to_string(program_->pid())});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  for (const json& place : truth_) {
    EXPECT_NE(text.out.find("thread " + std::to_string(place["tid"].get<int>()) + " "),
              std::string::npos)
        << text.out;
    const std::string wait = place["wait"];
    if (wait.empty() || place["function"] == "") continue;
    // All but a fault wait in a system call.
    const std::string end = wait == "fault" ? "\n" : " (";
    EXPECT_NE(text.out.find(" " + wait + end), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("    " + place["function"].get<std::string>() + " ("),
              std::string::npos)
        << text.out;
  }
}

TEST_F(DumpTest, OneThreadOfMany) {
  BeginWithDaemon();
  StartProgram({TestProgram("parked")});
  const json& place = truth_[1];
  const auto outcome = Profctl({"dump", "--json", "-t", std::to_string(place["tid"].get<int>())});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json process = json::parse(outcome.out)["processes"][0];
  EXPECT_EQ(process["pid"], program_->pid());
  ASSERT_EQ(process["threads"].size(), 1u);
  EXPECT_TRUE(Has(process["threads"][0], place["function"], "native"));
}

TEST_F(DumpTest, StartsAPrivateDaemonWhereNoneRuns) {
  StartProgram({TestProgram("parked")});
  const json process = Dump();
  EXPECT_EQ(process["threads"].size(), truth_.size());
}

TEST_F(DumpTest, ThreadsOfTheKernelHaveKernelFramesOnly) {
  BeginWithDaemon();
  const auto outcome = Profctl({"dump", "--json", "-p", "2"});
  if (outcome.exit_code == 3) GTEST_SKIP() << "no kernel threads are seen from here";
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json threads = json::parse(outcome.out)["processes"][0]["threads"];
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0]["name"], "kthreadd");
  for (const json& frame : threads[0]["stack"]) EXPECT_EQ(frame["kind"], "kernel");
}

TEST_F(DumpTest, ErrorsSayWhatIsWrong) {
  const auto expect = [&](std::vector<std::string> arguments, int code, const std::string& what) {
    const auto outcome = Profctl(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
    EXPECT_LE(std::ranges::count(outcome.err, '\n'), 3) << outcome.err;
  };
  expect({"dump"}, 2, "-p PID");
  expect({"dump", "-p", "banana"}, 2, "banana");
  expect({"dump", "-p", "1", "-t", "1"}, 2, "both");
  expect({"dump", "-p", "4194304"}, 3, "no such process");
  expect({"dump", "--host", "unix:" + File("none.sock"), "-p", "1"}, 4, "none.sock");
  BeginWithDaemon();
  expect({"dump", "-p", "4194304"}, 3, "4194304");
  options_.environment["PROFD_HOST"] = "";
  options_.uid = options_.gid = 65534;
  expect({"dump", "-p", "1"}, 5, "root");
}

class PythonDumpTest : public DumpTest, public ::testing::WithParamInterface<int> {
 protected:
  // When they have read their byte they want the GIL, for as long as the program runs.
  void LetWaitersWantTheGil() {
    std::size_t waiters = 0;
    for (const json& place : truth_) waiters += place["wait"] == "gil" ? 1 : 0;
    program_->WriteInput(std::string(waiters, 'x'));
    for (const json& place : truth_) {
      if (place["wait"] != "gil") continue;
      const auto waits = [&] {
        return SyscallOf(program_->pid(), place["tid"]) == "202";
      };  // futex
      ASSERT_TRUE(test::Eventually(waits)) << place;
    }
  }

  void Check(const json& process) {
    EXPECT_EQ(process["threads"].size(), truth_.size());
    for (const json& place : truth_) {
      const json* thread = FindThread(process, place["tid"]);
      ASSERT_NE(thread, nullptr) << place;
      SCOPED_TRACE(place.dump() + "\n" + thread->dump(1));
      const std::string wait = place["wait"];
      const std::string function = place["function"];
      EXPECT_EQ((*thread)["python"], true);
      const char* const gil = wait.empty() ? "held" : wait == "gil" ? "waited" : "not held";
      EXPECT_EQ((*thread)["gil"], gil);
      if (wait.empty()) {
        EXPECT_EQ(process["gil_holder"], place["tid"]);
        EXPECT_TRUE((*thread)["state"] == "on_cpu" || (*thread)["state"] == "runnable");
      } else {
        EXPECT_EQ((*thread)["state"], "blocked");
        EXPECT_EQ((*thread)["wait"], wait);
        // What it called stands before it.
        EXPECT_EQ((*thread)["stack"][0]["kind"], "kernel");
      }
      EXPECT_FALSE(thread->contains("merge_failed"));
      ASSERT_TRUE(Has(*thread, function, "python"));
      EXPECT_LT(Place(*thread, function, "python"), Place(*thread, "enter", "python"));
      EXPECT_TRUE(Has(*thread, "enter", "python"));
    }
  }
};

TEST_P(PythonDumpTest, ShowsWhoHoldsTheGilAndWhoWaitsForIt) {
  const auto interpreters = test::FindInterpreters(GetParam());
  if (interpreters.empty()) GTEST_SKIP() << "no CPython 3." << GetParam() << " on this machine";
  BeginWithDaemon();
  for (const std::string& interpreter : interpreters) {
    SCOPED_TRACE(interpreter);
    std::ofstream(File("taken")) << '\0';
    ASSERT_NO_FATAL_FAILURE(StartProgram(
        {interpreter, test::SourceDirectory() + "/tests/e2e/dump/threads.py", File("taken")}));
    ASSERT_TRUE(test::Eventually([this] { return ReadFile(File("taken")).front() != '\0'; }));
    ASSERT_NO_FATAL_FAILURE(LetWaitersWantTheGil());
    const json process = DumpWithStackOf(truth_.back()["tid"]);
    Check(process);
    EXPECT_EQ(process["gil_waiters"], 2);
    EXPECT_TRUE(
        process["python"].get<std::string>().starts_with("3." + std::to_string(GetParam()) + "."))
        << process["python"];
    program_->Signal(SIGKILL);
    program_.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(CPython3, PythonDumpTest, ::testing::ValuesIn(test::WantedMinors()));

}  // namespace
}  // namespace profd::e2e
