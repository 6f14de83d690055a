// The service and the back-fill on live interpreters, without the BPF side.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/python/code/code_reader.h"
#include "daemon/python/feed/code_backfill.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/python/feed/registry.h"
#include "daemon/source/procfs/process_reader.h"
#include "daemon/wire/decoder.h"
#include "tests/root/python/truth_program.h"
#include "tests/support/direct_reader.h"
#include "tests/support/eventually.h"
#include "tests/support/interpreters.h"
#include "tests/support/paths.h"
#include "tests/support/raw_events.h"

namespace profd::python {
namespace {

using std::chrono::steady_clock;

// The map of the BPF side.
class KernelMap : public PythonProcesses {
 public:
  bool Put(std::uint32_t pid, std::span<const profd_python_process> runtimes) override {
    const std::scoped_lock lock(mutex_);
    processes_[pid] = {runtimes.begin(), runtimes.end()};
    first_counts_.try_emplace(pid, runtimes.size());
    return true;
  }
  void Remove(std::uint32_t pid) override {
    const std::scoped_lock lock(mutex_);
    processes_.erase(pid);
  }
  [[nodiscard]] bool Has(std::uint32_t pid) { return CountOf(pid) > 0; }
  [[nodiscard]] std::size_t CountOf(std::uint32_t pid) { return RuntimesOf(pid).size(); }
  // Runtimes that were reported to it first.
  [[nodiscard]] std::size_t FirstCountOf(std::uint32_t pid) {
    const std::scoped_lock lock(mutex_);
    return first_counts_[pid];
  }
  [[nodiscard]] std::vector<profd_python_process> RuntimesOf(std::uint32_t pid) {
    const std::scoped_lock lock(mutex_);
    const auto found = processes_.find(pid);
    return found == processes_.end() ? std::vector<profd_python_process>() : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<profd_python_process>> processes_;
  std::map<std::uint32_t, std::size_t> first_counts_;
};

profd_event HeaderOf(std::uint32_t pid) {
  const ProcFs proc;
  const auto stat = proc.Read(std::to_string(pid) + "/stat");
  profd_event header = test::RawHeader(5'000'000, pid, pid);
  header.process_start_ns = stat ? source::StartTicks(*stat).value_or(0) * 10'000'000 : 0;
  return header;
}

test::EventBytes ProcessEvent(const profd_event& header) {
  profd_process_event fixed{};
  fixed.event = header;
  return test::RawEventBytes(PROFD_EVENT_PROCESS, fixed);
}

test::EventBytes ForkEvent(const profd_event& parent, std::uint32_t child) {
  profd_task_event fork{};
  fork.event = HeaderOf(child);
  fork.event.flags = PROFD_TASK_NEW_PROCESS;
  fork.parent_pid = parent.pid;
  fork.parent_process_start_ns = parent.process_start_ns;
  return test::RawEventBytes(PROFD_EVENT_FORK, fork);
}

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int minor : test::WantedMinors())
      if (const auto found = test::FindInterpreters(minor); !found.empty())
        interpreter_ = found.front();
    if (interpreter_.empty()) GTEST_SKIP() << "no CPython 3.7 or later is installed";
  }
  KernelMap map_;
  FactQueue facts_;
  SystemClock clock_;
  budget::Shares searches_{PROFD_SHARE_PYTHON_SEARCHES, PythonService::kSearchesOfUser, clock_};
  test::DirectReaders readers_{std::make_unique<PythonParser>()};
  std::string interpreter_;
};

TEST_F(ServiceTest, FindsProcessesAndForgetsThem) {
  PythonService service(map_, facts_, readers_, searches_, ProcFs());
  const auto program = test::TruthProgram::Start(interpreter_);
  ASSERT_TRUE(program) << program.error().message;
  const profd_event header = HeaderOf(program->pid());
  service.See({ProcessEvent(header)});
  ASSERT_TRUE(test::Eventually([&] { return map_.Has(program->pid()); }));

  // A child is what its parent is, even where that ends first.
  const auto self = static_cast<std::uint32_t>(::getpid());
  service.See({ForkEvent(header, self)});
  EXPECT_TRUE(test::Eventually([&] { return map_.Has(self); }));
  // This program, executed, has no interpreter.
  service.See({test::RawTask(PROFD_EVENT_EXEC, HeaderOf(self), "x", "/x")});
  EXPECT_TRUE(test::Eventually([&] { return !map_.Has(self); }));

  profd_event end = header;
  end.flags = PROFD_TASK_LAST_THREAD;
  service.See({test::RawTask(PROFD_EVENT_EXIT, end, "x")});
  EXPECT_TRUE(test::Eventually([&] { return !map_.Has(program->pid()); }));
  EXPECT_EQ(service.counters().attached.value(), 2u);
}

