#include "client/screens/doctor/doctor_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/screens/json/screen_json.h"

namespace profd::client {
namespace {

TEST(DoctorViewTest, ALineACheckAndOneThatFixes) {
  EXPECT_EQ(RenderFindings({{"BTF", Verdict::kOk, "is there", ""},
                            {"kernel", Verdict::kFail, "too old", "a newer one"}},
                           80, Palette()),
            "BTF     ok       is there\n"
            "kernel  fail     too old\n"
            "                 -> a newer one\n");
}

TEST(DoctorViewTest, LongTextsAreWrappedAndHostileOnesMadeSafe) {
  EXPECT_EQ(RenderFindings({{"a", Verdict::kUnknown, "one two three four five six \x1b[2J", ""}},
                           32, Palette()),
            "a  unknown  one two three four\n"
            "            five six ?[2J\n");
}

TEST(DoctorViewTest, OnlyWhatFailsIsAFailure) {
  EXPECT_FALSE(AnyFailed({{"a", Verdict::kWarn, "", ""}, {"b", Verdict::kUnknown, "", ""}}));
  EXPECT_TRUE(AnyFailed({{"a", Verdict::kOk, "", ""}, {"b", Verdict::kFail, "", ""}}));
}

TEST(DoctorViewTest, JsonHasAll) {
  const auto json = nlohmann::json::parse(
      FindingsJson({{"kernel", Verdict::kFail, "5.10 is too old", "a newer one"}}));
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["checks"][0]["check"], "kernel");
  EXPECT_EQ(json["checks"][0]["verdict"], "fail");
  EXPECT_EQ(json["checks"][0]["found"], "5.10 is too old");
  EXPECT_EQ(json["checks"][0]["fix"], "a newer one");
}

}  // namespace
}  // namespace profd::client
