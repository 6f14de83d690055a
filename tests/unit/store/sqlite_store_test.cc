#include "daemon/store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "daemon/store/api/memory_store.h"
#include "tests/unit/store/store_fixture.h"
#include "tests/unit/store/window_maker.h"

namespace profd::store {
namespace {

using aggregate::Profile;

class SqliteStoreTest : public StoreFixture {};

// What both stores say of the same question must be the same.
void ExpectEqual(const Result<Profile>& got, const Result<Profile>& expected,
                 std::uint64_t tolerance_ns, bool whole_states = true) {
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_TRUE(expected.ok());
  EXPECT_TRUE(!whole_states || TruthOf(*got) == TruthOf(*expected));
  EXPECT_EQ(DifferenceOf(StacksOf(*got), StacksOf(*expected), tolerance_ns), "");
  EXPECT_EQ(got->wakers, expected->wakers);
  EXPECT_EQ(DifferenceOf(PathsOf(*got), PathsOf(*expected), tolerance_ns), "");
  EXPECT_EQ(WakeUpsOf(*got), WakeUpsOf(*expected));
  EXPECT_EQ(got->end_ns - got->start_ns, expected->end_ns - expected->start_ns);
  EXPECT_EQ(got->start_unix_ns, expected->start_unix_ns);
  EXPECT_EQ(got->host, expected->host);
  EXPECT_EQ(got->target, expected->target);
  EXPECT_EQ(got->on_cpu_period_ns, expected->on_cpu_period_ns);
  ASSERT_EQ(got->periods.size(), expected->periods.size());
  for (std::size_t i = 0; i < got->periods.size(); ++i) {
    EXPECT_EQ(got->periods[i].time_ns, expected->periods[i].time_ns);
    EXPECT_EQ(got->periods[i].on_cpu_period_ns, expected->periods[i].on_cpu_period_ns);
    EXPECT_EQ(got->periods[i].off_cpu_period_ns, expected->periods[i].off_cpu_period_ns);
  }
  EXPECT_EQ(got->cost.daemon_cpu_ns, expected->cost.daemon_cpu_ns);
  ASSERT_EQ(got->lost.size(), expected->lost.size());
  for (std::size_t i = 0; i < got->lost.size(); ++i) {
    EXPECT_EQ(got->lost[i].text, expected->lost[i].text);
    EXPECT_EQ(got->lost[i].count, expected->lost[i].count);
  }
  EXPECT_TRUE(got->dropped.empty());
}

TEST_F(SqliteStoreTest, AWindowComesBackAsItWasPut) {
  const auto store = Open();
  Profile window = MakeWindow(0);
  window.threads[1].began = true;
  window.threads[1].begin_ns += 12'345;
  window.threads[1].clock.blocked_ns[PROFD_INTERRUPTIBLE] -= 12'345;
  window.threads[4].clock_missing = true;
  window.threads[4].exited = true;
  ASSERT_TRUE(store->Put(window).ok());
  MemoryStore memory(10);
  ASSERT_TRUE(memory.Put(window).ok());
  const auto got = store->Query({}, {});
  const auto expected = memory.Query({}, {});
  ExpectEqual(got, expected, 1u << 17);
  ASSERT_EQ(got->frames.size(), expected->frames.size());
  for (const auto& frame : expected->frames)
    EXPECT_NE(std::find(got->frames.begin(), got->frames.end(), frame), got->frames.end());
  ASSERT_EQ(got->samples.size(), expected->samples.size());
  for (const auto& thread : got->threads) {
    const bool second = thread.key.tid == window.threads[1].key.tid;
    EXPECT_EQ(thread.began, second);
    const bool fifth = thread.key.tid == window.threads[4].key.tid;
    EXPECT_EQ(thread.clock_missing, fifth);
    EXPECT_EQ(thread.exited, fifth);
  }
}

TEST_F(SqliteStoreTest, TimesAndRawWeightsAreThoseOfTheSamples) {
  const auto store = Open();
  const Profile window = MakeWindow(3);
  ASSERT_TRUE(store->Put(window).ok());
  MemoryStore memory(10);
  ASSERT_TRUE(memory.Put(window).ok());
  const auto key = [](const Profile& profile, const aggregate::ProfileSample& sample) {
    return std::tuple(profile.threads[sample.thread].key.tid, sample.state, sample.wait,
                      sample.stack_flags, sample.exact, sample.gil,
                      profile.frames[profile.nodes[sample.node].frame].name);
  };
  std::map<decltype(key(window, window.samples[0])), aggregate::ProfileSample> expected;
  const auto whole = memory.Query({}, {});
  for (const auto& sample : whole->samples) expected[key(*whole, sample)] = sample;
  const auto got = store->Query({}, {});
  ASSERT_EQ(got->samples.size(), expected.size());
  for (const auto& sample : got->samples) {
    const auto found = expected.find(key(*got, sample));
    ASSERT_NE(found, expected.end());
    EXPECT_LE(sample.time_ns, found->second.time_ns);
    EXPECT_LE(found->second.time_ns - sample.time_ns, 10 * kSecond / 16384 + 1);
    EXPECT_NEAR(static_cast<double>(sample.raw_weight_ns),
                static_cast<double>(found->second.raw_weight_ns), 32'768.0);
  }
}

TEST_F(SqliteStoreTest, MinutesAreFoldedAndNothingChanges) {
  const auto store = Open();
  MemoryStore memory(100);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
    ASSERT_TRUE(memory.Put(MakeWindow(i)).ok());
  }
  EXPECT_EQ(store->Status().windows, 5u);  // three minutes, and two windows of the fourth
  EXPECT_EQ(store->Status().first_unix_ns, kStartUnixNs);
  EXPECT_EQ(store->Status().last_unix_ns, kStartUnixNs + 200 * kSecond);
  const auto got = store->Query({}, {});
  ExpectEqual(got, memory.Query({}, {}), 20u << 17);
  for (const auto& thread : got->threads) EXPECT_EQ(ClosureError(thread), 0.0);
}

class StoredPaths : public StoreFixture {
 protected:
  static constexpr HostShape kShape{.wakers = true};