// Children of one process, of which no reader has to say anything.
TEST_F(ServiceTest, ProcessesOfAUserLeaveRoomForOthers) {
  constexpr std::uint32_t kFirst = 5'000'000;
  constexpr std::uint32_t kOther = 6'000'000;
  PythonService service(map_, facts_, readers_, searches_, ProcFs(),
                        [](std::uint32_t pid) { return pid < kOther ? 1'000u : 2'000u; });
  const auto program = test::TruthProgram::Start(interpreter_);
  ASSERT_TRUE(program) << program.error().message;
  const profd_event header = HeaderOf(program->pid());
  service.See({ProcessEvent(header)});
  ASSERT_TRUE(test::Eventually([&] { return map_.Has(program->pid()); }));
  for (std::uint32_t i = 0; i < PythonService::kMaxOfUser + 100; ++i)
    service.See({ForkEvent(header, kFirst + i)});
  service.See({ForkEvent(header, kOther)});
  ASSERT_TRUE(test::Eventually([&] { return map_.Has(kOther); }));
  EXPECT_TRUE(map_.Has(kFirst + PythonService::kMaxOfUser - 2)) << "with its parent, the last one";
  EXPECT_FALSE(map_.Has(kFirst + PythonService::kMaxOfUser - 1));
  const auto beyond = searches_.Beyond();
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_EQ(beyond[0].key.id, 1'000u);
  // Who ends leaves room.
  profd_event end = HeaderOf(kFirst);
  end.flags = PROFD_TASK_LAST_THREAD;
  service.See({test::RawTask(PROFD_EVENT_EXIT, end, "x")});
  service.See({ForkEvent(header, kFirst + 1'000'000 - 1)});
  EXPECT_TRUE(test::Eventually([&] { return map_.Has(kFirst + 1'000'000 - 1); }));
}

// The kernel's report of the mappings as they are now, if they have changed.
void ReportMappings(PythonService& service, const profd_event& header, std::string& reported) {
  const auto maps = ProcFs().Read(std::to_string(header.pid) + "/maps");
  if (!maps || *maps == reported) return;
  reported = *maps;
  ParseMaps(*maps, [&](MapsLine&& line) {
    profd_mmap_event fixed{};
    fixed.event = header;
    fixed.event.process_start_ns = 0;
    fixed.address = line.start;
    fixed.bytes = line.end - line.start;
    fixed.file_offset = line.file_offset;
    fixed.inode = line.inode;
    fixed.prot = line.executable ? PROT_READ | PROT_EXEC : PROT_READ;
    service.See({test::RawEventBytes(PROFD_EVENT_MMAP, fixed)});
  });
}

TEST_F(ServiceTest, WaitsForTheInterpreterToStart) {
  PythonService service(map_, facts_, readers_, searches_, ProcFs());
  // It is reported before it has mapped the interpreter, or while that starts.
  auto program =
      testing::Subprocess::Start({interpreter_, "-c", "import sys; sys.stdin.readline()"});
  ASSERT_TRUE(program);
  const profd_event header = HeaderOf(static_cast<std::uint32_t>(program->pid()));
  service.See({ProcessEvent(header)});
  std::string reported;
  EXPECT_TRUE(test::Eventually([&] {
    ReportMappings(service, header, reported);
    return map_.Has(header.pid);
  }));
}

TEST_F(ServiceTest, RuntimesOfOneProcessToABound) {
  auto program = testing::Subprocess::Start(
      {interpreter_, test::SourceDirectory() + "/tests/root/python/runtimes.py", "5"});
  ASSERT_TRUE(program);
  const auto line = program->ReadLine();
  ASSERT_TRUE(line) << program->Wait().err;
  if (!line->starts_with("ready")) GTEST_SKIP() << interpreter_ << ": " << *line;
  PythonService service(map_, facts_, readers_, searches_, ProcFs());
  const profd_event header = HeaderOf(static_cast<std::uint32_t>(program->pid()));
  service.See({ProcessEvent(header)});
  EXPECT_TRUE(test::Eventually([&] {
    return map_.CountOf(header.pid) == PROFD_MAX_PYTHON_RUNTIMES &&
           !service.status().refused.empty();
  }));
  EXPECT_EQ(service.counters().attached.value(), 1u);
  std::set<std::int64_t> slots;
  for (const profd_python_process& runtime : map_.RuntimesOf(header.pid))
    slots.insert(runtime.slot);
  EXPECT_EQ(slots.size(), static_cast<std::size_t>(PROFD_MAX_PYTHON_RUNTIMES));

  const auto facts = facts_.TakeAll();
  ASSERT_FALSE(facts.empty());
  const auto& runtimes = facts.back().runtimes;
  ASSERT_EQ(runtimes.size(), static_cast<std::size_t>(PROFD_MAX_PYTHON_RUNTIMES));
  EXPECT_NE(runtimes[0].reason.find("another interpreter of the process"), std::string::npos);
  std::set<std::uint64_t> modules;
  for (const RuntimeFacts& runtime : runtimes) modules.insert(runtime.module.begin);
  EXPECT_EQ(modules.size(), runtimes.size());

  // Meanwhile the BPF side would miss those that come later.
  const auto child = static_cast<std::uint32_t>(::getpid());
  service.See({ForkEvent(header, child)});
  EXPECT_TRUE(test::Eventually([&] { return map_.Has(child); }));
  EXPECT_EQ(map_.FirstCountOf(child), static_cast<std::size_t>(PROFD_MAX_PYTHON_RUNTIMES));
  profd_event end = header;
  end.flags = PROFD_TASK_LAST_THREAD;
  service.See({test::RawTask(PROFD_EVENT_EXIT, end, "x")});
  EXPECT_TRUE(test::Eventually([&] { return !map_.Has(header.pid); }));
}

TEST_F(ServiceTest, CodeIsReportedOnceAndBeforeItsSample) {
  const auto program = test::TruthProgram::Start(interpreter_);
  ASSERT_TRUE(program) << program.error().message;
  auto attachment = program->Attach();
  ASSERT_TRUE(attachment) << attachment.error().message;
  const profd_event header = HeaderOf(program->pid());
  const ProcessKey key{header.pid, header.process_start_ns};
  CodeReader reader(program->memory(), attachment->layout);
  const std::uint32_t version = attachment->layout.version;
  ASSERT_TRUE(facts_.Push(
      {key, {{version, std::make_shared<const Attachment>(*attachment), "", attachment->module}}}));

  const auto& chain = program->truth()["threads"][0]["chain"];
  std::vector<std::uint64_t> words;
  for (const auto& frame : chain) {
    const auto code = frame["code"].get<std::uint64_t>();
    words.push_back(code);
    words.push_back(std::uint64_t{reader.Validate(code).value_or(0)} << 32);
  }
  words.push_back(words[0]);
  words.push_back((words[1] ^ 1ull << 32));  // another code object was there
  words.push_back(0x7ffc0000 | PROFD_PYTHON_ANCHOR);
  profd_sample_event sample{};
  sample.event = header;
  sample.event.time_ns = 9'000'000;
  sample.syscall = -1;
  sample.period_ns = 1;
  sample.python_flags = PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD;
  sample.python_words = static_cast<__u16>(words.size());
  const auto bytes = test::RawEventBytes(PROFD_EVENT_ON_CPU, sample, test::RawNumbers(words));

  const SystemClock clock;
  CodeShares shares(clock);
  CodeBackfill backfill(facts_, readers_, clock, shares);
  Registry registry;
  wire::Decoder decoder;
  std::vector<wire::Event> events;
  const auto sink = [&](const wire::RawEvent& event) {
    auto decoded = decoder.Decode(event);
    ASSERT_TRUE(decoded) << decoded.error().message;
    registry.Observe(*decoded);
    events.push_back(*std::move(decoded));
  };
  backfill.BeginRound();
  backfill.Pass({bytes}, sink);
  backfill.EndRound(sink);
  std::set<std::uint64_t> distinct;
  for (const auto& frame : chain) distinct.insert(frame["code"].get<std::uint64_t>());
  ASSERT_EQ(events.size(), distinct.size() + 3);  // process, stale, sample
  EXPECT_TRUE(std::holds_alternative<wire::PythonProcessEvent>(events.front()));
  const auto sample_at = std::ranges::find_if(events, [](const wire::Event& event) {
    return std::holds_alternative<wire::StackEvent>(event);
  });
  ASSERT_NE(sample_at, events.end());
  const auto frames = std::get<wire::StackEvent>(*sample_at).python;
  for (const wire::Event& event : events) {
    const auto* code = std::get_if<wire::PythonCodeEvent>(&event);
    EXPECT_TRUE(code == nullptr || code->header.time_ns < sample.event.time_ns);
  }
  backfill.Pass({bytes}, sink);
  backfill.EndRound(sink);
  EXPECT_EQ(events.size(), distinct.size() + 4);
  EXPECT_EQ(backfill.counters().stale.value(), 1u);

  ASSERT_EQ(registry.RuntimesOf(key).size(), 1u);
  EXPECT_EQ(registry.RuntimesOf(key).front().version, version);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto described = registry.Describe(key, frames.at(i));
    const auto name = chain[i]["name"].get<std::string>();
    EXPECT_NE(described.function->name.find(name), std::string::npos) << name;
    EXPECT_EQ(described.function->file, chain[i]["file"].get<std::string>());
  }
  EXPECT_EQ(registry.Describe(key, frames.at(chain.size())).function->name, "<stale>");
}

}  // namespace
}  // namespace profd::python
