// Unwind information that this program registers for debuggers.
#include "daemon/unwind/cfi/registered_rows.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "daemon/base/unique_fd.h"
#include "tests/support/registered/registered_code.h"

namespace profd::unwind {
namespace {

using Pieces = std::vector<FunctionRows::Piece>;

constexpr std::uint64_t kCode = 0x7e0000001000;
// push %rbx at 0; something at 1; pop %rbx at 0x20; ret at 0x21.
constexpr std::uint64_t kCodeBytes = 0x22;

test::RegisteredPlan Plan() {
  test::RegisteredPlan plan;
  plan.code = kCode;
  plan.code_bytes = kCodeBytes;
  plan.frames = test::MakeFrames(kCodeBytes, std::string("\x41\x0e\x10\x83\x02\x60\x0e\x08", 8));
  plan.relocated = {test::kFrameBegin};
  return plan;
}

class RegisteredRowsTest : public ::testing::Test {
 protected:
  [[nodiscard]] elf::RegisteredFrames FramesOf(const std::string& object) const {
    const auto opened = elf::RegisteredObject::Open(
        memory_.get(), reinterpret_cast<std::uint64_t>(object.data()), object.size());
    EXPECT_TRUE(opened);
    auto frames = opened->ReadFrames();
    EXPECT_TRUE(frames);
    return *std::move(frames);
  }
  [[nodiscard]] elf::RegisteredEntry EntryOf(const std::string& object) const {
    const auto opened = elf::RegisteredObject::Open(
        memory_.get(), reinterpret_cast<std::uint64_t>(object.data()), object.size());
    EXPECT_TRUE(opened);
    return {opened->place(), opened->code()};
  }

