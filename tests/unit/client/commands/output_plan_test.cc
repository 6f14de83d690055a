#include "client/commands/common/output_plan.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "client/format/json.h"
#include "daemon/base/unique_fd.h"
#include "tests/support/sample_profiles.h"
#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

class OutputPlanTest : public ::testing::Test {
 protected:
  Result<OutputPlan> Plan(std::vector<std::string> files, const std::string& format = "",
                          bool terminal = false) {
    OutputOptions options;
    options.files = std::move(files);
    options.format = format;
    return OutputPlan::Make(options, terminal);
  }
  // The formats of the outputs; "summary" for none.
  std::vector<std::string> Formats(const Result<OutputPlan>& plan) {
    std::vector<std::string> names;
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    if (!plan) return names;
    for (const Output& output : plan->outputs())
      names.emplace_back(output.exporter == nullptr ? "summary" : output.exporter->name);
    return names;
  }

  using Names = std::vector<std::string>;
  test::TempFolder directory_;
};

TEST_F(OutputPlanTest, WithoutAFileItDependsOnTheTerminal) {
  EXPECT_EQ(Formats(Plan({}, "", true)), Names{"summary"});
  EXPECT_EQ(Formats(Plan({}, "", false)), Names{"folded"});
  EXPECT_EQ(Formats(Plan({}, "summary", false)), Names{"summary"});
  EXPECT_EQ(Formats(Plan({}, "json", true)), Names{"json"});
  EXPECT_EQ(Formats(Plan({}, "svg", false)), Names{"svg"});
}

TEST_F(OutputPlanTest, PicturesAndBytesAreNotForTerminals) {
  for (const char* format : {"svg", "pprof"}) {
    const auto plan = Plan({}, format, true);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(Formats(Plan({"-"}, format, true)), Names{format}) << "it was requested";
  }
}

TEST_F(OutputPlanTest, FilesByTheirExtensionOrByF) {
  EXPECT_EQ(Formats(Plan({directory_.Path("a.svg"), directory_.Path("b.speedscope.json"),
                          directory_.Path("c.json"), directory_.Path("d.pb.gz"),
                          directory_.Path("e.txt"), "-"})),
            (Names{"svg", "speedscope", "json", "pprof", "folded", "folded"}));
  EXPECT_EQ(Formats(Plan({directory_.Path("a.svg"), directory_.Path("odd")}, "json")),
            (Names{"svg", "json"}));
  EXPECT_EQ(Formats(Plan({"-", directory_.Path("a.json")}, "summary")), (Names{"summary", "json"}));
  EXPECT_EQ(Formats(Plan({directory_.Path("a.txt")}, "summary")), Names{"summary"});
  EXPECT_EQ(Formats(Plan({directory_.Path("a.svg")}, "svg")), Names{"svg"});
}

TEST_F(OutputPlanTest, WhatCannotWork) {
  EXPECT_FALSE(Plan({directory_.Path("odd")}));
  EXPECT_FALSE(Plan({}, "gif"));
  EXPECT_FALSE(Plan({directory_.Path("a.svg")}, "json")) << "which of the two is meant?";
  EXPECT_FALSE(Plan({directory_.Path("a.svg")}, "summary"));
  EXPECT_FALSE(Plan({""}));
  EXPECT_FALSE(Plan({directory_.Path("a.svg"), directory_.Path("a.svg")}));
  EXPECT_FALSE(Plan({directory_.Path("missing/a.svg")}));
  const auto directory = Plan({directory_.path()});
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("is a directory"), std::string::npos);
  EXPECT_TRUE(directory_.Names().empty());
}

TEST_F(OutputPlanTest, OneThatFailsDoesNotKeepTheOthersFromBeingWritten) {
  const auto plan = Plan({directory_.Path("gone/a.json"), directory_.Path("b.json")});
  ASSERT_FALSE(plan) << "there is no such directory yet";
  std::filesystem::create_directory(directory_.Path("gone"));
  const auto good = Plan({directory_.Path("gone/a.json"), directory_.Path("b.json")});
  ASSERT_TRUE(good);
  std::filesystem::remove(directory_.Path("gone"));
  GlobalOptions global;
  Console console(Console::Options{.quiet = true, .palette = Palette(), .fd = -1});
  TempFiles temp_files;
  const Context context{global, console, temp_files};
  EXPECT_FALSE(good->Write(testing::SmallProfile(), std::nullopt, "", context));
  EXPECT_EQ(directory_.Names(), std::set<std::string>{"b.json"});
  std::ifstream in(directory_.Path("b.json"));
  const auto read = ReadJson(in);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->SerializeAsString(), testing::SmallProfile().SerializeAsString());
}

