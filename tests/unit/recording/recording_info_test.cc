#include "daemon/recording/recording_info.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <vector>

#include "bpf/shared/events.h"
#include "daemon/recording/recording_format.h"
#include "tests/support/manual_clock.h"

namespace profd::recording {
namespace {

RecordingInfo SomeInfo() {
  RecordingInfo info;
  info.events_version = 5;
  info.architecture = "x86_64";
  info.kernel_release = "6.18.1";
  info.host = "host-1";
  info.profd_version = "0.1.0";
  info.hook = "sched_exit_tp";
  info.options = "--record x";
  info.start_monotonic_ns = 123;
  info.cpu_places = {{.cpu = 0, .core = 0, .cache = 0, .node = 0},
                     {.cpu = 5, .core = 0, .cache = std::nullopt, .node = 1}};
  info.realtime_offset_ns = -456;
  return info;
}

TEST(RecordingInfoTest, InfoComesBack) {
  const auto decoded = DecodeInfo(EncodeInfo(SomeInfo()));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, SomeInfo());
}

TEST(RecordingInfoTest, FieldsOfANewerWriterArePassedOver) {
  std::vector<std::byte> bytes = EncodeInfo(SomeInfo());
  const std::vector<std::byte> unknown = {std::byte{200}, {}, {}, {}, std::byte{1}, {}, {}, {},
                                          std::byte{'x'}, {}, {}, {}, {},           {}, {}, {}};
  bytes.insert(bytes.begin(), unknown.begin(), unknown.end());
  const auto decoded = DecodeInfo(bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, SomeInfo());
}

TEST(RecordingInfoTest, CutInfoIsRefused) {
  const std::vector<std::byte> bytes = EncodeInfo(SomeInfo());
  std::size_t refused = 0;
  for (std::size_t length = 1; length < bytes.size(); ++length)
    refused += DecodeInfo(std::span(bytes).first(length)) ? 0 : 1;
  EXPECT_EQ(refused, bytes.size() - 1 - 9);  // the ends of the first nine of ten fields are ends
}

TEST(RecordingInfoTest, NumbersOfAnotherLengthAreRefused) {
  std::vector<std::byte> bytes = EncodeInfo({});
  bytes[4] = std::byte{3};  // length of the first field
  const auto decoded = DecodeInfo(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "field 1 has the wrong length");
}

TEST(RecordingInfoTest, TotalsComeBack) {
  const RecordingTotals totals{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::byte> bytes = EncodeTotals(totals);
  const auto decoded = DecodeTotals(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, totals);
}

TEST(RecordingInfoTest, TotalsOfOlderAndNewerWriters) {
  std::vector<std::byte> bytes = EncodeTotals({.events = 1, .write_error = 8});
  const auto older = DecodeTotals(std::span(bytes).first(8));
  ASSERT_TRUE(older);
  EXPECT_EQ(older->events, 1u);
  EXPECT_EQ(older->write_error, 0u);
  bytes.resize(bytes.size() + 16);
  const auto newer = DecodeTotals(bytes);
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->write_error, 8u);
  EXPECT_FALSE(DecodeTotals(std::span(bytes).first(7)));
  EXPECT_TRUE(DecodeTotals({}));
}

TEST(RecordingInfoTest, ThisMachine) {
  test::ManualClock clock;
  clock.Set(1'000, 5'000);
  const RecordingInfo info = DescribeThisMachine(clock);
  utsname name{};
  ASSERT_EQ(::uname(&name), 0);
  EXPECT_EQ(info.events_version, std::uint32_t{PROFD_EVENTS_VERSION});
  EXPECT_EQ(info.kernel_release, name.release);
  EXPECT_EQ(info.host, name.nodename);
  EXPECT_EQ(info.architecture, name.machine);
  EXPECT_EQ(info.start_monotonic_ns, 1'000u);
  EXPECT_EQ(info.realtime_offset_ns, 4'000);
}

}  // namespace
}  // namespace profd::recording
