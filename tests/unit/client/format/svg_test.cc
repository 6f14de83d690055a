#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "client/profile/wait_reasons.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

const Exporter kSvg = **ExporterByName("svg");

// What stands between `begin` and the next `end`; a failed expectation when there is none.
std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  EXPECT_NE(from, std::string::npos) << begin;
  if (from == std::string::npos) return "";
  const std::size_t to = text.find(end, from + begin.size());
  EXPECT_NE(to, std::string::npos) << end;
  return text.substr(from + begin.size(), to - from - begin.size());
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

nlohmann::json DataOf(const std::string& svg) {
  return nlohmann::json::parse(
      Between(svg, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

TEST(Svg, UnresolvedFramesSayWhyAndWhatTheirProgramIsCalled) {
  testing::ProfileMaker maker;
  v1::Frame frame;
  frame.set_module("/usr/bin/redis-check-rdb");
  frame.set_program("redis-server");
  frame.set_offset(0x64e51);
  frame.set_reason("stripped: install its debug package (tried /x.debug: none)");
  maker.AddFrames(maker.AddThread(1, "redis-server"), {frame});
  const nlohmann::json data = DataOf(Written(kSvg, maker.Make()));
  const auto holds = [&](const char* list, const std::string& text) {
    const auto& texts = data[list];
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  };
  EXPECT_TRUE(holds("labels", "[unknown redis-server+0x64e51]")) << data["labels"];
  EXPECT_TRUE(holds("places",
                    "\n/usr/bin/redis-check-rdb\n"
                    "stripped: install its debug package (tried /x.debug: none)"))
      << data["places"];
}

TEST(Svg, HeadSaysWhatWasMeasuredAndWhatItRestsOn) {
  // Style, script and data have tests of their own; this is what is seen without script.
  const std::string svg = Written(kSvg, testing::TypicalProfile());
  ExpectGolden(Between(svg, "<g id=\"head\">", "</g>"), "typical.head.svg");
  ExpectGolden(Between(svg, "<svg id=\"still\"", "</svg>\n</svg>\n"), "typical.frames.svg");
}

TEST(Svg, RunningIsWorkingAndSpinning) {
  const std::string svg = Written(kSvg, testing::SpinningProfile());
  const std::string head = Between(svg, "<g id=\"head\">", "</g>");
  EXPECT_EQ(Count(head, "<title>working 16.2 %, 650 ms</title>"), 1u) << head;
  EXPECT_EQ(Count(head, "<title>spinning 10.0 %, 400 ms</title>"), 1u) << head;
  EXPECT_EQ(Count(head, "<tspan dx=\"4\">spinning 10.0 %</tspan>"), 1u) << head;
  const nlohmann::json data = DataOf(svg);
  std::uint64_t spinning = 0;
  for (std::size_t i = 0; i < data["ns"].size(); ++i)
    if (data["styles"][data["style"][i].get<std::size_t>()] == "spn")
      spinning += data["ns"][i].get<std::uint64_t>();
  EXPECT_EQ(spinning, 400'000'000u);
}

TEST(Svg, OnWhomFramesHaveAToneOfTheirOwn) {
  const std::string plain = Written(kSvg, testing::WaitingProfile());
  EXPECT_EQ(Count(plain, "on whom it waits"), 0u);
  const std::string svg =
      Written(kSvg, testing::WaitingProfile(), {.on_whom = PathDetail::kStacks});
  EXPECT_EQ(Count(Between(svg, "<g id=\"head\">", "</g>"), "on whom it waits"), 1u);
  const nlohmann::json data = DataOf(svg);
  const auto of_frame = [&](const char* list, const char* column, std::size_t i) {
    return data[list][data[column][i].get<std::size_t>()].get<std::string>();
  };
  std::map<std::string, std::uint64_t> ns;
  for (std::size_t i = 0; i < data["ns"].size(); ++i) {
    if (of_frame("styles", "style", i) != "who") continue;
    ns[of_frame("labels", "label", i)] += data["ns"][i].get<std::uint64_t>();
  }
  EXPECT_EQ(ns["--"], 1'210'000'000u);
  EXPECT_EQ(ns["[waits for engine-worker]"], 830'000'000u);
  EXPECT_EQ(ns["[runs]"], 600'000'000u);
  EXPECT_EQ(ns["[runs ~]"], 20'000'000u);
  EXPECT_EQ(ns.count("get_device_properties"), 0u) << "functions keep their tones";
  EXPECT_EQ(data["ns"][0], DataOf(plain)["ns"][0]);
}

TEST(Svg, TheStyleHasEachWaitReason) {
  const std::string svg = Written(kSvg, testing::TypicalProfile());
  const std::string style = Between(svg, "<style>", "</style>");
  EXPECT_EQ(Count(style, "@WAIT"), 0u);
  for (const WaitReasonEntry& entry : WaitReasons()) {
    if (entry.light.empty()) continue;
    const std::string rule = "." + std::string(entry.name()) + " { fill: ";
    EXPECT_EQ(Count(style, rule + std::string(entry.light)), 1u) << rule;
    EXPECT_EQ(Count(style, rule + std::string(entry.dark)), 1u) << rule;
  }
  // Text on a frame that is no match keeps its ink, so its rule stands behind.
  EXPECT_LT(style.find("text.sleep"), style.find("text.miss"));
}

TEST(Svg, NothingIsFetched) {
  const std::string svg = Written(kSvg, testing::TypicalProfile());
  // The two name spaces are names, not addresses to fetch from.
  EXPECT_EQ(Count(svg, "http"),
            Count(svg, "http://www.w3.org/2000/svg") + Count(svg, "http://www.w3.org/1999/xhtml"));
  for (const char* part : {"href", "@import", "src=", "fetch(", "XMLHttpRequest", "eval(", "//cdn"})
    EXPECT_EQ(Count(svg, part), 0u) << part;
  EXPECT_EQ(Count(svg, "url("), Count(svg, "url(#hatch)"));
}

TEST(Svg, DataHoldsTheWholeTree) {
  const v1::Profile profile = testing::LargeProfile(4000);
  const auto data = DataOf(Written(kSvg, profile));
  const std::size_t frames = data["ns"].size();
  EXPECT_GE(frames, 4000u);
  for (const char* column : {"depth", "label", "place", "style", "count"})
    EXPECT_EQ(data[column].size(), frames);
  const auto& weights = profile.samples().weight_ns();
  EXPECT_EQ(data["ns"][0], std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
  EXPECT_EQ(data["depth"][0], 0);
}

TEST(Svg, ElementsStayFewHoweverLargeTheGraph) {
  const std::string svg = Written(kSvg, testing::LargeProfile(20'000));
  EXPECT_GE(DataOf(svg)["ns"].size(), 20'000u);
  const std::string frames = Between(svg, "<svg id=\"still\"", "</svg>\n</svg>\n");
  EXPECT_LT(Count(frames, "<rect"), 9000u);
  EXPECT_GT(Count(frames, "too narrow to be drawn"), 0u);
}

TEST(Svg, HostileNamesAddNoElement) {
  const std::string svg = Written(kSvg, testing::HostileProfile(), {.threads = true});
  const std::string harmless = Written(kSvg, testing::TypicalProfile());
  for (const char* markup :
       {"<script", "</script", "<![CDATA[", "]]>", "<image", "<!--", "<!DOCTYPE"})
    EXPECT_EQ(Count(svg, markup), Count(harmless, markup)) << markup;
  EXPECT_EQ(Count(svg, "onerror=\"document"), 0u);
  for (const char c : svg) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  const auto labels = DataOf(svg)["labels"];
  EXPECT_NE(
      std::find(labels.begin(), labels.end(), "</script><script>document.title='owned'</script>"),
      labels.end());
}

TEST(Svg, AnEmptyProfileSaysSo) {
  for (const v1::Profile& profile : {testing::EmptyProfile(), v1::Profile()}) {
    const std::string svg = Written(kSvg, profile);
    EXPECT_EQ(Count(svg, "There are no samples in this profile."), 1u);
    EXPECT_EQ(Count(svg, "<script"), 0u);
  }
}

TEST(Svg, TitleIsTheCommandUnlessGiven) {
  EXPECT_EQ(Between(Written(kSvg, testing::SmallProfile()), "<title>", "</title>"),
            "/usr/bin/demo --fast (4242)");
  EXPECT_EQ(
      Between(Written(kSvg, testing::SmallProfile(), {.title = "a<b"}), "<title>", "</title>"),
      "a&lt;b");
}

}  // namespace
}  // namespace profd::client
