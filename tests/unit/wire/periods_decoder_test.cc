// Periods, of this version and of recordings that know nothing of background sessions.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <variant>

#include "daemon/wire/decoder.h"
#include "tests/support/raw_events.h"

namespace profd::wire {
namespace {

constexpr std::size_t kOlderBytes = offsetof(profd_periods_event, point_seed);
constexpr std::size_t kOldestBytes = offsetof(profd_periods_event, background_on_cpu_period_ns);

// As long as that, and with that in its header.
test::EventBytes Periods(std::size_t bytes) {
  profd_periods_event fixed{};
  fixed.event = test::RawHeader(77);
  fixed.on_cpu_period_ns = 10;
  fixed.off_cpu_period_ns = 20;
  fixed.background_on_cpu_period_ns = 30;
  fixed.background_off_cpu_period_ns = 40;
  fixed.point_seed = 50;
  test::EventBytes raw = test::RawEventBytes(PROFD_EVENT_PERIODS, fixed);
  raw.resize(bytes);
  const auto size = static_cast<std::uint32_t>(bytes);
  std::memcpy(raw.data() + offsetof(profd_event, size), &size, sizeof(size));
  return raw;
}

wire::PeriodsEvent Decoded(const test::EventBytes& bytes) {
  const auto event = wire::DecodeEvent({bytes});
  EXPECT_TRUE(event);
  return event ? std::get<wire::PeriodsEvent>(*event) : wire::PeriodsEvent();
}

TEST(PeriodsDecoder, ReadsThoseOfBothKinds) {
  const wire::PeriodsEvent periods = Decoded(Periods(sizeof(profd_periods_event)));
  EXPECT_EQ(periods.header.time_ns, 77u);
  EXPECT_EQ(periods.on_cpu_period_ns, 10u);
  EXPECT_EQ(periods.off_cpu_period_ns, 20u);
  EXPECT_EQ(periods.background_on_cpu_period_ns, 30u);
  EXPECT_EQ(periods.background_off_cpu_period_ns, 40u);
  EXPECT_EQ(periods.point_seed, 50u);
}

TEST(PeriodsDecoder, ReadsThoseOfOlderRecordings) {
  const wire::PeriodsEvent periods = Decoded(Periods(kOldestBytes));
  EXPECT_EQ(periods.off_cpu_period_ns, 20u);
  EXPECT_EQ(periods.background_on_cpu_period_ns, 0u);
  EXPECT_EQ(periods.background_off_cpu_period_ns, 0u);
  EXPECT_EQ(periods.point_seed, 0u);
  const wire::PeriodsEvent older = Decoded(Periods(kOlderBytes));
  EXPECT_EQ(older.background_off_cpu_period_ns, 40u);
  EXPECT_EQ(older.point_seed, 0u);
}

TEST(PeriodsDecoder, OtherLengthsAreRejectedOrIgnored) {
  for (std::size_t bytes = sizeof(profd_event); bytes < sizeof(profd_periods_event); ++bytes)
    EXPECT_EQ(wire::DecodeEvent({Periods(bytes)}).ok(),
              bytes == kOldestBytes || bytes == kOlderBytes)
        << bytes;
  const wire::PeriodsEvent longer = Decoded(Periods(sizeof(profd_periods_event) + 13));
  EXPECT_EQ(longer.background_off_cpu_period_ns, 40u);
}

}  // namespace
}  // namespace profd::wire
