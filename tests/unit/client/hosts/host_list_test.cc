#include "client/hosts/host_list.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::client {
namespace {

std::vector<HostAddress> Parsed(std::string_view text) {
  const auto hosts = ParseHostList(text, "web.txt");
  EXPECT_TRUE(hosts) << hosts.error().message;
  return hosts ? *hosts : std::vector<HostAddress>{};
}

std::string Refused(std::string_view text) {
  const auto hosts = ParseHostList(text, "web.txt");
  EXPECT_FALSE(hosts) << text;
  return hosts ? "" : hosts.error().message;
}

TEST(HostList, LineIsAHostByTls) {
  EXPECT_EQ(Parsed("web1\n  web2:1234  # the new one\n\n# none\ntls://web3\r\n[::1]:77\n"),
            (std::vector<HostAddress>{{"web1", "tls://web1:9898"},
                                      {"web2", "tls://web2:1234"},
                                      {"web3", "tls://web3:9898"},
                                      {"[::1]", "tls://[::1]:77"}}));
}

TEST(HostList, PathIsAUnixSocket) {
  EXPECT_EQ(Parsed("/run/a.sock\nunix:/run/b.sock\nunix:///run/c.sock"),
            (std::vector<HostAddress>{{"/run/a.sock", "unix:/run/a.sock"},
                                      {"/run/b.sock", "unix:/run/b.sock"},
                                      {"/run/c.sock", "unix:/run/c.sock"}}));
}

TEST(HostList, NamesOfAFleetAreAddressesByAPattern) {
  const auto plain = AddressesOf({"web-1", "web-2"}, "*");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->hosts, (std::vector<HostAddress>{{"web-1", "tls://web-1:9898"},
                                                    {"web-2", "tls://web-2:9898"}}));
  const auto domain = AddressesOf({"web-1"}, "*.prod.example:77");
  ASSERT_TRUE(domain);
  EXPECT_EQ(domain->hosts, (std::vector<HostAddress>{{"web-1", "tls://web-1.prod.example:77"}}));
  for (const char* pattern : {"", "web1", "*:0", "*:x", "**", "* *"})
    EXPECT_FALSE(CheckHostPattern(pattern)) << pattern;
  const auto hostile = AddressesOf({"web-1", "web-2:1", "", "[::1]"}, "*");
  ASSERT_TRUE(hostile);
  EXPECT_EQ(hostile->hosts.size(), 1u);
  EXPECT_EQ(hostile->no_address, (std::vector<std::string>{"web-2:1", "", "[::1]"}));
  const auto many = AddressesOf(std::vector<std::string>(kMostHosts + 1, "a"), "*");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "1,001 hosts are more than the 1,000 from which can be collected at one time");
  EXPECT_NE(many.error().hint.find("--host"), std::string::npos);
}

TEST(HostList, RangeStandsForMany) {
  const auto hosts = Parsed("web[08-11,20].r[1-2].example:7");
  ASSERT_EQ(hosts.size(), 10u);
  EXPECT_EQ(hosts[0].address, "tls://web08.r1.example:7");
  EXPECT_EQ(hosts[3].address, "tls://web09.r2.example:7");
  EXPECT_EQ(hosts[9].name, "web20.r2.example");
}

TEST(HostList, ServersOfOneNameDifferByPort) {
  EXPECT_EQ(
      Parsed("a:1\na:2\nb:1\na:1"),
      (std::vector<HostAddress>{{"a:1", "tls://a:1"}, {"a:2", "tls://a:2"}, {"b", "tls://b:1"}}));
}

TEST(HostList, WhatIsNoHostIsRefusedWithItsLine) {
  for (const char* line :
       {"a b", "web1:0", "web1:99999", "web1:x", "we;b", "[::1", "[::1]x", "http://web1", "web[1-",
        "web[3-1]", "web[a-c]", "web[]", "web[1-2000]", "[12:zz]", "\xff"})
    EXPECT_TRUE(Refused(std::string("good\n") + line).starts_with("web.txt:2: ")) << line;
  EXPECT_EQ(Refused(" \n# nothing\n"), "web.txt names no host");
}

TEST(HostList, ThousandHostsAreTheMost) {
  EXPECT_EQ(Parsed("web[1-1000]").size(), 1000u);
  EXPECT_EQ(Refused("web[1-1000]\nlast"), "web.txt names more than 1000 hosts");
  EXPECT_EQ(Refused("a[1-999]b[1-999]c[1-999]"), "web.txt names more than 1000 hosts");
}

TEST(HostList, FileThatIsNotThereIsSaid) { EXPECT_FALSE(ReadHostList("/nonexistent/hosts")); }

}  // namespace
}  // namespace profd::client
