#include "client/documents/template_text.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::client {
namespace {

std::string ErrorOf(const std::string& text, const std::map<std::string, std::string>& parts) {
  const auto filled = FillTemplate(text, parts);
  EXPECT_FALSE(filled);
  return filled ? "" : filled.error().message;
}

TEST(TemplateTextTest, LinesWithANameAreReplacedWithTheirIndentation) {
  EXPECT_EQ(
      FillTemplate("a\n  # @X@\n.\\\" @Y Z@\nb\n", {{"X", "1\n 2\n"}, {"Y Z", "3\n"}}).value(),
      "a\n  1\n   2\n3\nb\n");
}

TEST(TemplateTextTest, OtherLinesStay) {
  const std::string text = "# @ a\n#@X@\n# X@\necho @X@\n\n  # no\n";
  EXPECT_EQ(FillTemplate(text, {}).value(), text);
}

TEST(TemplateTextTest, APartThatIsMissingOnEitherSideIsAnError) {
  EXPECT_EQ(ErrorOf("# @X@\n", {}), "nothing is called @X@");
  EXPECT_EQ(ErrorOf("a\n", {{"X", "1\n"}}), "there is no line @X@");
}

}  // namespace
}  // namespace profd::client