  UniqueFd memory_{::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
};

// The CFA's distance from the stack pointer; 0: no rule; -1: not known.
std::int32_t DistanceAt(const Pieces& pieces, std::uint64_t address) {
  for (const auto& [range, rule] : pieces) {
    if (!range.holds(address)) continue;
    return rule.cfa == PROFD_CFA_REGISTER ? rule.offset : 0;
  }
  return -1;
}

TEST_F(RegisteredRowsTest, SaysWhereTheFrameIs) {
  for (const bool relocatable : {true, false}) {
    test::RegisteredPlan plan = Plan();
    plan.relocatable = relocatable;
    if (!relocatable) {
      plan.frames_address = kCode + 0x1000;
      const auto distance =
          static_cast<std::int32_t>(kCode - (plan.frames_address + test::kFrameBegin));
      std::memcpy(plan.frames.data() + test::kFrameBegin, &distance, sizeof distance);
    }
    auto rows = RegisteredRows::Make(FramesOf(test::MakeRegistered(plan)));
    ASSERT_TRUE(rows) << rows.error().message;
    const Pieces pieces = rows->Find({kCode - 0x100, kCode + 0x100});
    EXPECT_EQ(DistanceAt(pieces, kCode - 1), -1);
    EXPECT_EQ(DistanceAt(pieces, kCode), 8);
    EXPECT_EQ(DistanceAt(pieces, kCode + 1), 16);
    EXPECT_EQ(DistanceAt(pieces, kCode + 0x20), 16);
    EXPECT_EQ(DistanceAt(pieces, kCode + 0x21), 8);
    EXPECT_EQ(DistanceAt(pieces, kCode + kCodeBytes), -1);
    // Of a part only what lies in it.
    const Pieces inner = rows->Find({kCode + 4, kCode + 6});
    ASSERT_EQ(inner.size(), 1u);
    EXPECT_EQ(inner[0].range, (CodeRange{kCode + 4, kCode + 6}));
    EXPECT_EQ(inner[0].rule.offset, 16);
    EXPECT_EQ(inner[0].rule.cfa, PROFD_CFA_REGISTER);
  }
}

TEST_F(RegisteredRowsTest, DebugFrameSaysTheSame) {
  // CIE: id, version 1, no augmentation; then an FDE with absolute addresses.
  std::string frames("\x14\0\0\0\xff\xff\xff\xff\1\0\1\x78\x10\x0c\7\x8\x90\1\0\0\0\0\0\0", 24);
  std::string fde("\x1c\0\0\0\0\0\0\0", 8);
  fde.append(reinterpret_cast<const char*>(&kCode), 8);
  fde.append(reinterpret_cast<const char*>(&kCodeBytes), 8);
  fde += std::string("\x41\x0e\x10\x83\x02\x60\x0e\x08", 8);
  test::RegisteredPlan plan = Plan();
  plan.frames = frames + fde;
  plan.frames_name = ".debug_frame";
  plan.relocated.clear();
  auto rows = RegisteredRows::Make(FramesOf(test::MakeRegistered(plan)));
  ASSERT_TRUE(rows) << rows.error().message;
  const Pieces pieces = rows->Find({kCode, kCode + 0x100});
  EXPECT_EQ(DistanceAt(pieces, kCode), 8);
  EXPECT_EQ(DistanceAt(pieces, kCode + 1), 16);
  EXPECT_EQ(DistanceAt(pieces, kCode + 0x21), 8);
}

TEST_F(RegisteredRowsTest, DamageIsRefusedOrLeavesGaps) {
  const elf::RegisteredFrames right = FramesOf(test::MakeRegistered(Plan()));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < right.bytes.size(); ++at) {
    for (const char change : {'\1', '\x7f', '\xff'}) {
      elf::RegisteredFrames damaged = right;
      damaged.bytes[at] = static_cast<char>(damaged.bytes[at] ^ change);
      auto rows = RegisteredRows::Make(damaged);
      refused += rows ? 0 : 1;
      if (!rows) continue;
      std::uint64_t end = 0;
      for (const auto& [range, rule] : rows->Find({kCode - 0x1000, kCode + 0x1000})) {
        EXPECT_LE(end, range.begin);
        EXPECT_LT(range.begin, range.end);
        end = range.end;
      }
    }
  }
  EXPECT_GT(refused, 0u);
  for (std::size_t bytes = 0; bytes < right.bytes.size(); ++bytes) {
    elf::RegisteredFrames cut = right;
    cut.bytes.resize(bytes);
    if (auto rows = RegisteredRows::Make(cut)) (void)rows->Find({kCode, kCode + 0x100});
  }
}

TEST_F(RegisteredRowsTest, OfTwoObjectsTheFirstHasTheCode) {
  test::RegisteredPlan other = Plan();
  other.code += 0x10;
  other.frames = test::MakeFrames(kCodeBytes, "\x0e\x40");
  const std::string first = test::MakeRegistered(Plan());
  const std::string second = test::MakeRegistered(other);
  elf::RegisteredList list;
  list.objects = {EntryOf(first), EntryOf(second)};
  const Pieces pieces = FindRegistered(list, memory_.get(), {kCode - 0x100, kCode + 0x100});
  EXPECT_EQ(DistanceAt(pieces, kCode + 0x21), 8);
  EXPECT_EQ(DistanceAt(pieces, kCode + 0x22), 0x40);
  EXPECT_EQ(DistanceAt(pieces, kCode + 0x31), 0x40);
  EXPECT_EQ(DistanceAt(pieces, kCode + 0x32), -1);
  std::swap(list.objects[0], list.objects[1]);
  EXPECT_EQ(DistanceAt(FindRegistered(list, memory_.get(), {kCode, kCode + 0x100}), kCode + 0x10),
            0x40);
  // Another object lies there now.
  list.objects[0].place.stamp += 1;
  EXPECT_EQ(DistanceAt(FindRegistered(list, memory_.get(), {kCode, kCode + 0x100}), kCode + 0x22),
            -1);
}

TEST_F(RegisteredRowsTest, CodeOutsideOfTheObjectHasNoRules) {
  test::RegisteredPlan plan = Plan();
  plan.code_bytes = 0x10;  // its section is shorter than its FDE
  const std::string object = test::MakeRegistered(plan);
  elf::RegisteredList list;
  list.objects = {EntryOf(object)};
  const Pieces pieces = FindRegistered(list, memory_.get(), {kCode, kCode + 0x100});
  EXPECT_EQ(DistanceAt(pieces, kCode + 0xf), 16);
  EXPECT_EQ(DistanceAt(pieces, kCode + 0x10), -1);
}

}  // namespace
}  // namespace profd::unwind