  static std::size_t Blocked(const Profile& profile) {
    return static_cast<std::size_t>(std::ranges::count_if(profile.samples, [](const auto& sample) {
      return sample.state == process::State::kBlocked && sample.path != 0;
    }));
  }
  [[nodiscard]] std::int64_t Rows(const char* sql) const {
    auto database = Database::Open(options_.path, false, nullptr);
    return *database->Pragma(sql);
  }
};

TEST_F(StoredPaths, ComeBackAsTheyWerePut) {
  const auto store = Open();
  MemoryStore memory(10);
  const Profile window = MakeWindow(0, kShape);
  ASSERT_TRUE(store->Put(window).ok());
  ASSERT_TRUE(memory.Put(window).ok());
  const auto got = store->Query({}, {});
  ExpectEqual(got, memory.Query({}, {}), 1u << 17);
  EXPECT_TRUE(got->wakers);
  EXPECT_GT(Blocked(*got), 10u);
  EXPECT_FALSE(got->wake_ups.empty());
}

TEST_F(StoredPaths, AddUpInCompactedMinutes) {
  const auto store = Open();
  MemoryStore memory(100);
  for (std::uint64_t i = 0; i < 14; ++i) {
    ASSERT_TRUE(store->Put(MakeWindow(i, kShape)).ok());
    ASSERT_TRUE(memory.Put(MakeWindow(i, kShape)).ok());
  }
  ASSERT_EQ(store->Status().windows, 4u) << "two minutes, and two windows of the third";
  EXPECT_EQ(Rows("SELECT count(*) FROM path_payload"), 4);
  ExpectEqual(store->Query({}, {}), memory.Query({}, {}), 14u << 17);
}

TEST_F(StoredPaths, FiltersAsTheOneInMemoryDoes) {
  const auto store = Open();
  MemoryStore memory(100);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(store->Put(MakeWindow(i, kShape)).ok());
    ASSERT_TRUE(memory.Put(MakeWindow(i, kShape)).ok());
  }
  std::vector<Filter> filters(4);
  filters[0].pids = {1100};
  filters[1].threads = {"worker-?"};
  filters[2].wait = process::WaitReason::kPoll;
  filters[3].exclusive_owner = 102;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    SCOPED_TRACE(i);
    const auto got = store->Query({}, filters[i]);
    ExpectEqual(got, memory.Query({}, filters[i]), 8u << 17, !filters[i].wait);
    EXPECT_GT(Blocked(*got), 0u);
  }
}

