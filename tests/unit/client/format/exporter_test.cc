#include "client/format/exporter.h"

#include <gtest/gtest.h>

#include <set>

#include "client/format/json.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

std::string FormatOf(std::string_view path) {
  const auto exporter = ExporterByFileName(path);
  return exporter ? std::string((*exporter)->name) : exporter.error().message;
}

TEST(Exporters, AreFoundByName) {
  for (const char* name : {"folded", "svg", "speedscope", "firefox", "perfetto", "chrome", "pprof",
                           "callgrind", "dot", "perf-script", "csv", "json"}) {
    const auto exporter = ExporterByName(name);
    ASSERT_TRUE(exporter);
    EXPECT_EQ((*exporter)->name, name);
    EXPECT_FALSE((*exporter)->about.empty());
    EXPECT_FALSE((*exporter)->viewers.empty());
  }
  const auto none = ExporterByName("gif");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(none.error().message, "no format is called 'gif'");
  EXPECT_EQ(none.error().hint,
            "the formats are folded, svg, html, speedscope, firefox, perfetto, chrome, pprof, "
            "callgrind, dot, "
            "perf-script, "
            "csv, json");
}

TEST(Exporters, AreFoundByTheLongestExtension) {
  EXPECT_EQ(FormatOf("out.folded"), "folded");
  EXPECT_EQ(FormatOf("out.txt"), "folded");
  EXPECT_EQ(FormatOf("/tmp/a.b/out.SVG"), "svg");
  EXPECT_EQ(FormatOf("out.json"), "json");
  EXPECT_EQ(FormatOf("out.speedscope.json"), "speedscope");
  EXPECT_EQ(FormatOf("out.pb.gz"), "pprof");
  EXPECT_EQ(FormatOf("out.callgrind"), "callgrind");
  EXPECT_EQ(FormatOf("out.dot"), "dot");
  EXPECT_EQ(FormatOf("out.perf"), "perf-script");
  EXPECT_EQ(FormatOf("out.csv"), "csv");
  EXPECT_EQ(FormatOf("out.chrome.json"), "chrome");
  EXPECT_EQ(FormatOf("out.firefox.json.gz"), "firefox");
  EXPECT_EQ(FormatOf("out.perfetto-trace"), "perfetto");
  EXPECT_EQ(FormatOf("out.trace.json"), "chrome");
  EXPECT_EQ(FormatOf("out.gz"), "the extension of 'out.gz' names no format");
  EXPECT_EQ(FormatOf(""), "the extension of '' names no format");
}

TEST(Exporters, ExtensionsAreDistinct) {
  std::set<std::string_view> seen;
  for (const Exporter& exporter : Exporters())
    for (const std::string_view extension : exporter.extensions)
      EXPECT_TRUE(seen.insert(extension).second) << extension;
}

TEST(Exporters, EveryFormatIsTheSameFromAProfileReadAgain) {
  for (const v1::Profile& profile :
       {testing::SmallProfile(), testing::TypicalProfile(), testing::EmptyProfile(),
        testing::LargeProfile(2000), testing::ManyThreadsProfile(20), testing::HostileProfile(),
        testing::WaitingProfile()}) {
    std::istringstream in(Written(JsonExporter(), profile));
    const auto again = ReadJson(in);
    ASSERT_TRUE(again) << again.error().message;
    for (const Exporter& exporter : Exporters())
      for (const ExportOptions& options : {ExportOptions{}, ExportOptions{.threads = true},
                                           ExportOptions{.signatures = true, .title = "t"},
                                           ExportOptions{.on_whom = PathDetail::kStacks}})
        EXPECT_EQ(Written(exporter, *again, options), Written(exporter, profile, options))
            << exporter.name;
  }
}

TEST(Exporters, AFullDiskIsAnError) {
  for (const Exporter& exporter : Exporters()) {
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    const auto written = exporter.write(testing::SmallProfile(), {}, out);
    ASSERT_FALSE(written) << exporter.name;
    EXPECT_EQ(written.error().code, ErrorCode::kIo);
  }
}

TEST(Exporters, ADamagedProfileIsRefusedBeforeAByteIsWritten) {
  v1::Profile profile = testing::SmallProfile();
  profile.mutable_samples()->set_node(0, 1'000'000);
  for (const Exporter& exporter : Exporters()) {
    std::ostringstream out;
    const auto written = exporter.write(profile, {}, out);
    ASSERT_FALSE(written) << exporter.name;
    EXPECT_EQ(written.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(out.str(), "");
  }
}

}  // namespace
}  // namespace profd::client
