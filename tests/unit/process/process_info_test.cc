#include "daemon/process/process_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace profd::process {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ProcessInfoTest, Owner) {
  const Owner redis = ParseOwner("110\t110\t110\t110\nredis\nsole");
  EXPECT_EQ(redis.uid, 110u);
  EXPECT_TRUE(redis.sole);
  EXPECT_EQ(redis.user, "redis");
  EXPECT_FALSE(ParseOwner("110\t110\t110\t110\nredis").sole) << "not said";
  EXPECT_FALSE(ParseOwner("110\t110\t110\t110\nsole").sole) << "that is a name";
  EXPECT_TRUE(ParseOwner("110\t110\t110\t110\n\nsole").sole);
  const Owner passwd = ParseOwner("1000\t0\t0\t0\nroot\nsole");
  EXPECT_EQ(passwd.uid, 0u) << "the effective one";
  EXPECT_FALSE(passwd.sole);
  EXPECT_EQ(ParseOwner("7\t7\t7\t7\n").user, "");
  EXPECT_EQ(ParseOwner("7\t7\t7\t7").uid, 7u);
  for (const char* text : {"", "\n", "1\t2\t3\nx", "root", "1 2 3 99999999999\nx"})
    EXPECT_FALSE(ParseOwner(text).uid) << text;
}

TEST(ProcessInfoTest, Comm) {
  EXPECT_EQ(ParseComm("redis-server\n"), "redis-server");
  EXPECT_EQ(ParseComm("two\nlines\n"), "two\nlines");
  EXPECT_EQ(ParseComm(""), "");
  EXPECT_EQ(ParseComm("\n"), "");
  EXPECT_EQ(ParseComm(std::string("a\0b\n", 4)), "a");
  EXPECT_THAT(ParseComm(std::string(1'000, 'x')), SizeIs(64));
}

TEST(ProcessInfoTest, CommandLine) {
  EXPECT_EQ(ParseCommandLine(std::string("python3\0train.py\0--lr\0", 22)),
            "python3 train.py --lr");
  EXPECT_EQ(ParseCommandLine(std::string("a\0\0b\0", 5)), "a  b");  // an empty argument
  EXPECT_EQ(ParseCommandLine("nginx: worker process"), "nginx: worker process");
  EXPECT_EQ(ParseCommandLine(""), "");
  EXPECT_EQ(ParseCommandLine(std::string(3, '\0')), "");
  EXPECT_THAT(ParseCommandLine(std::string(1'000'000, 'x')), SizeIs(4'096));
}

TEST(ProcessInfoTest, Cgroup) {
  EXPECT_EQ(ParseCgroup("0::/system.slice/foo.service\n"), "/system.slice/foo.service");
  EXPECT_EQ(ParseCgroup("12:memory:/a\n1:name=systemd:/b\n0::/c"), "/c");
  EXPECT_EQ(ParseCgroup("12:memory:/a\n"), "/a");
  EXPECT_EQ(ParseCgroup("12:cpu,cpuacct:/\n3:memory:/a\n1:name=systemd:/b\n"), "/b");
  EXPECT_EQ(ParseCgroup("3:memory:/a\n2:pids:/c\n1:name=systemd:/\n0::/\n"), "/a");
  EXPECT_EQ(ParseCgroup("3:memory:/\n1:name=systemd:/\n"), "");
  EXPECT_EQ(ParseCgroup("nonsense\n3:memory\n:\n"), "");
  EXPECT_EQ(ParseCgroup(""), "");
  EXPECT_EQ(ParseCgroup("\n\n0::/\n"), "/");
  EXPECT_THAT(ParseCgroup("0::" + std::string(100'000, 'x')), SizeIs(4'096));
}

TEST(ProcessInfoTest, NamespacePids) {
  EXPECT_THAT(ParseNamespacePids("4242\t17\t1"), ElementsAre(4242, 17, 1));
  EXPECT_THAT(ParseNamespacePids("NSpid:\t4242\n"), ElementsAre(4242));
  EXPECT_THAT(ParseNamespacePids(""), IsEmpty());
  EXPECT_THAT(ParseNamespacePids("none"), IsEmpty());
  EXPECT_THAT(ParseNamespacePids("1 99999999999999 2"), ElementsAre(1));
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "7 ";
  EXPECT_THAT(ParseNamespacePids(many), SizeIs(33));
}

TEST(ParseResource, NamesAndValues) {
  using namespace std::string_literals;
  const auto resource = ParseResource("service.name\0cart\0team\0\xff\0"s);
  ASSERT_NE(resource, nullptr);
  EXPECT_EQ(resource->size(), 2u);
  EXPECT_EQ(resource->at("service.name"), "cart");
  EXPECT_EQ(resource->at("team"), "\xEF\xBF\xBD");
}

TEST(ParseResource, NonsenseIsHarmless) {
  using namespace std::string_literals;
  for (const auto& text : {""s, "a"s, "\0\0\0"s, "a\0\0"s, "\0b\0"s})
    EXPECT_EQ(ParseResource(text), nullptr);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += std::to_string(i) + "\0v\0"s;
  EXPECT_EQ(ParseResource(many)->size(), 64u);
  EXPECT_EQ(ParseResource("a\0"s + std::string(100'000, 'v'))->at("a").size(), 1'024u);
}

}  // namespace
}  // namespace profd::process