TEST_F(StoredPaths, OthersAreNotNamedToAUser) {
  const auto store = Open();
  ASSERT_TRUE(store->Put(MakeWindow(0, kShape)).ok());
  Filter filter;
  filter.exclusive_owner = 102;  // of process 2
  const auto got = store->Query({}, filter);
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->processes.size(), 1u);
  EXPECT_TRUE(std::ranges::any_of(
      got->paths, [](const auto& path) { return path.kind == aggregate::PathKind::kOtherUser; }));
  for (const auto& thread : got->path_threads) EXPECT_EQ(thread.process_comm, "service-2");
  for (const auto& frame : got->frames)
    for (const char* other : {"main_0", "main_1", "main_3"}) EXPECT_NE(frame.name, other);
}

TEST_F(StoredPaths, CountersDoNotNameProcessesOfOthersToAUser) {
  aggregate::Profile window = MakeWindow(0, kShape);
  window.counters = {{"python_stacks", "stacks of threads with Python frames", 3},
                     {"beyond_share", "UID 101: its mappings are read once a second", 1},
                     {"python_refused", "python: PID 7 (secret): is too old", 2},
                     {"labels_unread", "labels of PID 7 (secret): cannot be read", 1}};
  const auto store = Open();
  MemoryStore memory(100);
  ASSERT_TRUE(store->Put(window).ok());
  ASSERT_TRUE(memory.Put(window).ok());
  Filter filter;
  for (const std::size_t seen : {4u, 1u}) {
    SCOPED_TRACE(seen);
    for (const auto& got : {store->Query({}, filter), memory.Query({}, filter)}) {
      ASSERT_TRUE(got.ok());
      EXPECT_EQ(got->counters.size(), seen);
      EXPECT_TRUE(std::ranges::any_of(
          got->counters, [](const auto& count) { return count.name == "python_stacks"; }));
    }
    filter.exclusive_owner = 102;
  }
}

TEST_F(StoredPaths, AFileOfVersion5HasNoneAndGoesOnWithThem) {
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(Open()->Put(MakeWindow(i)).ok());
  {
    auto database = Database::Open(options_.path, true, nullptr);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database
                    ->Execute("DROP TABLE path_payload; ALTER TABLE program DROP COLUMN labels; "
                              "PRAGMA user_version = 5")
                    .ok());
  }
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  MemoryStore memory(100);
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(memory.Put(MakeWindow(i)).ok());
  const auto before = store->Query({}, {});
  ExpectEqual(before, memory.Query({}, {}), 3u << 17);
  EXPECT_FALSE(before->wakers);
  for (std::uint64_t i = 3; i < 9; ++i) {
    ASSERT_TRUE(store->Put(MakeWindow(i, kShape)).ok());
    ASSERT_TRUE(memory.Put(MakeWindow(i, kShape)).ok());
  }
  const auto after = store->Query({}, {});
  ExpectEqual(after, memory.Query({}, {}), 9u << 17);
  EXPECT_TRUE(after->wakers);
  EXPECT_TRUE(std::ranges::any_of(after->counters, [](const auto& count) {
    return count.name == "without_wakers_ms" && count.count == 30'000;
  }));
}

