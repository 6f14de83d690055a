#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>

#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using ProcessTest = LiveTest;
using wire::ExecEvent;
using wire::ExitEvent;
using wire::MmapEvent;
using wire::ProcessEvent;

std::vector<ProcessEvent> Of(const Heard& heard, std::uint32_t pid) {
  auto processes = heard.All<ProcessEvent>();
  std::erase_if(processes, [&](const auto& event) { return event.header.process.pid != pid; });
  return processes;
}

TEST_F(ProcessTest, WhatProcSaysStandsBeforeTheStart) {
  const Puppet puppet([](const Puppet::Strings& strings) { strings.Wait(); });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  const Heard heard = live_->End(session);
  const auto processes = Of(heard, puppet.pid());
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_LE(processes[0].header.time_ns, heard.start.epoch_ns);
  EXPECT_NE(processes[0].blobs[PROFD_BLOB_MAPS].find("source_root_test"), std::string::npos);
  EXPECT_EQ(processes[0].blobs[PROFD_BLOB_COMM], "source_root_tes\n");
  const auto clock = heard.AtStart(puppet.pid());
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->header.process, processes[0].header.process)
      << "the start time of the event is that of /proc";
}

TEST_F(ProcessTest, AProgramStartedInsideIsNamedAndItsMappingsKnown) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    const pid_t child = ::fork();
    if (child == 0) ::execl("/bin/sleep", "sleep-by-test", "0.2", nullptr);
    strings.Say({static_cast<std::uint64_t>(child)});
    ::waitpid(child, nullptr, 0);
    strings.Say({1});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet, " +children"));
  puppet.Go();
  const auto child = static_cast<std::uint32_t>(puppet.Hear(1)[0]);
  ASSERT_EQ(puppet.Hear(1)[0], 1u);
  const Heard heard = live_->End(session);

  const auto execs = heard.All<ExecEvent>();
  ASSERT_EQ(execs.size(), 1u);
  EXPECT_EQ(execs[0].header.process.pid, child);
  EXPECT_EQ(execs[0].path, "/bin/sleep");
  const auto processes = Of(heard, child);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].header.time_ns, execs[0].header.time_ns);
  EXPECT_EQ(processes[0].blobs[PROFD_BLOB_CMDLINE], std::string("sleep-by-test\0"
                                                                "0.2\0",
                                                                18));
  EXPECT_NE(processes[0].blobs[PROFD_BLOB_EXE].find("sleep"), std::string::npos);

  const auto mmaps = heard.All<MmapEvent>();
  EXPECT_TRUE(std::ranges::any_of(mmaps, [&](const MmapEvent& mmap) {
    return mmap.header.process.pid == child && mmap.path.find("libc") != std::string::npos &&
           (mmap.prot & PROT_EXEC) != 0 && mmap.inode != 0 &&
           mmap.header.time_ns > execs[0].header.time_ns;
  })) << "the loader mapped libc after the exec";
  const auto exits = heard.All<ExitEvent>();
  EXPECT_TRUE(std::ranges::any_of(exits, [&](const ExitEvent& exit) {
    return exit.header.process.pid == child && exit.last_thread && exit.exit_code == 0;
  }));
}

TEST_F(ProcessTest, MappingsOfOthersAreNotHandedOver) {
  const Puppet member([](const Puppet::Strings& strings) { strings.Wait(); });
  Puppet other([](const Puppet::Strings& strings) {
    strings.Wait();
    ::mmap(nullptr, 4'096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strings.Say({1});
    strings.Wait();
  });
  const auto session = live_->Begin(SpecOf(member));
  other.Go();
  ASSERT_EQ(other.Hear(1)[0], 1u);
  const Heard heard = live_->End(session);
  for (const auto& mmap : heard.All<MmapEvent>()) EXPECT_EQ(mmap.header.process.pid, member.pid());
}

TEST_F(ProcessTest, ANewMappingOfAMemberIsReportedWithItsTime) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    const std::uint64_t before = MonotonicNs();
    const void* address =
        ::mmap(nullptr, 8'192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strings.Say({reinterpret_cast<std::uint64_t>(address), before, MonotonicNs()});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  puppet.Go();
  const auto truth = puppet.Hear(3);
  const Heard heard = live_->End(session);
  const auto mmaps = heard.All<MmapEvent>();
  const auto found = std::ranges::find(mmaps, truth[0], &MmapEvent::address);
  ASSERT_NE(found, mmaps.end());
  EXPECT_EQ(found->header.process.pid, puppet.pid());
  EXPECT_EQ(found->bytes, 8'192u);
  EXPECT_EQ(found->path, "");
  EXPECT_GE(found->header.time_ns, truth[1]);
  EXPECT_LE(found->header.time_ns, truth[2]);
}

}  // namespace
}  // namespace profd::source
