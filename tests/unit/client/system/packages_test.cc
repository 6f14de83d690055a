#include "client/system/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(PackagesTest, ReadsWhatDpkgPrints) {
  EXPECT_THAT(ParsePackageLines("redis-tools: /usr/bin/redis-check-rdb\n"
                                "diversion by dash from: /bin/sh\n"
                                "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6\n"
                                "alpha, beta:i386: /usr/share/x: y\n"
                                "nonsense\n"),
              ElementsAre(Pair("/lib/x86_64-linux-gnu/libc.so.6", "libc6"),
                          Pair("/usr/bin/redis-check-rdb", "redis-tools"),
                          Pair("/usr/share/x: y", "alpha")));
}

TEST(PackagesTest, FindsPackagesOfInstalledFiles) {
  if (!std::filesystem::exists("/usr/bin/dpkg-query")) GTEST_SKIP() << "dpkg is not installed";
  // libc is listed below /lib and mapped below /usr/lib.
  const std::string libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
  EXPECT_THAT(PackagesOf({libc, "/usr/bin/dpkg-query", "/nonexistent/file", "/tmp/*", "relative",
                          "/a b; touch /tmp/never"}),
              ElementsAre(Pair("/usr/bin/dpkg-query", "dpkg"), Pair(libc, "libc6")));
  EXPECT_THAT(PackagesOf({}), IsEmpty());
}

TEST(PackagesTest, DebugPackagesHaveTheNamesOfDebian) {
  EXPECT_EQ(DebugPackage("redis-tools"), "redis-tools-dbgsym");
  EXPECT_EQ(DebugPackage("libc6"), "libc6-dbg");
}

}  // namespace
}  // namespace profd::client
