#include "daemon/rules/operator_name.h"

#include <gtest/gtest.h>

namespace profd::rules {
namespace {

std::string Named(const std::string& text, const std::string& function, const std::string& name) {
  const auto parsed = OperatorName::Parse(text, function);
  return parsed ? parsed->Of(name) : parsed.error().message;
}

TEST(OperatorName, PutsGroupsIntoTheText) {
  EXPECT_EQ(Named("aten::{op}", R"(ops::(?P<op>\w+)::call)", "ops::mm::call"), "aten::mm");
  EXPECT_EQ(Named("{a}-{b}-{a}", "(?P<a>.)(?P<b>.)", "xy"), "x-y-x");
  EXPECT_EQ(Named("{b}", "(x)(?P<b>.)", "xy"), "y") << "groups without a name count, too";
  EXPECT_EQ(Named("blas", "(?P<op>f)", "f"), "blas");
}

TEST(OperatorName, ALazyGroupTakesAsLittleAsTheWholeNeeds) {
  EXPECT_EQ(Named("{op}", "(?P<op>\\w+?)(?:_(?:[A-Z]\\w*|out))?", "mul_Tensor"), "mul");
  EXPECT_EQ(Named("{op}", "(?P<op>\\w+?)(?:_(?:[A-Z]\\w*|out))?", "add__Tensor"), "add_");
  EXPECT_EQ(Named("{op}", "(?P<op>\\w+?)(?:_(?:[A-Z]\\w*|out))?", "max_pool2d"), "max_pool2d");
}

TEST(OperatorName, ANameThatDoesNotMatchGivesNone) {
  EXPECT_EQ(Named("a{op}", "(?P<op>x)", "y"), "");
  EXPECT_EQ(Named("{op}", "f(?P<op>x)?", "f"), "");
}

TEST(OperatorName, NamesAreBytes) {
  EXPECT_EQ(Named("{op}", "f(?P<op>.*)", "f\xff\n"), "\xff\n");
  EXPECT_EQ(Named("{op}", "(?P<op>.*)", std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST(OperatorName, AWrongTemplateIsRefused) {
  EXPECT_EQ(Named("", "f", "f"), "it is empty");
  EXPECT_EQ(Named("{op}", "f", "f"), "{op} needs a group (?P<op>...) in function");
  EXPECT_EQ(Named("{}", "(?P<op>f)", "f"), "{} needs a group (?P<>...) in function");
  for (const char* text : {"{", "}", "a{op", "op}", "{{op}}", "{op}}"})
    EXPECT_EQ(Named(text, "(?P<op>f)", "f"), "a brace has no partner") << text;
}

}  // namespace
}  // namespace profd::rules