TEST_F(StoredPaths, DamagedOnesCostTheirWindowAndAreCounted) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 2; ++i) ASSERT_TRUE(store->Put(MakeWindow(i, kShape)).ok());
  {
    auto database = Database::Open(options_.path, true, nullptr);
    ASSERT_TRUE(database->Execute("UPDATE path_payload SET data = x'00' WHERE window = 1").ok());
  }
  const auto got = store->Query({}, {});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->end_ns - got->start_ns, 10 * kSecond);
  ASSERT_EQ(got->dropped.size(), 1u);
  EXPECT_EQ(got->dropped[0].name, "store_windows");
}

TEST_F(StoredPaths, GoWithTheirWindows) {
  options_.limit_ns = 60 * kSecond;
  options_.compact_ns = 0;
  const auto store = Open();
  for (std::uint64_t i = 0; i < 20; ++i) {
    clock_.Set((1000 + i * 10) * kSecond, kStartUnixNs + i * 10 * kSecond);
    ASSERT_TRUE(store->Put(MakeWindow(i, kShape)).ok());
  }
  EXPECT_EQ(Rows("SELECT count(*) FROM path_payload"), Rows("SELECT count(*) FROM window"));
  EXPECT_LT(Rows("SELECT count(*) FROM window"), 10);
}

// A minute of compilers, 5 in each window beside what lives on. One spans two windows.
Profile WithCompilers(std::uint64_t index) {
  Profile window = MakeWindow(index);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const bool begins = i != 4 || index % 2 == 0;  // number 4 goes on in the next window
    const bool ends = i != 4 || index % 2 == 1;
    const std::uint64_t number = (i == 4 ? index / 2 * 2 : index) * 10 + i;
    aggregate::ProfileProcess process;
    process.key = {static_cast<std::uint32_t>(20'000 + number), 1 + number};
    process.shown_pid = process.key.pid;
    process.comm = "cc1";
    process.parent = "make";
    process.command_line = "cc1 " + std::to_string(number) + ".c";
    process.exited = ends;
    aggregate::ProfileThread thread;
    thread.key = {process.key.pid, process.key.start_ns};
    thread.shown_tid = thread.key.tid;
    thread.comm = "cc1";
    thread.process = static_cast<std::uint32_t>(window.processes.size());
    thread.begin_ns = begins ? window.end_ns - kSecond : window.start_ns;
    thread.end_ns = begins ? window.end_ns : window.start_ns + kSecond;
    thread.began = begins;
    thread.exited = ends;
    thread.clock.on_cpu_ns = kSecond;
    aggregate::ProfileSample sample = window.samples.front();
    sample.thread = static_cast<std::uint32_t>(window.threads.size());
    sample.state = process::State::kOnCpu;
    sample.wait = process::WaitReason::kNone;
    sample.weight_ns = kSecond;
    window.processes.push_back(process);
    window.threads.push_back(thread);
    window.samples.push_back(sample);
  }
  return window;
}

TEST_F(SqliteStoreTest, ShortLivedProcessesAreOneRowInACompactedMinute) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 7; ++i) ASSERT_TRUE(store->Put(WithCompilers(i)).ok());
  ASSERT_EQ(store->Status().windows, 2u);
  const auto got = store->Query({}, {});
  ASSERT_TRUE(got.ok()) << got.error().message;
  std::uint64_t on_cpu_ns = 0;
  std::uint64_t weight_ns = 0;
  std::size_t rows = 0;
  std::uint32_t grouped = 0;
  for (const auto& process : got->processes) {
    if (process.comm != "cc1") continue;
    ++rows;
    grouped += process.group_size;
    EXPECT_EQ(process.parent, "make");
  }
  for (const auto& thread : got->threads) {
    EXPECT_EQ(ClosureError(thread), 0.0);
    if (got->processes[thread.process].comm == "cc1") on_cpu_ns += thread.clock.on_cpu_ns;
  }
  for (const auto& sample : got->samples)
    if (got->processes[got->threads[sample.thread].process].comm == "cc1")
      weight_ns += sample.weight_ns;
  EXPECT_EQ(grouped, 6u * 4 + 3) << "of six windows, with three that span two";
  EXPECT_EQ(rows, 1u + 5) << "the group, and those of the window that is not compacted";
  EXPECT_EQ(on_cpu_ns, 7 * 5 * kSecond);
  EXPECT_EQ(weight_ns, 7 * 5 * kSecond);
  Filter filter;
  filter.comms = {"cc1"};
  EXPECT_EQ(store->Query({}, filter)->threads.size(), rows);
}

