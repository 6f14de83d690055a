#include "daemon/source/procfs/resource_text.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::source {
namespace {

using namespace std::string_literals;

TEST(ResourceText, IsOfTheTwoVariablesAlone) {
  const auto resource = ResourceOf(
      "PATH=/bin\0SECRET=x\0OTEL_SERVICE_NAME= cart \0"
      "OTEL_RESOURCE_ATTRIBUTES=service.name=other,service.version=1.2 , team=a%2Cb%20c\0"s);
  EXPECT_EQ(resource,
            (ResourceAttributes{
                {"service.name", "cart"}, {"service.version", "1.2"}, {"team", "a,b c"}}));
  EXPECT_TRUE(ResourceOf("XOTEL_SERVICE_NAME=a\0OTEL_SERVICE_NAMES=b\0"s).empty());
}

TEST(ResourceText, TheFirstOfANameCounts) {
  EXPECT_EQ(ResourceOf("OTEL_SERVICE_NAME=a\0OTEL_SERVICE_NAME=b"s),
            (ResourceAttributes{{"service.name", "a"}}));
}

TEST(ResourceText, AListWithAnErrorIsNoList) {
  for (const char* list : {"a=1,b", "a=1,b=%", "a=1,b=%2", "a=1,b=%zz", "a=1,=2", "%=1"}) {
    EXPECT_TRUE(ResourceOf("OTEL_RESOURCE_ATTRIBUTES="s + list).empty()) << list;
    EXPECT_EQ(ResourceOf("OTEL_SERVICE_NAME=cart\0OTEL_RESOURCE_ATTRIBUTES="s + list),
              (ResourceAttributes{{"service.name", "cart"}}));
  }
  EXPECT_EQ(ResourceOf("OTEL_RESOURCE_ATTRIBUTES=,a=1,,b=,c=x=y,"),
            (ResourceAttributes{{"a", "1"}, {"c", "x=y"}}));
}

TEST(ResourceText, IsBoundedAndSafe) {
  std::string list = "OTEL_RESOURCE_ATTRIBUTES=a=" + std::string(1'000, 'v');
  EXPECT_EQ(ResourceOf(list).at("a").size(), kMaxAttributeValue);
  for (int i = 0; i < 1'000; ++i) list += ",n" + std::to_string(i) + "=1";
  EXPECT_EQ(ResourceOf(list).size(), kMaxAttributes);
  list += "\0OTEL_SERVICE_NAME=cart"s;
  EXPECT_EQ(ResourceOf(list).size(), kMaxAttributes);
  EXPECT_EQ(ResourceOf(list).at("service.name"), "cart");
  EXPECT_LE(PackResource(ResourceOf(list)).size(), kMaxResourceText);
  EXPECT_EQ(ResourceOf("OTEL_SERVICE_NAME=a\x1b[2J\xff"),
            (ResourceAttributes{{"service.name", "a\xEF\xBF\xBD[2J\xEF\xBF\xBD"}}));
  EXPECT_TRUE(ResourceOf("OTEL_RESOURCE_ATTRIBUTES=" + std::string(1'000, 'n') + "=1").empty());
}

TEST(ResourceText, IsPackedAsNamesAndValues) {
  EXPECT_EQ(PackResource({{"a", "1"}, {"b", "2"}}), "a\0001\0b\0002\0"s);
  EXPECT_EQ(PackResource({}), "");
}

}  // namespace
}  // namespace profd::source
