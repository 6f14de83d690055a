#include "daemon/source/procfs/process_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tests/unit/source/fake_proc.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kStartNs = 5'120'123'456;  // 512 ticks

std::array<std::string, PROFD_BLOB_MAX> BlobsOf(const wire::EventBytes& event) {
  profd_process_event fixed{};
  EXPECT_TRUE(wire::ReadFixed(event, &fixed));
  EXPECT_EQ(fixed.event.size, event.size());
  std::array<std::string, PROFD_BLOB_MAX> blobs;
  const char* at = reinterpret_cast<const char*>(event.data()) + sizeof(fixed);
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    blobs[i].assign(at, fixed.blob_bytes[i]);
    at += fixed.blob_bytes[i];
  }
  EXPECT_EQ(at, reinterpret_cast<const char*>(event.data() + event.size()));
  return blobs;
}

TEST(ProcessReader, ReadsEverythingVerbatim) {
  const FakeProc fake;
  fake.AddProcess(12, kStartNs, "worker");
  fake.Write("12/task/13/comm", "pool one\n");
  fake.Write("passwd", "root:x:0:0:root:/root:/bin/sh\nworkers:x:30:30::/:/bin/false\n");
  const std::string passwd = fake.root() / "passwd";
  const auto event =
      ProcessReader(fake.proc(), fake.readers(), passwd).Read({12, kStartNs}, 12, 99);
  ASSERT_TRUE(event);
  profd_event header{};
  ASSERT_TRUE(wire::ReadHeader(*event, &header));
  EXPECT_EQ(header.kind, PROFD_EVENT_PROCESS);
  EXPECT_EQ(header.pid, 12u);
  EXPECT_EQ(header.process_start_ns, kStartNs);
  EXPECT_EQ(header.time_ns, 99u);
  const auto blobs = BlobsOf(*event);
  EXPECT_EQ(blobs[PROFD_BLOB_COMM], "worker\n");
  EXPECT_EQ(blobs[PROFD_BLOB_EXE], "/bin/worker");
  EXPECT_EQ(blobs[PROFD_BLOB_CMDLINE], std::string("worker\0--flag\0", 14));
  EXPECT_EQ(blobs[PROFD_BLOB_CGROUP], "0::/some.slice\n");
  EXPECT_EQ(blobs[PROFD_BLOB_NSPID], "12\t7");
  EXPECT_EQ(blobs[PROFD_BLOB_MAPS], "00400000-00401000 r-xp 00000000 08:01 1234    /bin/worker\n");
  EXPECT_EQ(blobs[PROFD_BLOB_THREADS], "12\tworker\n13\tpool one\n");
  EXPECT_EQ(blobs[PROFD_BLOB_USER], "29\t30\t30\t30\nworkers");
}

TEST(ProcessReader, SaysWhetherAProcessIsExclusivelyItsUsers) {
  const FakeProc fake;
  fake.AddProcess(12, kStartNs, "worker");
  // The files of a process that is not dumpable are root's, so those here get another owner.
  const auto user = [&fake](const std::string& uids, const std::string& rights, uid_t files) {
    fake.Write("12/status", "Name:\tw\nUid:\t" + uids + "\nCapPrm:\t" + rights + "\n");
    EXPECT_EQ(::chown((fake.root() / "12").c_str(), files, files), 0) << "needs root";
    const auto event = ProcessReader(fake.proc(), fake.readers(), "").Read({12, kStartNs}, 12, 0);
    return event ? BlobsOf(*event)[PROFD_BLOB_USER] : "gone";
  };
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  EXPECT_EQ(user("30\t30\t30\t30", "0000000000000000", 30), "30\t30\t30\t30\n\nsole");
  EXPECT_EQ(user("30\t30\t30\t30", "0000000000000000", 0), "30\t30\t30\t30\n");
  EXPECT_EQ(user("30\t30\t30\t30", "0000000000000001", 30), "30\t30\t30\t30\n");
  EXPECT_EQ(user("30\t30\t0\t30", "0000000000000000", 30), "30\t30\t0\t30\n");
  EXPECT_EQ(user("30\t30\t30\t30", "x", 30), "30\t30\t30\t30\n") << "rights not known";
}

TEST(ProcessReader, AnotherProcessOfTheSameNumberIsNotRead) {
  const FakeProc fake;
  fake.AddProcess(12, kStartNs, "worker");
  ProcessReader reader(fake.proc(), fake.readers());
  EXPECT_FALSE(reader.Read({12, kStartNs + 10'000'000}, 12, 0));
  EXPECT_FALSE(reader.Read({12, kStartNs - 10'000'000}, 12, 0));
  EXPECT_FALSE(reader.Read({14, kStartNs}, 14, 0));
  EXPECT_TRUE(reader.Read({12, kStartNs + 3'000'000}, 12, 0)) << "the same tick of 10 ms";
}

TEST(ProcessReader, WhatCannotBeReadIsEmpty) {
  const FakeProc fake;
  fake.Write("2/stat", FakeProc::Stat(2, kStartNs, "kthreadd"));
  fake.Write("2/comm", "kthreadd\n");
  const auto event = ProcessReader(fake.proc(), fake.readers()).Read({2, kStartNs}, 2, 0);
  ASSERT_TRUE(event);
  const auto blobs = BlobsOf(*event);
  EXPECT_EQ(blobs[PROFD_BLOB_COMM], "kthreadd\n");
  EXPECT_EQ(blobs[PROFD_BLOB_MAPS], "");
  EXPECT_EQ(blobs[PROFD_BLOB_EXE], "");
}

