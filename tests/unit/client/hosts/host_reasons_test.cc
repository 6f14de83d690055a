#include "client/hosts/host_reasons.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

TEST(HostReasons, EachReasonOnceWithAllOfItsHosts) {
  const Error refused{ErrorCode::kUnavailable, "cannot be reached: connection refused", "start it"};
  const Error reader{ErrorCode::kPermissionDenied, "a reader may not collect", ""};
  const auto errors = HostReasons({{"web9", reader}, {"web7", refused}, {"web1", refused}}, 1200);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].message,
            "2 of 1,200 hosts: cannot be reached: connection refused: web1, web7");
  EXPECT_EQ(errors[0].hint, "start it");
  EXPECT_EQ(errors[1].message, "1 of 1,200 hosts: a reader may not collect: web9");
  EXPECT_TRUE(HostReasons({}, 3).empty());
}

}  // namespace
}  // namespace profd::client