TEST_F(SqliteStoreTest, NothingIsLeftOfTheRowsOfShortLivedProcesses) {
  const auto store = Open();
  const auto rows = [&](const char* sql) {
    auto database = Database::Open(options_.path, false, nullptr);
    return *database->Pragma(sql);
  };
  for (std::uint64_t i = 0; i < 7; ++i) ASSERT_TRUE(store->Put(WithCompilers(i)).ok());
  EXPECT_EQ(rows("SELECT count(*) FROM process WHERE comm = 'cc1'"), 6);
  EXPECT_EQ(rows("SELECT count(*) FROM program WHERE command_line LIKE 'cc1%'"), 5);
  EXPECT_EQ(rows("SELECT count(*) FROM thread WHERE comm = 'cc1'"), 6);
}

// A process ends in window 5, and window 6 has it again, as a late sample would. Its row must stay,
// or window 6 could not be read.
TEST_F(SqliteStoreTest, ARowThatALaterWindowHasStays) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(store->Put(WithCompilers(i)).ok());
  Profile late = WithCompilers(6);
  const Profile before = WithCompilers(5);
  const std::size_t first = before.processes.size() - 5;
  late.processes.push_back(before.processes[first]);
  late.threads.push_back(before.threads[before.threads.size() - 5]);
  late.threads.back().process = static_cast<std::uint32_t>(late.processes.size() - 1);
  late.threads.back().begin_ns = late.threads.back().end_ns = late.start_ns;
  late.threads.back().clock = {};
  ASSERT_TRUE(store->Put(late).ok());
  ASSERT_EQ(store->Status().windows, 2u);
  const auto got = store->Query({}, {});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_TRUE(got->dropped.empty()) << got->dropped.front().text;
  EXPECT_TRUE(std::ranges::any_of(got->processes, [&](const auto& process) {
    return process.key == before.processes[first].key;
  }));
}

TEST_F(SqliteStoreTest, QueriesTakeTheWindowsThatTouchTheRange) {
  const auto store = Open();
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
  const auto length = [&](std::uint64_t from_s, std::uint64_t to_s) -> std::uint64_t {
    const auto got =
        store->Query({kStartUnixNs + from_s * kSecond, kStartUnixNs + to_s * kSecond}, {});
    if (!got) return got.error().code == ErrorCode::kNotFound ? 0 : 99;
    return (got->end_ns - got->start_ns) / kSecond;
  };
  EXPECT_EQ(length(0, 10), 10u);
  EXPECT_EQ(length(9, 11), 20u);
  EXPECT_EQ(length(10, 20), 10u);
  EXPECT_EQ(length(50, 60), 0u);
  EXPECT_EQ(length(0, 1000), 50u);
}

