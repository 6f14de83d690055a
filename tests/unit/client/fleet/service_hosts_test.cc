#include "client/fleet/service_hosts.h"

#include <gtest/gtest.h>

#include "client/fleet/coverage.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kNow = 1'000'000;
constexpr std::uint64_t kWindow = 60;

ServiceRow RowOf(const std::string& host, std::uint64_t last_s) {
  ServiceRow row;
  row.keys = {host};
  row.last_s = last_s;
  return row;
}

TEST(ChooseHosts, AHostIsSilentWhenItsNextWindowIsLate) {
  const auto late = static_cast<std::uint64_t>(kLateSeconds);
  const std::uint64_t edge = kNow - 2 * kWindow - late;  // begin of the last window
  const ServiceHosts chosen =
      ChooseHosts({RowOf("web-3", kNow - kWindow), RowOf("web-1", edge), RowOf("web-2", edge - 1),
                   RowOf("web-9", kNow - 3'000), RowOf("ahead", kNow + 30), RowOf("", kNow)},
                  kWindow, kNow);
  EXPECT_EQ(chosen.hosts, (std::vector<std::string>{"ahead", "web-1", "web-3"}));
  ASSERT_EQ(chosen.silent.size(), 2u);
  EXPECT_EQ(chosen.silent[0].host, "web-9") << "the longest silent first";
  EXPECT_DOUBLE_EQ(chosen.silent[0].silent_s, 3'000 - kWindow);
  EXPECT_EQ(chosen.silent[1].host, "web-2");
  EXPECT_DOUBLE_EQ(chosen.silent[1].silent_s, kWindow + late + 1);
}

TEST(ChooseHosts, LongWindowsAreWaitedFor) {
  EXPECT_EQ(ChooseHosts({RowOf("a", kNow - 1'500)}, 600, kNow).hosts.size(), 1u);
  EXPECT_EQ(ChooseHosts({RowOf("a", kNow - 1'500)}, 60, kNow).hosts.size(), 0u);
}

}  // namespace
}  // namespace profd::client