TEST_F(OutputPlanTest, ASummaryGoesIntoAFileWithoutColor) {
  const auto plan = Plan({directory_.Path("a.txt")}, "summary");
  ASSERT_TRUE(plan);
  GlobalOptions global;
  global.color = ColorChoice::kAlways;
  Console console(Console::Options{.quiet = true, .palette = Palette(), .fd = -1});
  TempFiles temp_files;
  const Context context{global, console, temp_files};
  EXPECT_TRUE(plan->Write(testing::TypicalProfile(), std::nullopt, "footer", context));
  const std::string text = directory_.Read("a.txt");
  EXPECT_NE(text.find("where the time goes"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("footer"), std::string::npos);
}

TEST_F(OutputPlanTest, PathsAreInTheFilesOnRequestAndMissingOnesAreSaid) {
  OutputOptions options;
  options.files = {directory_.Path("a.folded"), directory_.Path("a.json")};
  options.on_whom = "steps";
  auto plan = OutputPlan::Make(options, false);
  ASSERT_TRUE(plan);
  GlobalOptions global;
  TempFiles temp_files;
  const auto words = [&](const v1::Profile& profile) {
    const UniqueFd file(::open(directory_.Path("words").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600));
    Console console(Console::Options{.palette = Palette(), .fd = file.get()});
    EXPECT_TRUE(plan->Write(profile, std::nullopt, "", {global, console, temp_files}));
    return directory_.Read("words");
  };
  EXPECT_EQ(words(testing::WaitingProfile()).find("--on-whom"), std::string::npos);
  EXPECT_NE(directory_.Read("a.folded").find("[blocked:lock];--;[waits for engine-worker];[runs]"),
            std::string::npos);
  EXPECT_NE(words(testing::SmallProfile()).find("--on-whom shows nothing"), std::string::npos);
  EXPECT_EQ(directory_.Read("a.folded").find("--"), std::string::npos);
  options.on_whom = "everything";
  EXPECT_FALSE(OutputPlan::Make(options, false));
}

TEST_F(OutputPlanTest, WaitsAreWrittenInTheFormatsOfTheirFiles) {
  OutputOptions options;
  options.report = Report::kWaits;
  options.files = {directory_.Path("a.dot"), directory_.Path("a.json"), directory_.Path("a.txt")};
  auto plan = OutputPlan::Make(options, false);
  ASSERT_TRUE(plan);
  GlobalOptions global;
  Console console(Console::Options{.quiet = true, .palette = Palette(), .fd = -1});
  TempFiles temp_files;
  const Context context{global, console, temp_files};
  EXPECT_TRUE(plan->Write(testing::WaitingProfile(), std::nullopt, "", context));
  EXPECT_TRUE(directory_.Read("a.dot").starts_with("digraph waits {"));
  EXPECT_TRUE(directory_.Read("a.json").starts_with("{"));
  EXPECT_NE(directory_.Read("a.txt").find("ended by"), std::string::npos);
}

TEST_F(OutputPlanTest, AFilterLeavesWhatFitsInEveryFormat) {
  OutputOptions options;
  options.files = {directory_.Path("a.folded"), directory_.Path("a.json"),
                   directory_.Path("a.txt")};
  options.format = "summary";
  options.filter = "function = run and wait = io";
  auto plan = OutputPlan::Make(options, false);
  ASSERT_TRUE(plan);
  const auto part = plan->Restrict(testing::SmallProfile());
  ASSERT_TRUE(part);
  GlobalOptions global;
  Console console(Console::Options{.quiet = true, .palette = Palette(), .fd = -1});
  TempFiles temp_files;
  EXPECT_TRUE(plan->Write(*part, std::nullopt, "", {global, console, temp_files}));
  EXPECT_EQ(directory_.Read("a.folded"), "demo (4242);_start;run;fsync_[k];[blocked:io] 800000\n");
  std::ifstream in(directory_.Path("a.json"));
  const auto read = ReadJson(in);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->filter(), options.filter);
  const std::string summary = directory_.Read("a.txt");
  EXPECT_NE(summary.find("only function = run and wait = io"), std::string::npos) << summary;
  EXPECT_NE(summary.find("~40.0 %"), std::string::npos) << summary;
  EXPECT_EQ(summary.find("60.0 %  lock"), std::string::npos) << summary;
  options.filter = "function = nowhere";
  plan = OutputPlan::Make(options, false);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->Restrict(testing::SmallProfile()).error().code, ErrorCode::kNotFound);
  options.filter = "function";
  EXPECT_EQ(OutputPlan::Make(options, false).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace profd::client
