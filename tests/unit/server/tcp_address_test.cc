#include "daemon/server/tcp_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace profd::server {
namespace {

using testing::HasSubstr;

TEST(TcpAddress, TakesNumbers) {
  const auto v4 = server::ParseTcpAddress("192.0.2.1:9899");
  ASSERT_TRUE(v4.ok());
  EXPECT_EQ(v4->bytes, sizeof(sockaddr_in));
  EXPECT_EQ(ntohs(reinterpret_cast<const sockaddr_in*>(&v4->address)->sin_port), 9899);
  EXPECT_FALSE(server::IsLoopback(*v4));
  const auto v6 = server::ParseTcpAddress("[::]:65535");
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v6->bytes, sizeof(sockaddr_in6));
  EXPECT_FALSE(server::IsLoopback(*v6));
}

TEST(TcpAddress, KnowsWhatIsThisHostsOwn) {
  for (const auto* text : {"127.0.0.1:9899", "127.1.2.3:1", "localhost:0", "[::1]:65535"}) {
    const auto address = server::ParseTcpAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_TRUE(server::IsLoopback(*address)) << text;
  }
  EXPECT_FALSE(server::IsLoopback(*server::ParseTcpAddress("[::ffff:127.0.0.1]:9899")));
}

TEST(TcpAddress, RefusesWhatIsNoAddress) {
  for (const auto* text : {"", "9899", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:80x", "::1:80", "example.org:80", "[::1:80"})
    EXPECT_FALSE(server::ParseTcpAddress(text).ok()) << text;
}

TEST(TcpAddress, ASecondListenerIsRefused) {
  const auto first = ListenAt(*server::ParseTcpAddress("127.0.0.1:0"));
  ASSERT_TRUE(first.ok());
  const auto port = server::BoundPort(first->get());
  EXPECT_NE(port, 0);
  const auto second = ListenAt(*server::ParseTcpAddress("127.0.0.1:" + std::to_string(port)));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
}

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
    EXPECT_THAT(address.error().message, HasSubstr("is not a loopback address")) << text;
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
