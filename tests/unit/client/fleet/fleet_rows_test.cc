#include "client/fleet/fleet_rows.h"

#include <gtest/gtest.h>

#include "tests/unit/client/fleet/row_writer.h"

namespace profd::client {
namespace {

using testing::RowWriter;

RowWriter Row(std::uint8_t state = 4, std::string_view wait = "lock", std::uint8_t group = 3) {
  RowWriter row;
  row.Text("1.4.2")
      .Byte(group)
      .Text("worker-#")
      .Byte(state)
      .Text(wait)
      .Number(7)
      .Number(11)
      .Number(50)
      .Number(2);
  return row;
}

TEST(FleetRows, AreReadAsTheyWereWritten) {
  const auto rows = ReadRows(Row().bytes() + Row(1, "").bytes(), 1);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  const FleetRow& row = rows->front();
  EXPECT_EQ(row.keys, std::vector<std::string>{"1.4.2"});
  EXPECT_EQ(row.group, 3);
  EXPECT_EQ(row.thread, "worker-#");
  EXPECT_EQ(row.state, FleetState::kBlocked);
  EXPECT_EQ(row.wait, v1::WAIT_LOCK);
  EXPECT_EQ(row.hash, 7U);
  EXPECT_EQ(row.path, 11U);
  EXPECT_EQ(row.ns, 50U);
  EXPECT_EQ(row.points, 2U);
  EXPECT_EQ((*rows)[1].state, FleetState::kRunning);
}

TEST(FleetRows, RefuseEveryPartOfARow) {
  const std::string whole = Row().bytes();
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const auto rows = ReadRows(std::string_view(whole).substr(0, length), 1);
    ASSERT_FALSE(rows) << length;
    EXPECT_EQ(rows.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_TRUE(ReadRows("", 1));
}

TEST(FleetRows, RefuseWhatNoStateAndNoGroupIs) {
  EXPECT_FALSE(ReadRows(Row(0).bytes(), 1));
  EXPECT_FALSE(ReadRows(Row(6).bytes(), 1));
  EXPECT_FALSE(ReadRows(Row(4, "lock", 16).bytes(), 1));
}

TEST(FleetRows, AWaitThatIsNotKnownIsAnother) {
  const auto rows = ReadRows(Row(4, "moon").bytes(), 1);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->front().wait, v1::WAIT_OTHER);
}

TEST(FleetRows, LengthsWithoutEndAreRefused) {
  std::string endless(20, '\xff');
  EXPECT_FALSE(ReadRows(endless, 1));
  EXPECT_FALSE(ReadRows(RowWriter().Length(RowReader::kMaxTextBytes + 1).bytes() +
                            std::string(RowReader::kMaxTextBytes + 1, 'x'),
                        1));
}

RowWriter Stack(const std::vector<std::uint8_t>& kinds) {
  RowWriter row;
  row.Number(9).Texts({"f", "main"}).Texts({"a.so", "a"}).Texts({"", ""}).Length(kinds.size());
  for (const std::uint8_t kind : kinds) row.Byte(kind);
  return row;
}

TEST(FleetStacks, HaveAKindForEachFrame) {
  const auto stacks = ReadStacks(Stack({0, 1}).bytes());
  ASSERT_TRUE(stacks);
  EXPECT_EQ(stacks->at(9).functions[1], "main");
  EXPECT_EQ(stacks->at(9).kinds[1], v1::FRAME_KERNEL);
  EXPECT_FALSE(ReadStacks(Stack({0}).bytes()));
  EXPECT_FALSE(ReadStacks(Stack({0, 5}).bytes()));
  EXPECT_FALSE(ReadStacks(RowWriter().Number(9).Length(5000).bytes()));
}

RowWriter Path(const std::vector<std::uint8_t>& kinds, std::size_t others) {
  RowWriter row;
  row.Number(9).Length(kinds.size());
  for (const std::uint8_t kind : kinds) row.Byte(kind);
  row.Length(others);
  for (std::size_t i = 0; i < others; ++i) row.Byte(3);
  for (const char* text : {"lock", "worker-#", "cart"})
    row.Texts(std::vector<std::string>(others, text));
  row.Length(others);
  for (std::size_t i = 0; i < others; ++i) row.Byte(1);
  row.Length(others);
  for (std::size_t i = 0; i < others; ++i) row.Number(7 + i);
  return row.Byte(1);
}

TEST(FleetPaths, AreReadAsTheyWereWritten) {
  const auto paths = ReadPaths(Path({1, 2}, 2).bytes());
  ASSERT_TRUE(paths);
  const FleetPath& path = paths->at(9);
  ASSERT_EQ(path.steps.size(), 2U);
  EXPECT_TRUE(path.estimated);
  EXPECT_EQ(path.steps[0].kind, v1::PATH_WAITS);
  EXPECT_EQ(path.steps[0].how, v1::HOW_GIL);
  EXPECT_EQ(path.steps[0].wait, v1::WAIT_LOCK);
  EXPECT_EQ(path.steps[0].thread, "worker-#");
  EXPECT_EQ(path.steps[0].service, "cart");
  EXPECT_TRUE(path.steps[0].own);
  EXPECT_EQ(path.steps[1].kind, v1::PATH_RUNS);
  EXPECT_EQ(path.steps[1].wait, v1::WAIT_NONE) << "it does not wait";
  EXPECT_EQ(path.steps[1].stack, 8U);
}

// The enum of the table is that of the profile, but for who is hidden.
TEST(FleetPaths, EveryKindOfTheTableIsOneOfTheProfile) {
  for (std::uint8_t kind = 1; kind <= 13; ++kind) {
    const auto paths = ReadPaths(Path({kind}, 1).bytes());
    ASSERT_TRUE(paths) << int{kind};
    EXPECT_EQ(paths->at(9).steps[0].kind,
              kind == 12 ? v1::PATH_NOT_EXPORTED : static_cast<v1::PathKind>(kind));
  }
  EXPECT_FALSE(ReadPaths(Path({0}, 1).bytes()));
  const auto newer = ReadPaths(Path({99}, 1).bytes());
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->at(9).steps[0].kind, v1::PATH_NOT_SEEN);
}

TEST(FleetPaths, HaveColumnsOfOneLength) {
  EXPECT_FALSE(ReadPaths(Path({1, 2}, 1).bytes()));
  EXPECT_FALSE(ReadPaths(Path({}, 0).bytes()));
  EXPECT_TRUE(ReadPaths(Path(std::vector<std::uint8_t>(64, 1), 64).bytes()));
  EXPECT_FALSE(ReadPaths(Path(std::vector<std::uint8_t>(65, 1), 65).bytes()));
  const std::string whole = Path({1, 2}, 2).bytes();
  for (std::size_t length = 1; length < whole.size(); ++length)
    EXPECT_FALSE(ReadPaths(std::string_view(whole).substr(0, length))) << length;
}

}  // namespace
}  // namespace profd::client
