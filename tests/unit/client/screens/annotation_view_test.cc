#include "client/screens/report/annotation_view.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

SampledTime Sampled(std::uint64_t ms) { return {ms * kMs, 100, 0}; }

Annotation Made(Annotation::Kind kind) {
  Annotation annotation{.kind = kind,
                        .name = "work",
                        .path = "/srv/work",
                        .symbol = "work",
                        .places = {},
                        .all_ns = 1000 * kMs};
  annotation.places[3].self[TimePart::kWorking] = Sampled(300);
  annotation.places[3].total = annotation.places[3].self;
  annotation.places[12].total[TimePart::kBlocked] = Sampled(500);
  return annotation;
}

std::string Source() {
  std::string text;
  for (int i = 1; i <= 20; ++i) text += "\tline " + std::to_string(i) + "\n";
  return text;
}

ReportScale Scale() {
  ReportScale scale;
  scale.whole_ns = 1000 * kMs;
  scale.elapsed_ns = 1000 * kMs;
  return scale;
}

TEST(AnnotationViewTest, LinesNearTimeAreShownAndGapsMarked) {
  EXPECT_EQ(RenderAnnotation(Made(Annotation::Kind::kSource), LinesIn(Source()), Scale(), {}),
            "/srv/work, shares of all thread time\n"
            "  self    total   line\n"
            "                     1       line 1\n"
            "                     2       line 2\n"
            "30.0 %   30.0 %      3       line 3\n"
            "                     4       line 4\n"
            "                     5       line 5\n"
            "                   ...\n"
            "                    10       line 10\n"
            "                    11       line 11\n"
            "         50.0 %     12       line 12\n"
            "                    13       line 13\n"
            "                    14       line 14\n");
}

TEST(AnnotationViewTest, AWideOneHasStates) {
  ReportViewOptions options;
  options.width = 120;
  const std::string text =
      RenderAnnotation(Made(Annotation::Kind::kSource), LinesIn(Source()), Scale(), options);
  EXPECT_NE(text.find("running"), std::string::npos) << text;
}

TEST(AnnotationViewTest, InstructionsHaveNoTotal) {
  std::vector<PlaceText> texts;
  for (std::uint64_t i = 1; i < 6; ++i) texts.push_back({i, "0x" + std::to_string(i), "nop"});
  const std::string text = RenderAnnotation(Made(Annotation::Kind::kCode), texts, Scale(), {});
  EXPECT_EQ(text,
            "work in /srv/work, shares of all thread time\n"
            "  self   address\n"
            "             0x1   nop\n"
            "             0x2   nop\n"
            "30.0 %       0x3   nop\n"
            "             0x4   nop\n"
            "             0x5   nop\n");
}

TEST(AnnotationViewTest, TimeWithoutATextIsALine) {
  const std::string text =
      RenderAnnotation(Made(Annotation::Kind::kSource), LinesIn("one\n"), Scale(), {});
  EXPECT_NE(text.find("30.0 %    ...   elsewhere\n"), std::string::npos) << text;
}

TEST(AnnotationViewTest, SourceIsMadeSafe) {
  const std::vector<PlaceText> lines = LinesIn("a\x1b[2J\tb\r\n\xff\n\nlast");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].text.find('\x1b'), std::string::npos);
  EXPECT_EQ(lines[1].text, "?");
  EXPECT_EQ(lines[2].text, "");
  EXPECT_EQ(lines[3].text, "last");
  EXPECT_EQ(lines[3].place, 4u);
}

TEST(AnnotationViewTest, TheSheetHasPlacesWithTime) {
  const ReportSheet sheet = SheetOf(Made(Annotation::Kind::kSource), LinesIn(Source()));
  ASSERT_EQ(sheet.rows.size(), 2u);
  for (const auto& row : sheet.rows) ASSERT_EQ(row.size(), sheet.columns.size());
  EXPECT_EQ(std::get<std::uint64_t>(sheet.rows[0][0]), 3u);
  EXPECT_EQ(std::get<std::string>(sheet.rows[0][1]), "    line 3");
}

}  // namespace
}  // namespace profd::client
