#include "daemon/base/http/host_port.h"

#include <gtest/gtest.h>

#include <string>

namespace profd {
namespace {

TEST(HostPort, HasANameOrAnAddressAndPerhapsAPort) {
  const auto name = ParseHostPort("web-1.a_b.example");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "web-1.a_b.example");
  EXPECT_EQ(name->port, 0);
  const auto four = ParseHostPort("127.0.0.1:65535");
  ASSERT_TRUE(four);
  EXPECT_EQ(four->host, "127.0.0.1");
  EXPECT_EQ(four->port, 65'535);
  const auto six = ParseHostPort("[::1]:1");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host, "[::1]");
  EXPECT_EQ(six->port, 1);
  EXPECT_EQ(ParseHostPort("[fe80::1%eth0]")->host, "[fe80::1%eth0]");
}

TEST(HostPort, RefusesWhatIsNone) {
  for (const char* text : {"",       ":1",       "x:",    "x:0",       "x:65536", "x:99999999999",
                           "x:1a",   "x:+1",     "x:1:2", "::1",       "[]",      "[::1",
                           "[::1]1", "[::1]:",   "[x]",   "[1.2.3.4]", "[::1%]",  "[::1%a/b]",
                           "a b",    "a/b",      "a@b",   "a?b",       "a#b",     "a%b",
                           "a\nb",   "\xc3\xa4", "x :1"})
    EXPECT_FALSE(ParseHostPort(text)) << text;
  EXPECT_FALSE(ParseHostPort(std::string(256, 'a')));
  EXPECT_FALSE(ParseHostPort("[" + std::string(65, ':') + "]"));
}

}  // namespace
}  // namespace profd
