#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/fleet/profile/settings.h"
#include "tests/support/temp_folder.h"

namespace profd::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HeadersTest, LinesOfAllFiles) {
  const test::TempFolder folder;
  const auto headers =
      ReadHeaders({folder.Write("a", "# token of the gateway\n\nAuthorization:  Bearer x:y \r\n"),
                   folder.Write("b", "x-tenant: shop")});
  ASSERT_TRUE(headers) << headers.error().message;
  ASSERT_EQ(headers->size(), 2u);
  EXPECT_EQ((*headers)[0].name, "authorization");
  EXPECT_EQ((*headers)[0].value, "Bearer x:y");
  EXPECT_EQ((*headers)[1].name, "x-tenant");
  EXPECT_EQ((*headers)[1].value, "shop");
}

TEST(HeadersTest, AWrongLineIsNamedWithoutWhatItSays) {
  const test::TempFolder folder;
  for (const char* line : {"secret\n", ": secret\n", "a b: secret\n", "a: sec\x01ret\n"}) {
    const auto headers = ReadHeaders({folder.Write("h", std::string("a: b\n") + line)});
    ASSERT_FALSE(headers) << line;
    EXPECT_THAT(headers.error().message, HasSubstr("/h:2: no header"));
    EXPECT_THAT(headers.error().message, Not(HasSubstr("secret")));
  }
  EXPECT_FALSE(ReadHeaders({folder.Path("missing")}));
  EXPECT_FALSE(ReadHeaders({folder.Write("long", std::string(70'000, '\n'))}));
}

}  // namespace
}  // namespace profd::fleet
