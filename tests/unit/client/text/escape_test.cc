#include "client/text/escape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include "client/profile/stack_names.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

TEST(Escape, XmlHasNoMarkupLeft) {
  EXPECT_EQ(EscapeXml("a<b>&\"'c"), "a&lt;b&gt;&amp;&quot;&#39;c");
  EXPECT_EQ(EscapeXml("]]>"), "]]&gt;");
}

TEST(Escape, JsonMayStandInAScript) {
  EXPECT_EQ(QuoteJson("a\"\\b"), R"("a\"\\b")");
  EXPECT_EQ(QuoteJson("</script>&"), R"("\u003c/script\u003e\u0026")");
  EXPECT_EQ(QuoteJson("\n\x1f"), R"("\u000a\u001f")");
  EXPECT_EQ(QuoteJson("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\xE2\x80"),
            "\"\\u2028\\u2029\xE2\x80\xAA\xE2\x80\"");
}

TEST(Escape, HostileNamesComeBackFromJson) {
  for (const std::string& name : testing::HostileNames()) {
    const std::string safe = SafeName(name);
    EXPECT_EQ(nlohmann::json::parse(QuoteJson(safe)).get<std::string>(), safe);
  }
}

TEST(IsJsonNumberTest, HoldsForWhatADoubleHoldsExactly) {
  constexpr std::uint64_t kMost = 9'007'199'254'740'991;
  EXPECT_TRUE(IsJsonNumber(kMost));
  EXPECT_FALSE(IsJsonNumber(kMost + 1));
  EXPECT_FALSE(IsJsonNumber(~std::uint64_t{0}));
  EXPECT_TRUE(IsJsonNumber(-static_cast<std::int64_t>(kMost)));
  EXPECT_FALSE(IsJsonNumber(-static_cast<std::int64_t>(kMost) - 1));
  EXPECT_FALSE(IsJsonNumber(std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(IsJsonNumber(std::int32_t{-1}));
}

TEST(EscapeTest, GraphvizTakesNothingInALabelForItsOwn) {
  EXPECT_EQ(QuoteDot("plain"), "\"plain\"");
  EXPECT_EQ(QuoteDot("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(QuoteDot("say \"\\N\""), "\"say \\\"\\\\N\\\"\"");
  EXPECT_EQ(QuoteDot("&lt;"), "\"&amp;lt;\"");
  EXPECT_EQ(QuoteDot("<b>"), "\"<b>\"");
}

}  // namespace
}  // namespace profd::client
