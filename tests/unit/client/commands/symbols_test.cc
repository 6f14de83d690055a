#include "client/commands/symbols.h"

#include <gtest/gtest.h>

#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

TEST(SymbolsVerbTest, SymbolsCollectsForAMoment) {
  const auto collect = [](std::vector<std::string> arguments) {
    return std::get<CollectOptions>(OptionsOf<SymbolsVerb>(std::move(arguments)));
  };
  const CollectOptions options = collect({"symbols", "-p", "12", "--json", "-o", "x.txt"});
  EXPECT_EQ(options.target.pids().id(0), 12u);
  EXPECT_EQ(options.duration_ns, 2'000'000'000u);
  EXPECT_EQ(options.output.report, Report::kSymbolsJson);
  EXPECT_EQ(options.output.files, std::vector<std::string>{"x.txt"});
  EXPECT_EQ(collect({"symbols", "-a", "-d", "5"}).duration_ns, 5'000'000'000u);
  EXPECT_EQ(collect({"symbols", "-a"}).output.report, Report::kSymbols);
}

TEST(SymbolsVerbTest, SymbolsTakesAFile) {
  const auto options =
      std::get<ExportCommandOptions>(OptionsOf<SymbolsVerb>({"symbols", "out.json"}));
  EXPECT_EQ(options.input, "out.json");
  EXPECT_EQ(options.output.report, Report::kSymbols);
  EXPECT_EQ(Refused({"symbols", "out.json", "-p", "1"}).message,
            "both a file and a target are named");
  EXPECT_NE(Refused({"symbols"}).hint.find("FILE.json"), std::string::npos);
}

}  // namespace
}  // namespace profd::client