TEST_F(SqliteStoreTest, FiltersAsTheOneInMemoryDoes) {
  const auto store = Open();
  MemoryStore memory(100);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
    ASSERT_TRUE(memory.Put(MakeWindow(i)).ok());
  }
  std::vector<Filter> filters(11);
  filters[0].pids = {1100};
  filters[1].comms = {"service-0", "*-3"};
  filters[2].executables = {"service-1"};
  filters[3].cgroups = {"*service-2*"};
  filters[4].threads = {"worker-?"};
  filters[5].state = process::State::kRunnable;
  filters[6].wait = process::WaitReason::kPoll;
  filters[7].containers = {"0123*"};
  filters[8].units = {"service-3.service"};
  filters[9].users = {"user-?"};
  filters[10].users = {"101"};
  for (std::size_t i = 0; i < filters.size(); ++i) {
    SCOPED_TRACE(i);
    const auto got = store->Query({}, filters[i]);
    ExpectEqual(got, memory.Query({}, filters[i]), 8u << 17, !filters[i].wait);
    EXPECT_FALSE(got->threads.empty());
    EXPECT_FALSE(got->samples.empty());
  }
  Filter none;
  none.comms = {"no-such-comm"};
  const auto got = store->Query({}, none);
  ASSERT_TRUE(got.ok());
  EXPECT_TRUE(got->threads.empty());
  EXPECT_TRUE(got->frames.empty());
}

TEST_F(SqliteStoreTest, IsThereAgainWhenItIsOpenedAgain) {
  for (std::uint64_t i = 0; i < 9; ++i) ASSERT_TRUE(Open()->Put(MakeWindow(i)).ok());
  const auto store = Open();
  EXPECT_TRUE(store->Status().losses.empty());
  MemoryStore memory(100);
  for (std::uint64_t i = 0; i < 9; ++i) ASSERT_TRUE(memory.Put(MakeWindow(i)).ok());
  ExpectEqual(store->Query({}, {}), memory.Query({}, {}), 9u << 17);
}

TEST_F(SqliteStoreTest, RefusesAFileOfANewerVersionAndLeavesItAlone) {
  ASSERT_TRUE(Open()->Put(MakeWindow(0)).ok());
  {
    auto database = Database::Open(options_.path, true, nullptr);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->Execute("PRAGMA user_version = 8").ok());
  }
  const auto refused = SqliteStore::Open(options_, clock_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("newer profd"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options_.path + ".damaged"));
  auto database = Database::Open(options_.path, true, nullptr);
  ASSERT_TRUE(database->Execute("PRAGMA user_version = 7").ok());
  EXPECT_EQ(Open()->Status().windows, 1u);
}

TEST_F(SqliteStoreTest, AFileOfTheFirstVersionIsMigratedAndGoesOn) {
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(Open()->Put(MakeWindow(i)).ok());
  {
    auto database = Database::Open(options_.path, true, nullptr);
    ASSERT_TRUE(database.ok());
    const auto back = database->Execute(
        "CREATE TABLE old(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL,"
        "  pid INTEGER NOT NULL, start_ns INTEGER NOT NULL, shown_pid INTEGER NOT NULL,"
        "  comm TEXT NOT NULL, command_line TEXT NOT NULL, executable TEXT NOT NULL,"
        "  build_id TEXT NOT NULL, cgroup TEXT NOT NULL, container TEXT NOT NULL,"
        "  unit TEXT NOT NULL, uid INTEGER, sole INTEGER NOT NULL, user TEXT NOT NULL,"
        "  exited INTEGER NOT NULL, python TEXT, python_refused TEXT);"
        "INSERT INTO old SELECT p.id, p.hash, p.used, pid, start_ns, shown_pid, comm, command_line,"
        "  executable, build_id, cgroup, container, unit, uid, sole, user, exited, python,"
        "  python_refused FROM process AS p JOIN program AS g ON g.id = p.program;"
        "DROP TABLE path_payload;"
        "ALTER TABLE process_time DROP COLUMN stolen_ns;"
        "ALTER TABLE thread_time DROP COLUMN stolen_ns;"
        "DROP TABLE process; DROP TABLE program; ALTER TABLE old RENAME TO process;"
        "PRAGMA user_version = 1");
    ASSERT_TRUE(back.ok()) << back.error().message;
  }
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  MemoryStore memory(100);
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(memory.Put(MakeWindow(i)).ok());
  ExpectEqual(store->Query({}, {}), memory.Query({}, {}), 5u << 17);
  for (std::uint64_t i = 5; i < 9; ++i) {
    ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
    ASSERT_TRUE(memory.Put(MakeWindow(i)).ok());
  }
  ExpectEqual(store->Query({}, {}), memory.Query({}, {}), 9u << 17);
}

