#include "client/profile/report/call_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/profile/report/report_table.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using ::testing::ElementsAre;
using testing::ProfileMaker;
using testing::Running;

constexpr std::uint64_t kMs = 1'000'000;

// A line a node: "  name total/self", two spaces a level, ms.
std::vector<std::string> Lines(const Result<CallTree>& tree) {
  EXPECT_TRUE(tree) << (tree ? "" : tree.error().message);
  std::vector<std::string> lines;
  if (!tree) return lines;
  std::vector<std::uint32_t> open{0};
  while (!open.empty()) {
    const CallNode& node = tree->nodes[open.back()];
    open.pop_back();
    lines.push_back(std::string(2 * node.depth, ' ') + node.name +
                    (node.hidden > 0 ? " +" + std::to_string(node.hidden) : "") + " " +
                    std::to_string(node.total.all().ns / kMs) + "/" +
                    std::to_string(node.self.all().ns / kMs));
    open.insert(open.end(), node.children.rbegin(), node.children.rend());
  }
  return lines;
}

v1::Profile Recursive() {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"main", "walk", "visit", "walk", "leaf"}, Running(30, 30));
  maker.Add(thread, {"main", "walk", "walk"}, Running(20, 20));
  maker.Add(thread, {"other", "walk", "leaf"}, Blocked(v1::WAIT_IO, 10, 10));
  maker.Add(thread, {"main"}, Running(5, 5));
  return maker.Make();
}

TEST(CallTreeTest, CallersAreThoseOfTheOutermostFrame) {
  const auto tree = CallersOf("walk", Recursive(), {});
  EXPECT_THAT(Lines(tree), ElementsAre("walk 60/0", "  main 50/50", "  other 10/10"));
  EXPECT_EQ(tree->all_ns, 65 * kMs);
}

TEST(CallTreeTest, CalleesAreThoseOfTheInnermostFrame) {
  const auto tree = CalleesOf("walk", Recursive(), {});
  EXPECT_THAT(Lines(tree), ElementsAre("walk 60/20", "  leaf 40/40"));
  EXPECT_THAT(Lines(CalleesOf("main", Recursive(), {})),
              ElementsAre("main 55/5", "  walk 50/0", "    visit 30/0", "      walk 30/0",
                          "        leaf 30/30", "    walk 20/20"));
}

TEST(CallTreeTest, BothSidesHaveTheTotalOfTheTable) {
  for (const v1::Profile& profile : {testing::LargeProfile(2000), testing::TypicalProfile()}) {
    const auto keys = ParseReportKeys("function");
    ASSERT_TRUE(keys);
    ReportTable table = TableBy(*keys->front(), profile, {});
    ASSERT_TRUE(SortRows(table, "total"));
    table.rows.resize(std::min<std::size_t>(table.rows.size(), 20));
    for (const ReportRow& row : table.rows) {
      const auto callers = CallersOf(row.name, profile, {});
      const auto callees = CalleesOf(row.name, profile, {});
      ASSERT_TRUE(callers && callees) << row.name;
      EXPECT_EQ(callers->nodes[0].total.all().ns, row.total.all().ns) << row.name;
      EXPECT_EQ(callees->nodes[0].total.all().ns, row.total.all().ns) << row.name;
      EXPECT_EQ(callees->all_ns, table.all.all().ns);
      for (const CallTree* tree : {&*callers, &*callees})
        for (const CallNode& node : tree->nodes) {
          std::uint64_t below = node.self.all().ns;
          for (const std::uint32_t child : node.children)
            below += tree->nodes[child].total.all().ns;
          ASSERT_EQ(below, node.total.all().ns) << node.name;
        }
    }
  }
}

TEST(CallTreeTest, FunctionsAreFoundByTheNamesThatReportsShow) {
  const v1::Profile typical = testing::TypicalProfile();
  for (const char* name : {"DataLoader.decode", "DataLoader.decode (data.py)",
                           "DataLoader.decode (data.py:77)", "decode_jpeg_fast"})
    EXPECT_TRUE(CallersOf(name, typical, {})) << name;
  const auto none = CallersOf("decode", typical, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "no data: no stack has the function 'decode'");
  EXPECT_EQ(none.error().hint, "there are DataLoader.decode (data.py), decode_jpeg_fast_[j]");
}

v1::Frame Python(const std::string& name, const std::string& file) {
  v1::Frame frame;
  frame.set_kind(v1::FRAME_PYTHON);
  frame.set_name(name);
  frame.set_file(file);
  return frame;
}

v1::Frame Native(const std::string& name, const std::string& module) {
  v1::Frame frame;
  frame.set_name(name);
  frame.set_module(module);
  return frame;
}

