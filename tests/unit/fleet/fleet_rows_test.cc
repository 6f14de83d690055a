#include "daemon/fleet/tables/fleet_rows.h"

#include <gtest/gtest.h>

#include <map>

#include "daemon/fleet/tables/fleet_paths.h"
#include "daemon/fleet/tables/row_binary.h"
#include "daemon/fleet/tables/sent_stacks.h"

namespace profd::fleet {
namespace {

using symbolize::FrameKind;

constexpr std::uint64_t kHourNs = 3'600ull * 1'000'000'000;

// These never change: stacks of last month have them.
TEST(FleetStackTest, HashesAreThoseOfEveryBuild) {
  EXPECT_EQ(FleetStackHash({{"main", "redis-server", "server.c", FrameKind::kNative}}),
            7009382961108419559ull);
  EXPECT_EQ(FleetStackHash({{"read", "libc.so.6", "", FrameKind::kNative},
                            {"handle", "", "/srv/app.py", FrameKind::kPython},
                            {"do_syscall_64", "[kernel]", "", FrameKind::kKernel}}),
            15429361765721822956ull);
  EXPECT_EQ(FleetStackHash({{"(other)", "", "", FrameKind::kPseudo}}), 11965511900762166050ull);
}

TEST(FleetStackTest, HashesDifferInEachArray) {
  const FleetFrame frame{"f", "m", "s.c", FrameKind::kNative};
  const std::uint64_t hash = FleetStackHash({frame});
  EXPECT_NE(FleetStackHash({{"g", "m", "s.c", FrameKind::kNative}}), hash);
  EXPECT_NE(FleetStackHash({{"f", "n", "s.c", FrameKind::kNative}}), hash);
  EXPECT_NE(FleetStackHash({{"f", "m", "t.c", FrameKind::kNative}}), hash);
  EXPECT_NE(FleetStackHash({{"f", "m", "s.c", FrameKind::kJit}}), hash);
  EXPECT_NE(FleetStackHash({{"fm", "", "s.c", FrameKind::kNative}}), hash);
  EXPECT_NE(FleetStackHash({frame, frame}), hash);
}

TEST(FleetStackTest, StacksThatDifferInPlacesAloneAreOne) {
  ExportProfile profile;
  symbolize::Frame frame{.name = "work", .module = "/opt/v1/bin/app", .offset = 16, .line = 3};
  profile.frames = {frame, frame, frame};
  profile.frames[1].module = "/opt/v2/bin/app";
  profile.frames[1].offset = 32;
  profile.frames[1].line = 4;
  profile.frames[2].name = "rest";
  profile.nodes = {{}, {0, 0}, {0, 1}, {0, 2}};
  FleetStacks stacks(profile);
  const auto of = [&](std::uint32_t node) { return stacks.Of({.node = node}); };
  EXPECT_EQ(of(1), of(2));
  EXPECT_NE(of(1), of(3));
  EXPECT_EQ(stacks.frames()[stacks.all()[of(1)].frames[0]].module, "app");
  EXPECT_EQ(stacks.Of({.part = Part::kStolen}), stacks.Pseudo("[stolen]"));
  EXPECT_EQ(of(0), stacks.Pseudo("[no stack]"));
}

TEST(FleetRowsTest, LabelsBecomeColumns) {
  const LabelColumns columns = ColumnsOf({{"service.name", "checkout"},
                                          {"service.version", "1.2"},
                                          {"cloud.availability_zone", "eu-1a"},
                                          {"k8s.namespace.name", "shop"},
                                          {"k8s.pod.name", "checkout-7f"},
                                          {"k8s.container.name", "app"},
                                          {"container.name", "k8s_app"},
                                          {"systemd.unit", "kubelet.service"},
                                          {"process.executable.name", "java"},
                                          {"host.name", "web-1"},
                                          {"container.id", "0a"},
                                          {"k8s.pod.uid", "1b"},
                                          {"process.executable.build_id.gnu", "2c"},
                                          {"team", "money"}});
  EXPECT_EQ(columns.service, "checkout");
  EXPECT_EQ(columns.version, "1.2");
  EXPECT_EQ(columns.zone, "eu-1a");
  EXPECT_EQ(columns.name_space, "shop");
  EXPECT_EQ(columns.pod, "checkout-7f");
  EXPECT_EQ(columns.container, "app");
  EXPECT_EQ(columns.unit, "kubelet.service");
  EXPECT_EQ(columns.executable, "java");
  EXPECT_EQ(columns.labels, (Labels{{"team", "money"}}));
  EXPECT_EQ(ColumnsOf({{"container.name", "redis"}}).container, "redis");
}

// These never change either: paths of last month have them.
TEST(FleetPathTest, HashesAreThoseOfEveryBuild) {
  using aggregate::PathHow;
  using aggregate::PathKind;
  EXPECT_EQ(FleetPathHash({{.kind = PathKind::kTimer}}, false), 4413117459798394332ull);
  const std::vector<FleetStep> steps = {
      {PathKind::kWaits, PathHow::kWoke, process::WaitReason::kLock, "worker-#", "cart", true, 7},
      {PathKind::kRuns, PathHow::kOwner, process::WaitReason::kNone, "writer", "db", false, 9}};
  EXPECT_EQ(FleetPathHash(steps, true), 5854216914612181664ull);
}

TEST(FleetPathTest, HashesDifferInEachColumn) {
  using aggregate::PathHow;
  using aggregate::PathKind;
  const FleetStep step{
      PathKind::kWaits, PathHow::kWoke, process::WaitReason::kLock, "worker", "cart", true, 7};
  const std::uint64_t hash = FleetPathHash({step}, false);
  EXPECT_NE(FleetPathHash({step}, true), hash);
  EXPECT_NE(FleetPathHash({step, step}, false), hash);
  std::vector<FleetStep> others(7, step);
  others[0].kind = PathKind::kRuns;
  others[1].how = PathHow::kExit;
  others[2].wait = process::WaitReason::kNet;
  others[3].thread = "worke";
  others[4].service = "car";
  others[5].own = false;
  others[6].stack = 8;
  for (const FleetStep& other : others) EXPECT_NE(FleetPathHash({other}, false), hash);
}

TEST(FleetPathTest, ThreadsThatDifferInNumbersAloneAreOne) {
  ExportProfile profile;
  profile.threads = {"w-1", "w-2", "x"};
  profile.nodes = {{}};
  for (const std::uint32_t thread : {1u, 2u, 3u})
    profile.paths.push_back({{.kind = aggregate::PathKind::kRuns, .thread = thread}});
  FleetStacks stacks(profile);
  FleetPaths paths(profile, stacks);
  EXPECT_EQ(paths.Of(0), 0u);
  EXPECT_EQ(paths.Of(1), paths.Of(2));
  EXPECT_NE(paths.Of(1), paths.Of(3));
  EXPECT_EQ(paths.all().size(), 2u);
  EXPECT_EQ(paths.all()[0].steps[0].thread, "w-#");
}

TEST(FleetRowsTest, ThreadsAreGroups) {
  EXPECT_EQ(ThreadGroup("worker-12"), "worker-#");
  EXPECT_EQ(ThreadGroup("kworker/3:1H-kbl"), "kworker/#:#H-kbl");
  EXPECT_EQ(ThreadGroup("2048"), "#");
  EXPECT_EQ(ThreadGroup("main"), "main");
  EXPECT_EQ(ThreadGroup(""), "");
}

TEST(FleetRowsTest, RowsThatDifferInLeftOutLabelsAreOne) {
  ExportProfile profile;
  profile.label_sets = {{{"service.name", "a"}, {"container.id", "1"}},
                        {{"service.name", "a"}, {"container.id", "2"}}};
  profile.threads = {"w-1", "w-2"};
  profile.nodes = {{}};
  profile.rows = {{.labels = 0, .thread = 0, .count = 1, .ns = 10},
                  {.labels = 1, .thread = 1, .count = 2, .ns = 20}};
  FleetStacks stacks(profile);
  FleetPaths paths(profile, stacks);
  const FleetRows rows = MakeFleetRows(profile, 10, stacks, paths);
  ASSERT_EQ(rows.samples.size(), 1u);
  EXPECT_EQ(rows.samples[0].ns, 30u);
  EXPECT_EQ(rows.samples[0].count, 3u);
  ASSERT_EQ(rows.clocks.size(), 1u);
  EXPECT_EQ(rows.clocks[0].ns, 30u);
}

// Whether it goes out; then the receiver has it.
bool Goes(SentStacks& sent, std::string_view service, std::uint64_t hash, std::uint64_t now_ns) {
  const bool goes = sent.Take(service, hash, now_ns);
  sent.GoWith("payload");
  sent.Delivered("payload");
  return goes;
}

TEST(SentStacksTest, StacksGoOutAgainAfterOneToTwoDays) {
  SentStacks sent;
  EXPECT_TRUE(Goes(sent, "a", 1, kHourNs));
  EXPECT_FALSE(Goes(sent, "a", 1, 2 * kHourNs));
  EXPECT_TRUE(Goes(sent, "b", 1, 2 * kHourNs)) << "of another service";
  EXPECT_TRUE(Goes(sent, "a", 2, 26 * kHourNs));
  EXPECT_FALSE(Goes(sent, "a", 1, 26 * kHourNs));
  EXPECT_TRUE(Goes(sent, "a", 3, 51 * kHourNs));
  EXPECT_TRUE(Goes(sent, "a", 1, 51 * kHourNs));
  // After a long pause, and when the time of the host goes back.
  EXPECT_TRUE(Goes(sent, "a", 1, 200 * kHourNs));
  EXPECT_TRUE(Goes(sent, "a", 1, kHourNs));
}

TEST(SentStacksTest, NoStackGoesOutTwiceADay) {
  SentStacks sent;
  std::map<std::uint64_t, std::uint64_t> last;  // hours, by stack
  for (std::uint64_t hour = 1; hour < 24 * 14; ++hour)
    for (std::uint64_t stack = hour % 7; stack < 40; stack += 7) {
      if (!Goes(sent, "a", stack, hour * kHourNs)) continue;
      if (last.contains(stack)) {
        EXPECT_GE(hour - last[stack], 24u) << stack;
        EXPECT_LE(hour - last[stack], 48u + 7) << stack;
      }
      last[stack] = hour;
    }
  EXPECT_EQ(last.size(), 40u);
}

TEST(SentStacksTest, AStackGoesWithEachPayloadUntilOneIsDelivered) {
  SentStacks sent;
  EXPECT_TRUE(sent.Take("a", 1, kHourNs));
  EXPECT_FALSE(sent.Take("a", 1, kHourNs)) << "once in a payload";
  sent.GoWith("lost");
  EXPECT_TRUE(sent.Take("a", 1, kHourNs));
  EXPECT_TRUE(sent.Take("a", 2, kHourNs));
  sent.GoWith("delivered");
  EXPECT_TRUE(sent.Take("a", 1, kHourNs));
  sent.GoWith("waiting");
  sent.Delivered("of an earlier profd");
  sent.Delivered("delivered");
  EXPECT_FALSE(sent.Take("a", 1, kHourNs));
  EXPECT_FALSE(sent.Take("a", 2, kHourNs));
}

TEST(SentStacksTest, OfManyPayloadsTheLastOnesAreNoticed) {
  SentStacks sent;
  for (std::uint64_t i = 0; i <= SentStacks::kMostWaiting; ++i) {
    EXPECT_TRUE(sent.Take("a", i, kHourNs));
    sent.GoWith(std::to_string(i));
  }
  sent.Delivered("0");
  sent.Delivered("1");
  EXPECT_TRUE(sent.Take("a", 0, kHourNs));
  EXPECT_FALSE(sent.Take("a", 1, kHourNs));
}

TEST(SentStacksTest, ManyStacksAreForgotten) {
  SentStacks sent;
  for (std::uint64_t hash = 0; hash < 150'000; ++hash) EXPECT_TRUE(Goes(sent, "", hash, kHourNs));
  EXPECT_FALSE(sent.Take("", 149'999, kHourNs));
  EXPECT_TRUE(sent.Take("", 0, kHourNs));
}

TEST(SentStacksTest, AFileHasAllThatTheReceiverHas) {
  SentStacks sent;
  EXPECT_FALSE(sent.TakeChanged());
  EXPECT_TRUE(Goes(sent, "a", 1, kHourNs));
  EXPECT_TRUE(sent.TakeChanged());
  EXPECT_FALSE(sent.TakeChanged());
  EXPECT_FALSE(Goes(sent, "a", 1, 2 * kHourNs));
  EXPECT_FALSE(sent.TakeChanged());
  EXPECT_TRUE(Goes(sent, "b", 1, 26 * kHourNs));
  EXPECT_TRUE(sent.Take("a", 2, 26 * kHourNs)) << "on its way";
  const std::string file = sent.Pack("tables");
  SentStacks started;
  started.Unpack(file, "tables");
  EXPECT_FALSE(started.TakeChanged());
  EXPECT_FALSE(started.Take("a", 1, 27 * kHourNs));
  EXPECT_FALSE(started.Take("b", 1, 27 * kHourNs));
  EXPECT_TRUE(started.Take("a", 2, 27 * kHourNs));
  EXPECT_EQ(started.Pack("tables").size(), file.size());
  // The days go on while nothing runs.
  EXPECT_TRUE(started.Take("a", 1, 51 * kHourNs));
  EXPECT_FALSE(started.Take("b", 1, 51 * kHourNs));
}

TEST(SentStacksTest, OfAFileThatIsDamagedNothingCounts) {
  SentStacks sent;
  for (std::uint64_t hash = 0; hash < 20; ++hash) EXPECT_TRUE(Goes(sent, "", hash, kHourNs));
  const std::string file = sent.Pack("tables");
  const auto knows = [](const std::string& bytes, const std::string& receiver) {
    SentStacks started;
    started.Unpack(bytes, receiver);
    return !started.Take("", 7, kHourNs);
  };
  EXPECT_TRUE(knows(file, "tables"));
  EXPECT_FALSE(knows(file, "other tables"));
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string bytes = file;
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    EXPECT_FALSE(knows(bytes, "tables")) << i;
    EXPECT_FALSE(knows(file.substr(0, i), "tables")) << i;
  }
  EXPECT_FALSE(knows(file + '\0', "tables"));
  EXPECT_FALSE(knows(std::string(SentStacks::kMostBytes + 1, 'x'), "tables"));
}

TEST(SentStacksTest, AFileIsBounded) {
  SentStacks sent;
  for (std::uint64_t hash = 0; hash < 149'000; ++hash) EXPECT_TRUE(Goes(sent, "", hash, kHourNs));
  const std::string file = sent.Pack("tables");
  EXPECT_LE(file.size(), SentStacks::kMostBytes);
  SentStacks started;
  started.Unpack(file, "tables");
  EXPECT_FALSE(started.Take("", 148'999, kHourNs));
}

TEST(RowBinaryTest, BytesAreThoseOfTheFormat) {
  RowBinary row;
  row.Int8(-1);
  row.UInt32(0x1'0000'0000);  // more than fits
  row.UInt64(258);
  row.Text("ab");
  row.Length(300);
  EXPECT_EQ(row.bytes(), std::string("\xff\xff\xff\xff\xff\x02\x01\0\0\0\0\0\0\x02"
                                     "ab\xac\x02",
                                     18));
  row.Clear();
  row.Map(Labels{{"k", "v"}});
  row.Float64(1.0);
  EXPECT_EQ(row.bytes(), std::string("\x01\x01k\x01v\0\0\0\0\0\0\xf0\x3f", 13));
}

}  // namespace
}  // namespace profd::fleet