aggregate::Profile LabelledWindow(std::uint64_t number) {
  aggregate::Profile window = MakeWindow(number);
  window.processes[1].labels = {{"service.name", "cart \"x\""}, {"k8s.pod.name", "cart-5f"}};
  return window;
}

std::map<std::string, std::string> LabelsIn(const Result<aggregate::Profile>& profile,
                                            const std::string& comm) {
  for (const auto& process : profile->processes)
    if (process.comm == comm) return process.labels;
  return {{"missing", comm}};
}

TEST_F(SqliteStoreTest, KeepsLabelsOfProcessesAndFindsThem) {
  ASSERT_TRUE(Open()->Put(LabelledWindow(0)).ok());
  const auto store = Open();
  const auto all = store->Query({}, {});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(LabelsIn(all, "service-1"), LabelledWindow(0).processes[1].labels);
  EXPECT_TRUE(LabelsIn(all, "service-2").empty());
  Filter filter;
  filter.labels = {{"k8s.pod.name", {"other", "cart-*"}}, {"service.name", {"cart*"}}};
  const auto found = store->Query({}, filter);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->processes.size(), 1u);
  EXPECT_EQ(found->processes[0].comm, "service-1");
  filter.labels[0].values = {"other"};
  EXPECT_TRUE(store->Query({}, filter)->processes.empty());
}

TEST_F(SqliteStoreTest, AFileOfVersion6GetsLabelsFromThenOn) {
  ASSERT_TRUE(Open()->Put(MakeWindow(0)).ok());
  {
    auto database = Database::Open(options_.path, true, nullptr);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(
        database->Execute("ALTER TABLE program DROP COLUMN labels; PRAGMA user_version = 6").ok());
  }
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->Query({}, {}).ok());
  EXPECT_TRUE(LabelsIn(store->Query({}, {}), "service-1").empty());
  ASSERT_TRUE(store->Put(LabelledWindow(1)).ok());
  EXPECT_EQ(LabelsIn(store->Query({}, {}), "service-1"), LabelledWindow(0).processes[1].labels);
}

TEST_F(SqliteStoreTest, EveryFileIsPrivateWhateverTheUmaskAndTheFolder) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  const auto modes = [this] {
    std::map<std::string, unsigned> found;
    for (const auto& name : folder_.Names())
      found[name] =
          static_cast<unsigned>(std::filesystem::status(folder_.path() / name).permissions());
    return found;
  };
  const std::map<std::string, unsigned> all_private = {{"history.db", 0600},
                                                       {"history.db-shm", 0600},
                                                       {"history.db-wal", 0600},
                                                       {"history.db.lock", 0600}};
  for (const mode_t umask : {0u, 0277u}) {
    const mode_t before = ::umask(umask);
    const auto store = Open();
    const bool put = store && store->Put(MakeWindow(0)) && store->Query({}, {});
    ::umask(before);
    ASSERT_TRUE(put);
    EXPECT_EQ(modes(), all_private) << umask;
    for (const auto& name : folder_.Names()) std::filesystem::remove(folder_.path() / name);
  }
}

