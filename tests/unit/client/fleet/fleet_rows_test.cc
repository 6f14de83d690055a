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

}  // namespace
}  // namespace profd::client
