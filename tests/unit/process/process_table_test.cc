#include "daemon/process/process_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/process_events.h"

namespace profd::process {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr ProcessKey Key(std::uint32_t pid, std::uint64_t start = 1'000) {
  return {pid, pid + start};
}

class ProcessTableTest : public ::testing::Test {
 protected:
  static std::string PathAt(const ProcessTable& table, const ProcessKey& key,
                            std::uint64_t address) {
    const auto* process = table.Find(key);
    if (process == nullptr) return "no process";
    const Mapping* mapping = process->mappings.Find(address);
    if (mapping == nullptr) return "no mapping";
    return mapping->module ? mapping->module->path : "no module";
  }
  std::string PathAt(std::uint32_t pid, std::uint64_t address) {
    return PathAt(table_, Key(pid), address);
  }

  ProcessTable table_;
};

TEST_F(ProcessTableTest, UnknownProcess) {
  EXPECT_EQ(table_.Find(Key(1)), nullptr);
  EXPECT_EQ(table_.Info(Key(1)), nullptr);
  EXPECT_EQ(table_.ThreadComm({1, 1'001}), "");
}

TEST_F(ProcessTableTest, WhatCouldNotBeReadInTimeStaysAsItWas) {
  wire::ProcessEvent event =
      ProcessAt(10, 7, "2000-5000 r-xp 00001000 08:01 5 /bin/cat\n", "cat\n");
  event.blobs[PROFD_BLOB_CMDLINE] = std::string("cat\0-n\0", 7);
  table_.Apply(event);
  table_.Apply(ProcessAt(20, 7, "", "cat\n"));
  EXPECT_EQ(table_.Info(Key(7))->command_line, "cat -n");
  EXPECT_EQ(PathAt(7, 0x2000), "/bin/cat");
}

TEST_F(ProcessTableTest, AChildSaysWhatItsParentSaysUntilItExecutesAProgram) {
  wire::ProcessEvent event = ProcessAt(10, 7, "", "sh\n");
  event.blobs[PROFD_BLOB_RESOURCE] = std::string("service.name\0cart\0", 18);
  table_.Apply(event);
  table_.Apply(ForkAt(20, 7, 8, "sh"));
  ASSERT_NE(table_.Info(Key(8))->resource, nullptr);
  EXPECT_EQ(table_.Info(Key(8))->resource->at("service.name"), "cart");
  table_.Apply(ExecAt(30, 8, "/bin/true", "true"));
  EXPECT_EQ(table_.Info(Key(8))->resource, nullptr);
}

TEST_F(ProcessTableTest, WhatProcSaysIsTaken) {
  wire::ProcessEvent event = ProcessAt(10, 7,
                                       "1000-2000 r--p 00000000 08:01 5 /bin/cat\n"
                                       "2000-5000 r-xp 00001000 08:01 5 /bin/cat\n"
                                       "what\n"
                                       "9000-a000 r-xp 00000000 00:00 0 [vdso]\n",
                                       "cat\n");
  event.blobs[PROFD_BLOB_EXE] = "/bin/cat";
  event.blobs[PROFD_BLOB_CMDLINE] = std::string("cat\0-n\0", 7);
  event.blobs[PROFD_BLOB_CGROUP] = "0::/user.slice\n";
  event.blobs[PROFD_BLOB_NSPID] = "7\t1";
  event.blobs[PROFD_BLOB_THREADS] = "7\tcat\n8\tworker\n";
  table_.Apply(event);

  const ProcessInfoRef info = table_.Info(Key(7));
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->key, Key(7));
  EXPECT_EQ(info->comm, "cat");
  EXPECT_EQ(info->executable, "/bin/cat");
  EXPECT_EQ(info->command_line, "cat -n");
  EXPECT_EQ(info->cgroup, "/user.slice");
  EXPECT_THAT(info->namespace_pids, ElementsAre(7, 1));
  EXPECT_FALSE(info->exited);
  EXPECT_EQ(table_.ThreadComm({8, 4'711}), "worker");
  EXPECT_EQ(PathAt(7, 0x1000), "no mapping");  // not executable
  EXPECT_EQ(PathAt(7, 0x2000), "/bin/cat");
  EXPECT_EQ(table_.Find(Key(7))->mappings.Find(0x2000)->file_offset, 0x1000u);
  EXPECT_EQ(PathAt(7, 0x9fff), "[vdso]");
  EXPECT_EQ(table_.Counters().maps_malformed, 1u);
  EXPECT_EQ(table_.Counters().processes, 1u);
}

TEST_F(ProcessTableTest, AFileThatIsMappedOnceMoreIsAnotherModule) {
  const auto module_at = [&](std::uint64_t address) {
    return table_.Find(Key(7))->mappings.Find(address)->module;
  };
  table_.Apply(ProcessAt(10, 7, ""));
  table_.Apply(MmapAt(11, 7, 0x1000, 0x1000, "/lib/a.so", 0x1000));
  table_.Apply(MmapAt(12, 7, 0x8000, 0x1000, "/lib/a.so", 0x3000));
  const ModuleRef first = module_at(0x1000);
  EXPECT_EQ(module_at(0x8000), first) << "another part of it";
  table_.Apply(MmapAt(13, 7, 0x1000, 0x1000, "/lib/a.so", 0x1000));
  EXPECT_NE(module_at(0x1000), first);
  EXPECT_EQ(module_at(0x1000)->mapped_ns, 13u);
}

TEST_F(ProcessTableTest, InfoIsTheSameObjectUntilSomethingChanges) {
  table_.Apply(ProcessAt(10, 7, ""));
  const ProcessInfoRef before = table_.Info(Key(7));
  table_.Apply(MmapAt(11, 7, 0x1000, 0x1000, "/a"));
  table_.Apply(CommAt(12, 7, 8, "worker"));
  EXPECT_EQ(table_.Info(Key(7)), before);
  table_.Apply(CommAt(13, 7, 7, "renamed"));
  EXPECT_NE(table_.Info(Key(7)), before);
  EXPECT_EQ(before->comm, "listed");
  EXPECT_EQ(table_.Info(Key(7))->comm, "renamed");
}

TEST_F(ProcessTableTest, ChildInheritsWhatItsParentHas) {
  wire::ProcessEvent parent = ProcessAt(10, 7, "1000-2000 r-xp 0 08:01 5 /bin/sh\n", "sh\n");
  parent.blobs[PROFD_BLOB_EXE] = "/bin/sh";
  parent.blobs[PROFD_BLOB_CMDLINE] = std::string("sh\0", 3);
  parent.blobs[PROFD_BLOB_CGROUP] = "0::/a";
  parent.blobs[PROFD_BLOB_NSPID] = "7";
  table_.Apply(parent);
  table_.Apply(ForkAt(20, 7, 8, "sh"));
  const ProcessInfoRef child = table_.Info(Key(8));
  ASSERT_NE(child, nullptr);
  EXPECT_EQ(child->comm, "sh");
  EXPECT_EQ(child->executable, "/bin/sh");
  EXPECT_EQ(child->command_line, "sh");
  EXPECT_EQ(child->cgroup, "/a");
  EXPECT_THAT(child->namespace_pids, SizeIs(0));  // these are its own
  EXPECT_EQ(PathAt(8, 0x1000), "/bin/sh");

  table_.Apply(MmapAt(30, 8, 0x1000, 0x1000, "/lib/child.so"));
  table_.Apply(MmapAt(31, 7, 0x5000, 0x1000, "/lib/parent.so"));
  EXPECT_EQ(PathAt(7, 0x1000), "/bin/sh");
  EXPECT_EQ(PathAt(8, 0x5000), "no mapping");
}

TEST_F(ProcessTableTest, AnotherProgramHasNoExclusiveOwnerUntilProcSaysSo) {
  wire::ProcessEvent shell = ProcessAt(10, 7, "", "sh\n");
  shell.blobs[PROFD_BLOB_USER] = "30\t30\t30\t30\nann\nsole";
  table_.Apply(shell);
  table_.Apply(ForkAt(20, 7, 8, "sh"));
  EXPECT_TRUE(table_.Info(Key(8))->owner.sole);
  table_.Apply(ExecAt(30, 8, "/bin/ping", "ping"));
  EXPECT_FALSE(table_.Info(Key(8))->owner.sole);
  EXPECT_EQ(table_.Info(Key(8))->owner.uid, 30u);
  wire::ProcessEvent ping = ProcessAt(40, 8, "", "ping\n");
  ping.blobs[PROFD_BLOB_USER] = "30\t30\t30\t30\nann";
  table_.Apply(ping);
  EXPECT_FALSE(table_.Info(Key(8))->owner.sole);
  ping.header.time_ns = 50;
  ping.blobs[PROFD_BLOB_USER] = "30\t30\t30\t30\nann\nsole";
  table_.Apply(ping);
  EXPECT_TRUE(table_.Info(Key(8))->owner.sole);
}

TEST_F(ProcessTableTest, ForkOfAThreadMakesNoProcessButNamesIt) {
  table_.Apply(ProcessAt(10, 7, ""));
  wire::ForkEvent thread = ForkAt(20, 7, 7, "main");
  thread.new_process = false;
  thread.header = HeaderAt(20, 7, 9);
  table_.Apply(thread);
  EXPECT_EQ(table_.Counters().processes, 1u);
  EXPECT_EQ(table_.ThreadComm({9, 1'009}), "main");
  table_.Apply(CommAt(21, 7, 9, "worker"));
  EXPECT_EQ(table_.ThreadComm({9, 1'009}), "worker");
  EXPECT_EQ(table_.Info(Key(7))->comm, "listed");
}

// What the kernel says of a shell that runs `true`, in the order in which it says it: the program
// and its loader are mapped before EXEC is said.
TEST_F(ProcessTableTest, AProcessThatLivedTwentyMillisecondsIsNamed) {
  table_.Apply(ProcessAt(10, 7, "1000-9000 r-xp 0 08:01 5 /bin/sh\n", "sh\n"));
  table_.Apply(ForkAt(1'000'000, 7, 8, "sh"));
  table_.Apply(CommAt(2'000'000, 8, 8, "true"));
  table_.Apply(MmapAt(2'100'000, 8, 0x5000, 0x1000, "/bin/true"));
  table_.Apply(MmapAt(2'200'000, 8, 0x20000, 0x1000, "/lib/ld.so"));
  table_.Apply(ExecAt(3'000'000, 8, "/bin/true", "true"));
  table_.Apply(MmapAt(4'000'000, 8, 0x30000, 0x1000, "/lib/libc.so"));
  table_.Apply(ExitAt(21'000'000, 8));

  const ProcessInfoRef info = table_.Info(Key(8));
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->comm, "true");
  EXPECT_EQ(info->executable, "/bin/true");
  EXPECT_EQ(info->command_line, "");
  EXPECT_TRUE(info->exited);
  EXPECT_EQ(info->exited_ns, 21'000'000u);
  EXPECT_EQ(PathAt(8, 0x5000), "/bin/true");
  EXPECT_EQ(PathAt(8, 0x20000), "/lib/ld.so");
  EXPECT_EQ(PathAt(8, 0x30000), "/lib/libc.so");
  EXPECT_EQ(PathAt(8, 0x1000), "no mapping");  // the shell's
  EXPECT_EQ(PathAt(7, 0x1000), "/bin/sh");
}

// As if /proc had been read in time: its link to the program leads to the file itself.
TEST_F(ProcessTableTest, TheProgramIsTheFileThatTheKernelMapped) {
  table_.Apply(ForkAt(10, 7, 8, "sh"));
  table_.Apply(CommAt(20, 8, 8, "script"));
  table_.Apply(MmapAt(21, 8, 0x50000, 0x1000, "/usr/bin/python3.11"));
  table_.Apply(MmapAt(22, 8, 0x20000, 0x1000, "/lib/ld.so"));
  table_.Apply(MmapAt(23, 8, 0x10000, 0x1000, "[vdso]"));
  table_.Apply(ExecAt(30, 8, "/bin/script", "script"));
  EXPECT_EQ(table_.Info(Key(8))->executable, "/usr/bin/python3.11");
  table_.Apply(CommAt(40, 8, 8, "true"));
  table_.Apply(ExecAt(50, 8, "/bin/true", "true"));
  EXPECT_EQ(table_.Info(Key(8))->executable, "/bin/true") << "no mapping of it is known";
}

TEST_F(ProcessTableTest, AForkThatComesLateDescribesItsChild) {
  wire::ProcessEvent parent = ProcessAt(10, 7, "1000-2000 r-xp 0 08:01 5 /bin/sh\n", "sh\n");
  parent.blobs[PROFD_BLOB_EXE] = "/bin/sh";
  parent.blobs[PROFD_BLOB_CGROUP] = "0::/a";
  table_.Apply(parent);
  table_.Apply(CommAt(20, 8, 8, "request"));
  table_.Apply(ForkAt(19, 7, 8, "sh"));
  const ProcessInfoRef child = table_.Info(Key(8));
  EXPECT_EQ(child->comm, "request");
  EXPECT_EQ(child->parent, "sh");
  EXPECT_EQ(child->executable, "/bin/sh");
  EXPECT_EQ(child->cgroup, "/a");
  EXPECT_EQ(PathAt(8, 0x1000), "/bin/sh");

  wire::ProcessEvent read = ProcessAt(30, 9, "5000-6000 r-xp 0 08:01 6 /bin/cat\n", "cat\n");
  read.blobs[PROFD_BLOB_EXE] = "/bin/cat";
  read.blobs[PROFD_BLOB_CGROUP] = "0::/b";
  table_.Apply(ExecAt(25, 9, "/bin/cat", "cat"));
  table_.Apply(read);
  table_.Apply(ForkAt(24, 7, 9, "sh"));
  EXPECT_EQ(table_.Info(Key(9))->parent, "sh");
  EXPECT_EQ(table_.Info(Key(9))->executable, "/bin/cat");
  EXPECT_EQ(table_.Info(Key(9))->cgroup, "/b");
  EXPECT_EQ(PathAt(9, 0x1000), "no mapping");
  EXPECT_EQ(PathAt(9, 0x5000), "/bin/cat");
}

TEST_F(ProcessTableTest, AThreadThatEndsHasLeftItsGroupsOfVersion1) {
  wire::ProcessEvent event = ProcessAt(10, 7, "");
  event.blobs[PROFD_BLOB_CGROUP] = "2:cpu:/a\n0::/\n";
  table_.Apply(event);
  EXPECT_EQ(table_.Info(Key(7))->cgroup, "/a");
  event.header.time_ns = 20;
  event.blobs[PROFD_BLOB_CGROUP] = "2:cpu:/\n0::/\n";
  table_.Apply(event);
  EXPECT_EQ(table_.Info(Key(7))->cgroup, "/a");
  event.header.time_ns = 30;
  event.blobs[PROFD_BLOB_CGROUP] = "0::/\n";
  table_.Apply(event);
  EXPECT_EQ(table_.Info(Key(7))->cgroup, "/") << "moved, in version 2";
}

TEST_F(ProcessTableTest, ExecWithoutANewNameBeforeItForgetsAllMappings) {
  table_.Apply(ProcessAt(10, 7, "1000-9000 r-xp 0 08:01 5 /bin/sh\n"));
  table_.Apply(ExecAt(20, 7, "/bin/cat", "cat"));
  EXPECT_EQ(PathAt(7, 0x1000), "no mapping");
  table_.Apply(MmapAt(30, 7, 0x1000, 0x1000, "/lib/libc.so"));
  // The name before the last EXEC says nothing about this one.
  table_.Apply(CommAt(40, 7, 7, "a"));
  table_.Apply(ExecAt(50, 7, "/bin/a", "a"));
  table_.Apply(MmapAt(60, 7, 0x1000, 0x1000, "/lib/libc.so"));
  table_.Apply(ExecAt(70, 7, "/bin/b", "b"));
  EXPECT_EQ(PathAt(7, 0x1000), "no mapping");
  EXPECT_EQ(table_.Info(Key(7))->executable, "/bin/b");
}

TEST_F(ProcessTableTest, ExecOfAnotherThreadThanTheFirst) {
  table_.Apply(ProcessAt(10, 7, ""));
  table_.Apply(CommAt(11, 7, 9, "worker"));
  wire::ExecEvent exec = ExecAt(20, 7, "/bin/cat", "cat");
  exec.old_tid = 9;
  table_.Apply(exec);
  EXPECT_EQ(table_.ThreadComm({9, 1'009}), "");
  EXPECT_EQ(table_.ThreadComm({7, 1'007}), "cat");
  EXPECT_EQ(table_.Info(Key(7))->comm, "cat");
}

TEST_F(ProcessTableTest, ProcReadBeforeTheExecDoesNotDescribeTheNewProgram) {
  table_.Apply(ForkAt(10, 1, 7, "sh"));
  table_.Apply(CommAt(20, 7, 7, "cat"));
  table_.Apply(MmapAt(21, 7, 0x1000, 0x1000, "/bin/cat"));
  table_.Apply(ExecAt(30, 7, "/bin/cat", "cat"));
  wire::ProcessEvent late = ProcessAt(15, 7, "1000-9000 r-xp 0 08:01 5 /bin/sh\n", "sh\n");
  late.blobs[PROFD_BLOB_CMDLINE] = "sh";
  late.blobs[PROFD_BLOB_NSPID] = "7 2";
  table_.Apply(late);
  EXPECT_EQ(table_.Info(Key(7))->comm, "cat");
  EXPECT_EQ(table_.Info(Key(7))->command_line, "");
  EXPECT_THAT(table_.Info(Key(7))->namespace_pids, ElementsAre(7, 2));
  EXPECT_EQ(PathAt(7, 0x1000), "/bin/cat");
  // Read at the very time of the EXEC: that is the new one.
  table_.Apply(ProcessAt(30, 7, "2000-3000 r-xp 0 08:01 5 /bin/cat\n", "cat\n"));
  EXPECT_EQ(PathAt(7, 0x1000), "no mapping");
  EXPECT_EQ(PathAt(7, 0x2000), "/bin/cat");
}

class OwnerOfProcessTest : public ProcessTableTest {
 protected:
  static constexpr const char* kRoot = "0\t0\t0\t0\nroot";
  static constexpr const char* kAnn = "30\t30\t30\t30\nann\nsole";
  static constexpr const char* kSetuid = "30\t0\t0\t0\nroot";

  void Read(std::uint64_t time_ns, const char* user, std::uint32_t pid = 7) {
    wire::ProcessEvent event = ProcessAt(time_ns, pid, "", "x\n");
    event.blobs[PROFD_BLOB_USER] = user;
    table_.Apply(event);
  }
  [[nodiscard]] std::uint64_t Since(std::uint32_t pid = 7) const {
    return table_.Info(Key(pid))->owned_since_ns;
  }
};

TEST_F(OwnerOfProcessTest, BeginsWithTheExecThatMadeItTheirs) {
  Read(10, kRoot);
  EXPECT_EQ(Since(), 0u);
  table_.Apply(ExecAt(30, 7, "/bin/sh", "sh"));
  Read(40, kAnn);
  EXPECT_EQ(Since(), 30u);
  // A user's program that executes another one of the same user is the user's all the time.
  table_.Apply(ExecAt(50, 7, "/bin/cat", "cat"));
  Read(60, kAnn);
  EXPECT_EQ(Since(), 30u);
  EXPECT_TRUE(table_.Info(Key(7))->owner.sole);
}

TEST_F(OwnerOfProcessTest, AProgramThatWasNotLookedAtMayHaveBeenAnothers) {
  Read(10, kAnn);
  table_.Apply(ExecAt(20, 7, "/bin/su", "su"));
  table_.Apply(ExecAt(30, 7, "/bin/sh", "sh"));
  Read(40, kAnn);
  EXPECT_EQ(Since(), 30u);
}

TEST_F(OwnerOfProcessTest, AChangeWithoutAnExecCountsFromWhenItWasSeen) {
  Read(10, kSetuid);
  Read(20, kAnn);
  EXPECT_EQ(Since(), 20u);
}

TEST_F(OwnerOfProcessTest, AChildIsItsUsersFromItsBegin) {
  Read(10, kRoot);
  table_.Apply(ExecAt(20, 7, "/bin/sh", "sh"));
  Read(30, kAnn);
  table_.Apply(ForkAt(40, 7, 8, "sh"));
  table_.Apply(ExecAt(50, 8, "/bin/cat", "cat"));
  Read(60, kAnn, 8);
  EXPECT_EQ(Since(8), 0u);
  // One whose parent was not yet looked at is not.
  table_.Apply(ExecAt(70, 7, "/bin/su", "su"));
  table_.Apply(ForkAt(80, 7, 9, "su"));
  table_.Apply(ExecAt(90, 9, "/bin/sh", "sh"));
  Read(100, kAnn, 9);
  EXPECT_EQ(Since(9), 90u);
}

TEST_F(OwnerOfProcessTest, WhatWasReadBeforeTheExecSaysNothingOfTheNewProgram) {
  Read(10, kAnn);
  table_.Apply(ExecAt(30, 7, "/bin/su", "su"));
  Read(20, kAnn);
  EXPECT_FALSE(table_.Info(Key(7))->owner.sole);
}

TEST_F(ProcessTableTest, MappingsMadeAfterProcWasReadSurviveIt) {
  table_.Apply(MmapAt(5, 7, 0x1000, 0x1000, "/early"));
  EXPECT_EQ(table_.Counters().mmaps_unplaced, 1u);
  table_.Apply(ProcessAt(10, 7, "1000-2000 r-xp 0 08:01 5 /listed\n"));
  table_.Apply(MmapAt(20, 7, 0x1800, 0x1000, "/newer"));
  table_.Apply(MmapAt(20, 7, 0x5000, 0x1000, "/newer"));
  table_.Apply(ProcessAt(15, 7, "1000-3000 r-xp 0 08:01 5 /read again\n"));
  EXPECT_EQ(PathAt(7, 0x1000), "/read again");
  EXPECT_EQ(PathAt(7, 0x1800), "/newer");
  EXPECT_EQ(PathAt(7, 0x2800), "/read again");
  EXPECT_EQ(PathAt(7, 0x5000), "/newer");
  // What was unmapped in between is gone.
  table_.Apply(ProcessAt(30, 7, "1000-2000 r-xp 0 08:01 5 /listed\n"));
  EXPECT_EQ(PathAt(7, 0x5000), "no mapping");
  // A process that cannot be read keeps what is known of it.
  table_.Apply(ProcessAt(40, 7, ""));
  EXPECT_EQ(PathAt(7, 0x1000), "/listed");
}

TEST_F(ProcessTableTest, MappingThatCannotRunTakesThePlaceOfOneThatCould) {
  table_.Apply(ProcessAt(10, 7, "1000-4000 r-xp 0 08:01 5 /a\n"));
  wire::MmapEvent data = MmapAt(20, 7, 0x2000, 0x1000, "/data");
  data.prot = PROT_READ | PROT_WRITE;
  table_.Apply(data);
  EXPECT_EQ(PathAt(7, 0x1fff), "/a");
  EXPECT_EQ(PathAt(7, 0x2000), "no mapping");
  EXPECT_EQ(PathAt(7, 0x3000), "/a");
  EXPECT_EQ(table_.Find(Key(7))->mappings.Find(0x3000)->file_offset, 0x2000u);
}

TEST_F(ProcessTableTest, EqualFilesOfTwoProcessesAreOneModule) {
  table_.Apply(ProcessAt(10, 7, "1000-4000 r-xp 0 08:00 5 /a.so\n"));
  table_.Apply(ProcessAt(10, 8, "5000-8000 r-xp 0 08:00 5 /a.so (deleted)\n"));
  const auto* one = table_.Find(Key(7))->mappings.Find(0x1000);
  const auto* two = table_.Find(Key(8))->mappings.Find(0x5000);
  EXPECT_EQ(one->module, two->module);
  table_.Apply(ForkAt(20, 1, 9, "x"));
  table_.Apply(MmapAt(21, 9, 0x1000, 0x1000, "/a.so"));
  EXPECT_EQ(table_.Find(Key(9))->mappings.Find(0x1000)->module, one->module);
}

TEST_F(ProcessTableTest, LateCommDoesNotOverwriteANewerOne) {
  table_.Apply(ForkAt(10, 1, 7, "sh"));
  table_.Apply(ExecAt(30, 7, "/bin/cat", "cat"));
  table_.Apply(CommAt(20, 7, 7, "between"));
  EXPECT_EQ(table_.Info(Key(7))->comm, "cat");
  EXPECT_EQ(table_.ThreadComm({7, 1'007}), "cat");
}

TEST_F(ProcessTableTest, ClockReadingsReportProcessesAndThreads) {
  wire::ClockEvent clock;
  clock.header = HeaderAt(10, 7);
  clock.comm = "init";
  table_.Apply(clock);
  clock.header = HeaderAt(10, 7, 9);
  clock.comm = "worker";
  table_.Apply(clock);
  EXPECT_EQ(table_.Info(Key(7))->comm, "init");
  EXPECT_EQ(table_.ThreadComm({9, 1'009}), "worker");
  // The end of a thread does not bring its process back.
  clock.header = HeaderAt(11, 8);
  clock.end = true;
  table_.Apply(clock);
  clock.end = false;
  clock.state = PROFD_STATE_DEAD;
  table_.Apply(clock);
  EXPECT_EQ(table_.Info(Key(8)), nullptr);
}

TEST_F(ProcessTableTest, ExitOfOneThreadIsNotTheEndOfTheProcess) {
  table_.Apply(ProcessAt(10, 7, ""));
  table_.Apply(ExitAt(20, 7, false));
  EXPECT_FALSE(table_.Info(Key(7))->exited);
  wire::ExitEvent last = ExitAt(30, 7);
  last.exit_code = 256;
  table_.Apply(last);
  EXPECT_TRUE(table_.Info(Key(7))->exited);
  EXPECT_EQ(table_.Info(Key(7))->exit_code, 256u);
}

TEST_F(ProcessTableTest, EverythingIsForgottenWhenTheLastSessionEnds) {
  wire::SessionEvent first;
  first.session = 3;
  wire::SessionEvent second;
  second.session = 63;
  table_.Apply(first);
  table_.Apply(second);
  table_.Apply(ProcessAt(10, 7, "1000-2000 r-xp 0 08:01 5 /a\n"));
  table_.Apply(CommAt(11, 7, 9, "worker"));
  table_.Apply(ExitAt(12, 7));
  const std::weak_ptr<const Module> module = table_.Find(Key(7))->mappings.Find(0x1000)->module;
  first.end = true;
  table_.Apply(first);
  EXPECT_EQ(PathAt(7, 0x1000), "/a");
  second.end = true;
  table_.Apply(second);
  EXPECT_EQ(table_.Find(Key(7)), nullptr);
  EXPECT_EQ(table_.ThreadComm({9, 1'009}), "");
  EXPECT_EQ(table_.Counters().processes, 0u);
  EXPECT_EQ(table_.Counters().evicted_early, 0u);
  EXPECT_TRUE(module.expired());
  // A process of that number lives in the next session.
  table_.Apply(ProcessAt(20, 7, "1000-2000 r-xp 0 08:01 5 /a\n"));
  EXPECT_FALSE(table_.Info(Key(7))->exited);
}

TEST(ProcessTableBoundsTest, TheDeadAreKeptForTheGraceTime) {
  ProcessTable table(ProcessLimits{.grace_after_exit_ns = 100});
  table.Apply(ProcessAt(10, 7, "1000-4000 r-xp 0 08:00 5 /a.so\n"));
  table.Apply(ExitAt(20, 7));
  table.Apply(ProcessAt(119, 8, ""));
  ASSERT_NE(table.Find(Key(7)), nullptr);
  EXPECT_NE(table.Find(Key(7))->mappings.Find(0x1000), nullptr);
  table.Apply(ProcessAt(120, 8, ""));
  EXPECT_EQ(table.Find(Key(7)), nullptr);
  EXPECT_EQ(table.Counters().processes, 1u);
  EXPECT_EQ(table.Counters().evicted_early, 0u);
  table.Apply(MmapAt(121, 7, 0x1000, 0x1000, "/a"));
  EXPECT_EQ(table.Counters().mmaps_unplaced, 1u);
}

TEST(ProcessTableBoundsTest, NamesOfThreadsAreKeptForTheGraceTime) {
  ProcessTable table(ProcessLimits{.grace_after_exit_ns = 100});
  table.Apply(ProcessAt(10, 7, ""));
  table.Apply(CommAt(11, 7, 9, "worker"));
  wire::ExitEvent exit = ExitAt(20, 7, false);
  exit.header.thread = {9, 1'009};
  table.Apply(exit);
  table.Apply(ProcessAt(119, 8, ""));
  EXPECT_EQ(table.ThreadComm({9, 1'009}), "worker");
  table.Apply(ProcessAt(120, 8, ""));
  EXPECT_EQ(table.ThreadComm({9, 1'009}), "");
}

TEST(ProcessTableBoundsTest, TheDeadGoEarlyWhenMemoryIsRequested) {
  ProcessTable table;
  budget::MemoryAccount memory{"processes"};
  for (std::uint32_t pid = 7; pid < 10; ++pid)
    table.Apply(ProcessAt(10, pid, "1000-4000 r-xp 0 08:00 5 /a.so\n"));
  table.Apply(ExitAt(20, 7));
  table.Apply(ExitAt(21, 8));
  table.AccountForMemory(memory);
  const std::uint64_t three = memory.bytes();
  EXPECT_NE(table.Find(Key(7)), nullptr) << "no request has come";
  memory.RequestReclaim(1);
  table.AccountForMemory(memory);
  EXPECT_EQ(table.Find(Key(7)), nullptr);
  EXPECT_NE(table.Find(Key(8)), nullptr);
  EXPECT_EQ(memory.bytes(), three / 3 * 2);
  memory.RequestReclaim(three);
  table.AccountForMemory(memory);
  EXPECT_EQ(table.Find(Key(8)), nullptr);
  EXPECT_NE(table.Find(Key(9)), nullptr) << "it lives";
  EXPECT_EQ(table.Counters().evicted_early, 2u);
}

TEST(ProcessTableBoundsTest, ANumberUsedAgainEndsTheProcessThatHadIt) {
  ProcessTable table;
  table.Apply(ProcessAt(10, 7, "1000-4000 r-xp 0 08:00 5 /old\n"));
  wire::ForkEvent again = ForkAt(20, 1, 7, "young");
  again.header = HeaderAt(20, 7, 0, 5'000);
  table.Apply(again);
  table.Apply(MmapAt(21, 7, 0x1000, 0x1000, "/young"));
  EXPECT_TRUE(table.Info(Key(7))->exited);
  EXPECT_FALSE(table.Info(Key(7, 5'000))->exited);
  EXPECT_EQ(table.Find(Key(7))->mappings.Find(0x1000)->module->path, "/old");
  EXPECT_EQ(table.Find(Key(7, 5'000))->mappings.Find(0x1000)->module->path, "/young");
  // Late word of yet another process that had the number before: over as well.
  wire::ProcessEvent late = ProcessAt(22, 7, "");
  late.header.process.start_ns = 1;
  table.Apply(late);
  EXPECT_TRUE(table.Info({7, 1})->exited);
  EXPECT_FALSE(table.Info(Key(7, 5'000))->exited);
}

TEST(ProcessTableBoundsTest, BeyondTheBoundTheDeadGoFirstThenTheQuiet) {
  ProcessTable table(ProcessLimits{.processes = 32});
  for (std::uint32_t pid = 1; pid <= 32; ++pid) table.Apply(ProcessAt(100 + pid, pid, ""));
  table.Apply(ExitAt(200, 30));
  table.Apply(ExitAt(201, 31));
  table.Apply(ExitAt(202, 32));
  for (std::uint32_t pid = 100; pid <= 102; ++pid) table.Apply(ProcessAt(300, pid, ""));
  EXPECT_EQ(table.Counters().evicted_early, 3u);
  EXPECT_EQ(table.Counters().evicted_alive, 0u);
  EXPECT_EQ(table.Find(Key(30)), nullptr);
  EXPECT_NE(table.Find(Key(29)), nullptr);
  table.Apply(MmapAt(301, 1, 0x1000, 0x1000, "/a"));  // not quiet any more
  for (std::uint32_t pid = 103; pid <= 105; ++pid) table.Apply(ProcessAt(302, pid, ""));
  EXPECT_EQ(table.Counters().evicted_early, 3u);
  EXPECT_EQ(table.Counters().evicted_alive, 3u);
  EXPECT_NE(table.Find(Key(1)), nullptr);
  EXPECT_EQ(table.Find(Key(2)), nullptr);
  EXPECT_EQ(table.Find(Key(4)), nullptr);
  EXPECT_NE(table.Find(Key(5)), nullptr);
  EXPECT_NE(table.Find(Key(105)), nullptr);
  EXPECT_EQ(table.Counters().processes, 32u);
}

TEST(ProcessTableBoundsTest, EveryBoundHoldsAndIsCounted) {
  ProcessTable table(ProcessLimits{
      .processes = 64, .threads = 64, .modules = 100, .mappings_per_process = 50, .mappings = 400});
  for (std::uint32_t pid = 1; pid <= 1'000; ++pid) {
    table.Apply(ForkAt(pid, 0, pid, "p"));
    for (std::uint32_t i = 0; i < 60; ++i) {
      wire::MmapEvent mmap = MmapAt(pid, pid, 0x1000 * (i + 1), 0x1000, "/a");
      mmap.inode = 1'000 * pid + i + 1;
      table.Apply(mmap);
    }
  }
  const ProcessCounters counters = table.Counters();
  EXPECT_LE(counters.processes, 64u);
  EXPECT_GT(counters.evicted_alive, 0u);
  EXPECT_GT(counters.mappings_refused, 0u);
  EXPECT_GT(counters.modules_refused, 0u);
  EXPECT_GT(counters.threads_forgotten, 0u);
  EXPECT_LE(table.modules().size(), 100u);
  std::size_t mappings = 0;
  for (std::uint32_t pid = 1; pid <= 1'000; ++pid) {
    const auto* process = table.Find(Key(pid));
    if (process == nullptr) continue;
    EXPECT_LE(process->mappings.size(), 50u);
    mappings += process->mappings.size();
  }
  EXPECT_LE(mappings, 400u);
}

}  // namespace
}  // namespace profd::process