TEST_F(SqliteStoreTest, FilesOfAnOlderProfdBecomePrivate) {
  // As they are after a kill: the log and its index are still there.
  const test::TempFolder killed;
  {
    const auto store = Open();
    ASSERT_TRUE(store->Put(MakeWindow(0)));
    for (const auto& name : folder_.Names()) {
      std::filesystem::copy_file(folder_.path() / name, killed.path() / name);
      ASSERT_EQ(::chmod(killed.Path(name).c_str(), 0644), 0);
    }
  }
  ASSERT_TRUE(killed.Names().contains("history.db-wal"));
  options_.path = killed.Path("history.db");
  const auto store = Open();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->Query({}, {})->samples.empty(), false);
  for (const auto& name : killed.Names())
    EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(killed.path() / name).permissions()),
              0640u)
        << name;
}

TEST_F(SqliteStoreTest, AFileThatAnotherUserHasPutThereIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give files to other users";
  constexpr uid_t kOther = 4'200'700;  // no user of a host has it
  for (const char* end : {"", "-wal", ".lock"}) {
    const std::string path = folder_.Write(std::string("history.db") + end, "");
    ASSERT_EQ(::chown(path.c_str(), kOther, kOther), 0);
    const auto store = SqliteStore::Open(options_, clock_);
    ASSERT_FALSE(store) << path;
    EXPECT_EQ(store.error().code, ErrorCode::kInvalidArgument) << store.error().message;
    for (const auto& name : folder_.Names()) std::filesystem::remove(folder_.path() / name);
  }
}

TEST_F(SqliteStoreTest, OneWriterAtATime) {
  auto first = Open();
  ASSERT_NE(first, nullptr);
  const auto second = SqliteStore::Open(options_, clock_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.error().message, "another profd keeps its history in " + options_.path);
  first.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(SqliteStoreTest, TextsOfAnyBytesComeBack) {
  const auto store = Open();
  Profile window = MakeWindow(0);
  window.processes[0].comm = "\xff'; DROP TABLE window; --\n";
  window.frames[0].name = "\xc3(\x01%s\"";
  window.threads[0].comm = "";
  ASSERT_TRUE(store->Put(window).ok());
  Filter filter;
  filter.comms = {"\xff*"};
  const auto got = store->Query({}, filter);
  ASSERT_TRUE(got.ok());
  ASSERT_EQ(got->processes.size(), 1u);
  EXPECT_EQ(got->processes[0].comm, window.processes[0].comm);
  EXPECT_EQ(got->threads[0].comm, "");
  EXPECT_EQ(got->frames[0].name, window.frames[0].name);
}

TEST_F(SqliteStoreTest, AtTheEndOfProfdQueriesAreGivenUpAndWindowsAreKept) {
  const auto store = Open();
  ASSERT_TRUE(store->Put(MakeWindow(0)).ok());
  store->AbandonLongWork();
  const auto requested = store->Query({}, {});
  ASSERT_FALSE(requested.ok());
  EXPECT_EQ(requested.error().code, ErrorCode::kUnavailable);
  // And not folded: two minutes of them stay what they were.
  for (std::uint64_t i = 1; i < 13; ++i) ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
  EXPECT_EQ(store->Status().windows, 13u);
}

TEST_F(SqliteStoreTest, AQueryStopsAtItsBoundAndSaysSo) {
  options_.query_limits.samples = 60;
  options_.query_limits.threads = 2;
  const auto store = Open();
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
  const auto got = store->Query({}, {});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->threads.size(), 2u);
  EXPECT_LE(got->samples.size(), 60u);
  EXPECT_FALSE(got->dropped.empty());
}

TEST_F(SqliteStoreTest, QueriesRunWhileWindowsArePut) {
  const auto store = Open();
  ASSERT_TRUE(store->Put(MakeWindow(0)).ok());
  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      do {
        const auto got = store->Query({}, {});
        if (!got || !got->dropped.empty()) ++bad;
        if (got)
          for (const auto& thread : got->threads)
            if (ClosureError(thread) != 0.0) ++bad;
        static_cast<void>(store->Status());
      } while (!done);
    });
  for (std::uint64_t i = 1; i < 40; ++i) ASSERT_TRUE(store->Put(MakeWindow(i)).ok());
  done = true;
  readers.clear();
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace profd::store