TEST(ProgramTreeTest, FramesOfALibraryThatFollowEachOtherAreOne) {
  ProfileMaker maker;
  maker.profile().mutable_processes(0)->set_executable("/usr/bin/demo");
  const auto thread = maker.AddThread(4242, "demo");
  const std::string numpy = "/v/lib/python3.11/site-packages/numpy/core.py";
  const v1::Frame main = Python("main", "/srv/a.py");
  maker.AddFrames(thread,
                  {main, Python("ones", numpy), Python("full", numpy),
                   Python("callback", "/srv/a.py"), Python("dumps", "/usr/lib/python3.11/json.py")},
                  Running(30, 30));
  maker.AddFrames(thread, {main, Python("zeros", numpy), Native("memset", "/lib/libc.so.6")},
                  Running(20, 20));
  maker.AddFrames(thread, {Native("start", "/usr/bin/demo"), Native("run", "/usr/bin/demo")},
                  Running(10, 10));
  EXPECT_THAT(Lines(ProgramTree(maker.Make(), TreeOrder::kMerged, {})),
              ElementsAre("all 60/0", "  main (a.py) 50/0", "    numpy +3 50/0",
                          "      callback (a.py) 30/0", "        dumps (json.py) 30/30",
                          "      memset 20/20", "  start 10/0", "    run 10/10"));
}

TEST(ProgramTreeTest, SeveralProcessesAreApart) {
  ProfileMaker maker;
  const auto second = maker.AddProcess(7, "second");
  maker.Add(maker.AddThread(4242, "demo"), {"[a]"}, Running(10, 10));
  maker.Add(maker.AddThread(7, "x", second), {"[a]"}, Running(20, 20));
  maker.Add(maker.AddThread(8, "y", second), {}, Running(5, 5));
  EXPECT_THAT(Lines(ProgramTree(maker.Make(), TreeOrder::kMerged, {})),
              ElementsAre("all 35/0", "  second (7) 25/0", "    [a] 20/20", "    [no stack] 5/5",
                          "  demo (4242) 10/0", "    [a] 10/10"));
}

TEST(ProgramTreeTest, ProcessesOfOneProgramAreOne) {
  ProfileMaker maker;
  const auto second = maker.AddProcess(7, "demo");
  maker.Add(maker.AddThread(4242, "demo"), {"[a]"}, Running(10, 10));
  maker.Add(maker.AddThread(7, "demo", second), {"[a]"}, Running(20, 20));
  v1::Profile profile = maker.Make();
  for (v1::Process& process : *profile.mutable_processes()) process.set_command_line("/bin/demo");
  EXPECT_THAT(Lines(ProgramTree(profile, TreeOrder::kMerged, {})),
              ElementsAre("all 30/0", "  demo x 2 30/0", "    [a] 30/30"));
}

TEST(ProgramTreeTest, ATimelineKeepsCallsApart) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  maker.Add(thread, {"[main]", "[load]"}, Running(10));
  maker.Add(thread, {"[main]", "[load]", "[read]"}, Running(10));
  maker.Add(thread, {"[main]", "[load]", "[read]"}, Running(10));
  maker.Add(thread, {"[main]", "[load]"}, Running(10));
  maker.Add(thread, {"[main]", "[load]", "[read]"}, Running(10));
  maker.Add(thread, {"[main]", "[step]"}, Running(10));
  maker.Add(thread, {"[main]", "[load]"}, Running(10));
  EXPECT_THAT(Lines(ProgramTree(maker.Make(), TreeOrder::kTimeline, {})),
              ElementsAre("all 70/0", "  demo (4242) 70/0", "    [main] 70/0", "      [load] 50/20",
                          "        [read] 20/20", "        [read] 10/10", "      [step] 10/10",
                          "      [load] 10/10"));
  const auto sums = ProgramTree(testing::SmallProfile(), TreeOrder::kTimeline, {});
  ASSERT_FALSE(sums);
  EXPECT_EQ(sums.error().code, ErrorCode::kUnsupported);
}

TEST(ProgramTreeTest, AddsUpToTheTimeOfAllSamples) {
  for (const v1::Profile& profile : {testing::LargeProfile(2000), testing::TypicalProfile(),
                                     testing::HostileProfile(), testing::ManyThreadsProfile(9)}) {
    const auto tree = ProgramTree(profile, TreeOrder::kMerged, {});
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->nodes[0].total.all().ns, TimeOf(profile).all().ns);
    std::uint64_t self = 0;
    for (const CallNode& node : tree->nodes) self += node.self.all().ns;
    EXPECT_EQ(self, tree->all_ns);
  }
}

}  // namespace
}  // namespace profd::client
