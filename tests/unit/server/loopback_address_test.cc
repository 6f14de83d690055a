#include "daemon/server/http/loopback_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace profd::server {
namespace {

using testing::HasSubstr;

TEST(LoopbackAddress, TakesThisHostsOwn) {
  for (const auto* text : {"127.0.0.1:9899", "127.1.2.3:1", "localhost:0", "[::1]:65535"})
    EXPECT_TRUE(server::ParseLoopbackAddress(text).ok()) << text;
  const auto v4 = server::ParseLoopbackAddress("127.0.0.1:9899");
  ASSERT_TRUE(v4.ok());
  EXPECT_EQ(ntohs(reinterpret_cast<const sockaddr_in*>(&v4->address)->sin_port), 9899);
  EXPECT_EQ(v4->bytes, sizeof(sockaddr_in));
}

TEST(LoopbackAddress, RefusesWhatOthersCouldReach) {
  for (const auto* text : {"0.0.0.0:9899", "10.0.0.1:9899", "128.0.0.1:1", "[::]:9899",
                           "[fe80::1]:9899", "[::ffff:127.0.0.1]:9899"}) {
    const auto address = server::ParseLoopbackAddress(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_THAT(address.error().message, HasSubstr("is no loopback address")) << text;
    EXPECT_THAT(address.error().hint, HasSubstr("127.0.0.1:PORT"));
  }
}

TEST(LoopbackAddress, RefusesWhatIsNoAddress) {
  for (const auto* text : {"", "9899", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:80x", "::1:80", "example.org:80", "[::1:80"}) {
    const auto address = server::ParseLoopbackAddress(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_THAT(address.error().message, HasSubstr("cannot listen at")) << text;
  }
}

}  // namespace
}  // namespace profd::server
