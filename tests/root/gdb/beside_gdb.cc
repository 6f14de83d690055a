#include "tests/root/gdb/beside_gdb.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/root/unwind/direct_tables.h"

namespace profd::gdb {
namespace {

constexpr int kRounds = 20;
constexpr int kRoundsUntilTablesAreReady = 100;

// "" when both say the same. gdb goes on to the outermost frame; ours ends before it only where it
// says that it had no more room.
std::string Difference(const wire::StackEvent& ours, const GdbThread& theirs) {
  std::vector<std::uint64_t> frames = ours.user_frames;
  for (std::uint64_t& frame : frames) frame &= ~PROFD_FRAME_EXACT;
  std::vector<std::uint64_t> expected = theirs.frames;
  std::uint16_t flags = PROFD_STACK_COMPLETE;
  if (expected.size() > PROFD_MAX_USER_FRAMES) {
    expected.resize(PROFD_MAX_USER_FRAMES);
    flags = PROFD_STACK_USER_TRUNCATED;
  }
  if (frames == expected && theirs.ended_by == "outermost" && ours.stack_flags == flags) return "";
  std::ostringstream text;
  text << std::hex << "ours (flags " << ours.stack_flags << ", uncertain from "
       << ours.uncertain_from << "):\n ";
  for (const std::uint64_t frame : frames) text << ' ' << frame;
  text << "\n gdb (" << theirs.ended_by << "):\n ";
  for (const std::uint64_t frame : theirs.frames) text << ' ' << frame;
  return text.str();
}

}  // namespace

void BesideGdb::SetUpTestSuite() {
  if (::geteuid() != 0) return;
  auto live = source::LiveSource::Start({}, [](source::BpfSource& source) {
    auto& maps = source.unwind_maps();
    auto tables = std::make_shared<unwind::DirectTables>(maps);
    source.OnWanted(
        [service = tables.get()](const profd_wanted& wanted) { service->service().Want(wanted); });
    return tables;
  });
  ASSERT_TRUE(live) << live.error().message;
  live_ = *std::move(live);
}

void BesideGdb::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (::access("/usr/bin/gdb", X_OK) != 0) GTEST_SKIP() << "gdb is not installed";
  ASSERT_TRUE(live_);
}

BesideGdb::Ours BesideGdb::Snapshot(std::uint32_t pid) {
  session::SessionSpec spec;
  spec.target = *session::ParseTarget("pid " + std::to_string(pid));
  Ours ours;
  for (int round = 0; round < kRoundsUntilTablesAreReady; ++round) {
    ours.before = ReadSwitches(pid);
    ours.stacks.clear();
    const auto heard = live_->End(live_->Begin(spec));
    bool ready = true;
    for (auto& stack : heard.All<wire::StackEvent>()) {
      if (stack.origin != wire::SampleOrigin::kSnapshot) continue;
      ready = ready && (stack.stack_flags & PROFD_STACK_TABLES_NOT_READY) == 0;
      ours.stacks[stack.header.thread.tid] = std::move(stack);
    }
    if (ready) return ours;
  }
  ADD_FAILURE() << "tables are never ready";
  return ours;
}

void BesideGdb::Compare(std::uint32_t pid, Comparison& comparison) {
  auto gdb = Gdb::Start(pid);
  ASSERT_TRUE(gdb) << gdb.error().message;
  const Ours ours = Snapshot(pid);
  const auto theirs = gdb->ReadStacks();
  ASSERT_TRUE(theirs) << theirs.error().message;
  std::ostringstream left_out;
  comparison.threads = theirs->size();
  for (const auto& [tid, thread] : *theirs) {
    const auto before = ours.before.find(tid);
    const auto stack = ours.stacks.find(tid);
    if (comparison.same.contains(tid)) continue;
    if (stack == ours.stacks.end() || before == ours.before.end()) {
      left_out << tid << " was not blocked; ";
    } else if (before->second != thread.before || !thread.stood_still()) {
      left_out << tid << " ran in between; ";
    } else {
      const std::string difference = Difference(stack->second, thread);
      EXPECT_EQ(difference, "") << "thread " << tid;
      comparison.same[tid] = difference.empty();
      comparison.frames += thread.frames.size();
      comparison.deepest = std::max(comparison.deepest, thread.frames.size());
      if ((stack->second.stack_flags & PROFD_STACK_USER_TRUNCATED) != 0) ++comparison.truncated;
    }
  }
  comparison.not_compared = left_out.str();
}

Comparison BesideGdb::ExpectSameStacks(std::uint32_t pid, const std::string& name) {
  Comparison comparison;
  int round = 0;
  do {
    Compare(pid, comparison);
  } while (++round < kRounds && !HasFatalFailure() && !comparison.not_compared.empty());
  EXPECT_GT(comparison.same.size(), 0u) << name;
  EXPECT_EQ(comparison.not_compared, "") << name;
  std::printf("%s: %zu of %zu threads compared in %d rounds, %zu frames, deepest %zu\n",
              name.c_str(), comparison.same.size(), comparison.threads, round, comparison.frames,
              comparison.deepest);
  return comparison;
}

}  // namespace profd::gdb
