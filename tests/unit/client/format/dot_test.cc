#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProfileMaker;

const Exporter kDot = **ExporterByName("dot");

struct Graph {
  std::map<std::string, std::string> labels;  // by box
  std::map<std::string, std::string> arrows;  // "caller > called" by the first lines: share

  [[nodiscard]] std::string LabelOf(const std::string& name) const {
    for (const auto& [box, label] : labels)
      if (label.starts_with(name + "\\n")) return label;
    return "";
  }
};

Graph Read(const std::string& text) {
  static const std::regex kBox(R"rx(  (f\d+) \[label="((?:[^"\\]|\\.)*)", .*\])rx");
  static const std::regex kArrow(R"rx(  (f\d+) -> (f\d+) \[label="([^"]*)", .*\])rx");
  Graph graph;
  const auto name = [&](const std::string& box) {
    return graph.labels.at(box).substr(0, graph.labels.at(box).find("\\n"));
  };
  std::istringstream in(text);
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, match, kBox)) graph.labels[match[1]] = match[2];
    if (std::regex_match(line, match, kArrow))
      graph.arrows[name(match[1]) + " > " + name(match[2])] = match[3];
  }
  return graph;
}

TEST(Dot, MatchesItsGolden) { ExpectGolden(Written(kDot, testing::SmallProfile()), "small.dot"); }

TEST(Dot, BoxesHaveTheirSharesAndStates) {
  const Graph graph = Read(Written(kDot, testing::SmallProfile()));
  EXPECT_EQ(graph.LabelOf("compute"), "compute\\ndemo\\nself 42.5 %\\nworking 98.8 %");
  EXPECT_EQ(graph.LabelOf("_start"),
            "_start\\ndemo\\ntotal 100.0 %\\nblocked 57.5 %, working 42.0 %");
  EXPECT_EQ(graph.LabelOf("run"), "run\\ndemo\\nself 30.0 % of 50.0 %\\nblocked 100.0 %");
  EXPECT_EQ(graph.arrows.at("_start > main"), "50.0 %");
  EXPECT_EQ(graph.arrows.at("run > fsync_[k]"), "20.0 %");
}

TEST(Dot, FunctionsOfLittleTimeAreOneBox) {
  const std::string text = Written(kDot, testing::ManyThreadsProfile(400));
  const Graph graph = Read(text);
  EXPECT_LE(graph.labels.size(), 61u);
  EXPECT_THAT(graph.LabelOf("(rest)"),
              HasSubstr("of 400 functions that are left out\\nself 1.0 %"));
  EXPECT_EQ(graph.arrows.at("run > (rest)"), "1.0 %");
  EXPECT_THAT(text, Not(HasSubstr("task_")));
}

TEST(Dot, ArrowsPassOverWhatIsLeftOut) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  // "deep" has much time by many callers of little time each.
  for (int i = 0; i < 300; ++i)
    maker.Add(thread, {"main", "via_" + std::to_string(i), "deep"}, testing::Running(1));
  const Graph graph = Read(Written(kDot, maker.Make()));
  EXPECT_EQ(graph.arrows, (std::map<std::string, std::string>{{"main > deep", "100.0 %"}}));
  EXPECT_EQ(graph.labels.size(), 2u);
}

TEST(Dot, ALargeProfileStaysReadable) {
  const std::string text = Written(kDot, testing::LargeProfile(20'000));
  const Graph graph = Read(text);
  EXPECT_EQ(graph.labels.size(), 61u);
  EXPECT_LE(graph.arrows.size(), 120u);
  EXPECT_GE(graph.arrows.size(), 100u);
  EXPECT_THAT(text, HasSubstr("arrows of little time are left out: "));
}

TEST(Dot, RecursionIsNoArrowOfItsOwn) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(1, "t"), {"main", "f", "f", "f"});
  const Graph graph = Read(Written(kDot, maker.Make()));
  EXPECT_EQ(graph.arrows, (std::map<std::string, std::string>{{"main > f", "100.0 %"}}));
}

TEST(Dot, IsNotTheGraphOfWaits) {
  const std::string text = Written(kDot, testing::WaitingProfile());
  EXPECT_THAT(text, HasSubstr("digraph calls"));
  EXPECT_THAT(text, HasSubstr("Who calls whom"));
  EXPECT_THAT(text, Not(HasSubstr("waits for")));
}

TEST(Dot, HostileNamesStayInTheirQuotes) {
  const std::string text = Written(kDot, testing::HostileProfile());
  static const std::regex kLine(
      R"rx(  (label=|f\d+ (-> f\d+ )?\[label=)"(?:[^"\\]|\\.)*"(, [a-z]+=[^"]*|, [a-z]+="[#a-z0-9,]*")*\]?)rx");
  std::istringstream in(text);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    if (!line.starts_with("  f") && !line.starts_with("  label")) continue;
    EXPECT_TRUE(std::regex_match(line, kLine)) << line;
  }
  EXPECT_GT(lines, 60);
  EXPECT_THAT(Written(kDot, testing::EmptyProfile()), HasSubstr("digraph calls"));
}

}  // namespace
}  // namespace profd::client