TEST(ProcessReader, AProcessWhoseFirstThreadEndedIsSeenThroughAnother) {
  const FakeProc fake;
  fake.AddProcess(12, kStartNs, "worker");
  fake.Write("12/maps", "");
  fake.Write("12/task/13/maps", "maps of 13\n");
  fake.Write("12/task/13/comm", "pool\n");
  const auto event = ProcessReader(fake.proc(), fake.readers()).Read({12, kStartNs}, 13, 0);
  ASSERT_TRUE(event);
  EXPECT_EQ(BlobsOf(*event)[PROFD_BLOB_MAPS], "maps of 13\n");
}

TEST(ProcessReader, WhatIsNotThereInTimeMakesAPartialEvent) {
  const FakeProc fake;
  fake.AddProcess(12, kStartNs, "worker");
  test::LateReaders late;
  const auto event = ProcessReader(fake.proc(), late).Read({12, kStartNs}, 12, 0);
  ASSERT_TRUE(event);
  profd_event header{};
  ASSERT_TRUE(wire::ReadHeader(*event, &header));
  EXPECT_EQ(header.flags, PROFD_TASK_PARTIAL);
  EXPECT_EQ(BlobsOf(*event)[PROFD_BLOB_COMM], "worker\n");
  EXPECT_EQ(BlobsOf(*event)[PROFD_BLOB_MAPS], "");
}

TEST(ProcessReader, LongCommandLinesAreCut) {
  const FakeProc fake;
  fake.AddProcess(12, kStartNs, "worker");
  fake.Write("12/cmdline", std::string(100'000, 'x'));
  const auto event = ProcessReader(fake.proc(), fake.readers()).Read({12, kStartNs}, 12, 0);
  ASSERT_TRUE(event);
  EXPECT_EQ(BlobsOf(*event)[PROFD_BLOB_CMDLINE].size(), 4'096u);
}

TEST(ProcessReader, StartTicksOfHostileNames) {
  EXPECT_EQ(StartTicks(FakeProc::Stat(1, 770'000'000, "a) R 1 2 3 (b")), 77u);
  EXPECT_EQ(StartTicks(FakeProc::Stat(1, 770'000'000, "")), 77u);
  EXPECT_FALSE(StartTicks(""));
  EXPECT_FALSE(StartTicks("1 (a) S 1 2 3"));
  EXPECT_FALSE(StartTicks("1 (a) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0"));
}

TEST(ProcessReader, ProcessOfAThread) {
  const FakeProc fake;
  fake.AddProcess(12, kStartNs, "worker");
  fake.Write("13/status", "Name:\tpool\nTgid:\t12\nPid:\t13\n");
  EXPECT_EQ(ProcessOf(fake.proc(), 12).value(), 12u);
  EXPECT_EQ(ProcessOf(fake.proc(), 13).value(), 12u);
  EXPECT_EQ(ProcessOf(fake.proc(), 14).error().code, ErrorCode::kNotFound);
}

TEST(ProcessReader, ReadsThisProcessFromTheRealProc) {
  const ProcFs proc;
  const auto stat = proc.Read("self/stat");
  ASSERT_TRUE(stat);
  const auto ticks = StartTicks(*stat);
  ASSERT_TRUE(ticks);
  const auto pid = static_cast<std::uint32_t>(::getpid());
  test::DirectReaders readers(std::make_unique<ProcessTextParser>());
  const auto event =
      ProcessReader(proc, readers).Read({pid, *ticks * 10'000'000 + 5'000'000}, pid, 1);
  ASSERT_TRUE(event);
  const auto blobs = BlobsOf(*event);
  EXPECT_NE(blobs[PROFD_BLOB_EXE].find("source_test"), std::string::npos);
  EXPECT_NE(blobs[PROFD_BLOB_MAPS].find("libc"), std::string::npos);
  EXPECT_EQ(blobs[PROFD_BLOB_NSPID].substr(0, blobs[PROFD_BLOB_NSPID].find('\t')),
            std::to_string(pid));
  EXPECT_TRUE(blobs[PROFD_BLOB_THREADS].starts_with(std::to_string(pid) + "\t"));
}

TEST(UserNames, OfAFileThatChanges) {
  const FakeProc fake;
  fake.Write("passwd",
             "a:x:7:7:::\nb:x:7:1:::\n:x:8:::\nc\nd:x\ne:x:9\nf:x:zz:\ng:x:99999999999:\n");
  UserNames names(fake.root() / "passwd");
  EXPECT_EQ(names.NameOf(7), "a");
  for (const std::uint32_t uid : {0u, 8u, 9u, 4'294'967'295u}) EXPECT_EQ(names.NameOf(uid), "");
  fake.Write("passwd", "z:x:7:7:::\n");
  std::filesystem::last_write_time(fake.root() / "passwd",
                                   std::filesystem::file_time_type() + std::chrono::hours(1));
  EXPECT_EQ(names.NameOf(7), "z");
  std::filesystem::remove(fake.root() / "passwd");
  EXPECT_EQ(names.NameOf(7), "");
}

}  // namespace
}  // namespace profd::source
