#include "client/commands/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "client/cli/suggestions.h"

namespace profd::client {
namespace {

CommandLine Parsed(std::vector<std::string> arguments) {
  const auto line = ParseCommandLine(std::move(arguments));
  EXPECT_TRUE(line) << (line ? "" : line.error().message);
  return line ? *line : CommandLine{};
}

Error Refused(std::vector<std::string> arguments) {
  const auto line = ParseCommandLine(std::move(arguments));
  EXPECT_FALSE(line);
  if (line) return Error{};
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
  return line.error();
}

TEST(CommandLineTest, CollectHasTheDefaultsOfItsHelp) {
  const CommandLine line = Parsed({"collect", "-p", "1234"});
  EXPECT_EQ(line.verb, Verb::kCollect);
  ASSERT_EQ(line.collect.target.pids().id_size(), 1);
  EXPECT_EQ(line.collect.target.pids().id(0), 1234u);
  EXPECT_FALSE(line.collect.target.children());
  EXPECT_FALSE(line.collect.duration_ns.has_value());
  EXPECT_EQ(line.collect.frequency_hz, 99u);
  EXPECT_EQ(line.collect.mode, v1::MODE_WALL);
  EXPECT_TRUE(line.collect.output.files.empty());
}

TEST(CommandLineTest, InlinedFunctionsAndLinesCanBeRefused) {
  EXPECT_TRUE(Parsed({"collect", "-a"}).collect.inlined);
  EXPECT_TRUE(Parsed({"collect", "-a"}).collect.lines);
  const CommandLine line = Parsed({"collect", "-a", "--no-inlines", "--no-lines"});
  EXPECT_FALSE(line.collect.inlined);
  EXPECT_FALSE(line.collect.lines);
  EXPECT_NE(Refused({"collect", "-a", "--no-inline"}).hint.find("--no-inlines"), std::string::npos);
}

TEST(CommandLineTest, SymbolsCollectsForAMoment) {
  const CommandLine line = Parsed({"symbols", "-p", "12", "--json", "-o", "x.txt"});
  EXPECT_EQ(line.verb, Verb::kCollect);
  EXPECT_EQ(line.collect.target.pids().id(0), 12u);
  EXPECT_EQ(line.collect.duration_ns, 2'000'000'000u);
  EXPECT_EQ(line.collect.output.report, Report::kSymbolsJson);
  EXPECT_EQ(line.collect.output.files, std::vector<std::string>{"x.txt"});
  EXPECT_EQ(Parsed({"symbols", "-a", "-d", "5"}).collect.duration_ns, 5'000'000'000u);
  EXPECT_EQ(Parsed({"symbols", "-a"}).collect.output.report, Report::kSymbols);
}

TEST(CommandLineTest, TopLooksAtTheWholeHostEveryTwoSeconds) {
  const CommandLine line = Parsed({"top"});
  EXPECT_EQ(line.verb, Verb::kTop);
  EXPECT_TRUE(line.top.target.all());
  EXPECT_EQ(line.top.interval_ns, 2'000'000'000u);
  EXPECT_EQ(line.top.state.view, TopView::kProcesses);
  EXPECT_EQ(line.top.count, 0u);
  EXPECT_FALSE(line.top.plain);
}

TEST(CommandLineTest, TopTakesATargetAViewAndHowOften) {
  const CommandLine line = Parsed({"top", "-p", "12", "-i", "500ms", "-n", "3", "--functions",
                                   "--sort", "self", "--filter", "x", "-F", "19", "-m", "on"});
  EXPECT_EQ(line.top.target.pids().id(0), 12u);
  EXPECT_EQ(line.top.interval_ns, 500'000'000u);
  EXPECT_EQ(line.top.count, 3u);
  EXPECT_TRUE(line.top.plain);
  EXPECT_EQ(line.top.state.view, TopView::kFunctions);
  EXPECT_EQ(line.top.state.sort, TopSort::kSelf);
  EXPECT_EQ(line.top.state.filter, "x");
  EXPECT_EQ(line.top.frequency_hz, 19u);
  EXPECT_EQ(line.top.mode, v1::MODE_ON_CPU);
}

TEST(CommandLineTest, TopRefusesWhatCannotBe) {
  EXPECT_EQ(Refused({"top", "--sort", "self"}).hint,
            "it is one of running, runnable, blocked, name");
  EXPECT_EQ(Refused({"top", "-n", "0"}).message, "-n 0 is no number of tables");
  EXPECT_EQ(Refused({"top", "-i", "1ms"}).hint, "it is at least 100ms");
  EXPECT_NE(Refused({"top", "--threads", "--functions"}).message, "");
  EXPECT_NE(Refused({"top", "-a", "-p", "1"}).message, "");
}

TEST(CommandLineTest, SymbolsTakesAFile) {
  const CommandLine line = Parsed({"symbols", "out.json"});
  EXPECT_EQ(line.verb, Verb::kExport);
  EXPECT_EQ(line.export_command.input, "out.json");
  EXPECT_EQ(line.export_command.output.report, Report::kSymbols);
  EXPECT_EQ(Refused({"symbols", "out.json", "-p", "1"}).message,
            "both a file and a target are named");
  EXPECT_NE(Refused({"symbols"}).hint.find("FILE.json"), std::string::npos);
}

TEST(CommandLineTest, RecordIsCollect) {
  EXPECT_EQ(Parsed({"record", "-a"}).verb, Verb::kCollect);
  EXPECT_TRUE(Parsed({"record", "-a"}).collect.target.all());
}

TEST(CommandLineTest, EveryOptionOfCollect) {
  const CommandLine line =
      Parsed({"collect", "-p",      "12,13",     "--pid=14",     "-d500ms", "-F", "200",
              "-m",      "off",     "-s",        "-o",           "a.svg",   "-o", "-",
              "-f",      "folded",  "--threads", "--signatures", "-q",      "-v", "--color=never",
              "--host",  "unix:/x", "--native",  "--no-progress"});
  EXPECT_EQ(line.collect.target.pids().id_size(), 3);
  EXPECT_TRUE(line.collect.target.children());
  EXPECT_EQ(line.collect.duration_ns, 500'000'000u);
  EXPECT_EQ(line.collect.frequency_hz, 200u);
  EXPECT_EQ(line.collect.mode, v1::MODE_OFF_CPU);
  EXPECT_EQ(line.collect.output.files, (std::vector<std::string>{"a.svg", "-"}));
  EXPECT_EQ(line.collect.output.format, "folded");
  EXPECT_TRUE(line.collect.output.threads);
  EXPECT_TRUE(line.collect.output.signatures);
  EXPECT_TRUE(line.collect.no_progress);
  EXPECT_TRUE(line.global.quiet);
  EXPECT_TRUE(line.global.verbose);
  EXPECT_EQ(line.global.color, ColorChoice::kNever);
  EXPECT_EQ(line.global.host.address, "unix:/x");
}

TEST(CommandLineTest, Targets) {
  EXPECT_EQ(Parsed({"collect", "-t", "5"}).collect.target.tids().id(0), 5u);
  EXPECT_EQ(Parsed({"collect", "--comm", "redis-server"}).collect.target.comm(), "redis-server");
  EXPECT_EQ(Parsed({"collect", "--comm", "a-name-of-more-than-15"}).collect.target.comm(),
            "a-name-of-more-");
  EXPECT_EQ(Parsed({"collect", "--cgroup", "/x"}).collect.target.cgroup(), "/x");
  EXPECT_TRUE(Parsed({"collect", "-a", "--kernel-threads"}).collect.target.kernel_threads());
  EXPECT_TRUE(Parsed({"collect", "-p", "1", "--cycles"}).collect.hardware_cycles);
}

TEST(CommandLineTest, EverythingBehindTheDashesIsTheCommands) {
  const CommandLine line =
      Parsed({"collect", "-o", "x.svg", "--", "ls", "-l", "--", "-p", "--help", "--no-such"});
  EXPECT_EQ(line.verb, Verb::kCollect);
  EXPECT_EQ(line.collect.command,
            (std::vector<std::string>{"ls", "-l", "--", "-p", "--help", "--no-such"}));
  EXPECT_TRUE(line.collect.target.children()) << "children of a command are followed by default";
  EXPECT_FALSE(Parsed({"collect", "--no-children", "--", "ls"}).collect.target.children());
}

TEST(CommandLineTest, OtherCommands) {
  EXPECT_EQ(Parsed({"status", "--json"}).verb, Verb::kStatus);
  EXPECT_TRUE(Parsed({"status", "--json"}).status.json);
  EXPECT_EQ(Parsed({"formats"}).verb, Verb::kFormats);
  EXPECT_EQ(Parsed({"version"}).verb, Verb::kVersion);
  EXPECT_EQ(Parsed({"--version"}).verb, Verb::kVersion);
  EXPECT_EQ(Parsed({"-q", "status"}).global.quiet, true);
  const CommandLine line = Parsed({"export", "in.json", "-o", "a.svg", "-o", "b.folded"});
  EXPECT_EQ(line.verb, Verb::kExport);
  EXPECT_EQ(line.export_command.input, "in.json");
  EXPECT_EQ(line.export_command.output.files.size(), 2u);
  EXPECT_EQ(Parsed({"export", "-"}).export_command.input, "-");
  EXPECT_EQ(Parsed({"export", "status"}).export_command.input, "status");
}

TEST(CommandLineTest, DiffTakesTwoFiles) {
  const CommandLine line = Parsed({"diff", "a.json", "-", "--absolute", "--filter-b", "pid=7", "-o",
                                   "d.svg", "-o", "d.json", "--threads"});
  EXPECT_EQ(line.verb, Verb::kDiff);
  EXPECT_EQ(line.diff.a.source, "a.json");
  EXPECT_EQ(line.diff.b.source, "-");
  EXPECT_TRUE(line.diff.absolute);
  EXPECT_TRUE(line.diff.threads);
  EXPECT_EQ(line.diff.a.filter, "");
  EXPECT_EQ(line.diff.b.filter, "pid=7");
  EXPECT_EQ(line.diff.files.size(), 2u);
  EXPECT_EQ(Refused({"diff"}).message, "nothing to compare is named");
  EXPECT_EQ(Refused({"diff", "a.json"}).message, "only one side is named");
  EXPECT_EQ(Refused({"diff", "a", "b", "c"}).message, "more than two sides are named");
  EXPECT_EQ(Refused({"diff", "-", "-"}).message, "both sides are standard input");
}

TEST(CommandLineTest, DiffTakesStretchesOfTheHistory) {
  constexpr std::uint64_t kHourNs = 3'600'000'000'000;
  const CommandLine line = Parsed({"diff", "2h..1h", "1h..", "--comm", "redis*", "-p", "7"});
  ASSERT_TRUE(line.diff.a.history && line.diff.b.history);
  const HistoryQuestion& a = *line.diff.a.history;
  const HistoryQuestion& b = *line.diff.b.history;
  EXPECT_EQ(line.diff.a.source, "2h..1h");
  EXPECT_EQ(a.request.to_unix_ns() - a.request.from_unix_ns(), kHourNs);
  // Both are of one now.
  EXPECT_EQ(a.request.to_unix_ns(), b.request.from_unix_ns());
  EXPECT_EQ(b.request.to_unix_ns() - b.request.from_unix_ns(), kHourNs);
  for (const HistoryQuestion* question : {&a, &b}) {
    EXPECT_EQ(question->who, "pid 7, comm redis*");
    EXPECT_EQ(question->request.filter().comm(0), "redis*");
    EXPECT_EQ(question->request.filter().pid(0), 7u);
  }
  const CommandLine mixed = Parsed({"diff", "a.json", "..2026-11-20T14:05:00Z", "--user", "root"});
  EXPECT_FALSE(mixed.diff.a.history.has_value());
  ASSERT_TRUE(mixed.diff.b.history.has_value());
  EXPECT_EQ(mixed.diff.b.history->request.from_unix_ns(), 0u);
  EXPECT_EQ(mixed.diff.b.history->request.to_unix_ns(), 1'795'183'500'000'000'000u);
}

TEST(CommandLineTest, WhatIsNoTwoTimesIsAFileOfADiff) {
  for (const char* file : {"../a.json", "..", "a..b", "2h..soon", "./1h..", "-", "1h"}) {
    const CommandLine line = Parsed({"diff", file, "b.json"});
    EXPECT_FALSE(line.diff.a.history.has_value()) << file;
    EXPECT_EQ(line.diff.a.source, file);
  }
}

TEST(CommandLineTest, ADiffRefusesAnEmptyStretchAndFiltersWithoutHistory) {
  EXPECT_NE(Refused({"diff", "1h..2h", "1h.."}).message.find("1h..2h is empty"), std::string::npos);
  EXPECT_NE(Refused({"diff", "1h..1h", "a.json"}).message.find("is empty"), std::string::npos);
  EXPECT_NE(Refused({"diff", "2h..", "9999-01-01.."}).message.find("is empty"), std::string::npos);
  const Error files = Refused({"diff", "a.json", "b.json", "--unit", "nginx"});
  EXPECT_EQ(files.message, "--unit is for the history, and both sides are files");
  EXPECT_NE(files.hint.find("--filter-a"), std::string::npos);
  (void)Refused({"diff", "2h..1h", "1h..", "--wait", "nothing"});
}

TEST(CommandLineTest, TargetsMustBeOneKind) {
  EXPECT_NE(Refused({"collect"}).hint.find("-p PID"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "-a"}).message.find("more than one"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "--", "ls"}).message.find("more than one"),
            std::string::npos);
  (void)Refused({"collect", "-p", "1", "--kernel-threads"});
  (void)Refused({"collect", "-p", "1", "-s", "--no-children"});
  (void)Refused({"collect", "-p", "1", "--cycles", "-m", "off"});
}

TEST(CommandLineTest, WrongValuesNameTheOption) {
  EXPECT_NE(Refused({"collect", "-p", "1", "-d", "0"}).message.find("-d 0"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "-d", "-5"}).message.find("-d -5"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "1", "-F", "0"}).message.find("-F 0"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-p", "x"}).message.find("-p x"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-a", "-m", "up"}).message.find("-m up"), std::string::npos);
  EXPECT_NE(Refused({"--color", "red", "formats"}).message.find("red"), std::string::npos);
  EXPECT_EQ(Refused({"collect", "-p"}).message, "--pid needs a value");
  EXPECT_EQ(Refused({"collect", "-a", "-d", "1", "-d", "2"}).message,
            "--duration is given more than once");
}

TEST(CommandLineTest, SaysWhatWasMeant) {
  EXPECT_EQ(Refused({"colect", "-p", "1"}).hint, "did you mean profctl collect?");
  EXPECT_EQ(Refused({"stats"}).hint, "did you mean profctl status?");
  EXPECT_EQ(Refused({"collect", "-a", "--durtion", "5"}).hint, "did you mean --duration?");
  EXPECT_EQ(Refused({"collect", "-a", "--freq=5"}).hint, "did you mean --frequency?");
  EXPECT_EQ(Refused({"collect", "-a", "-x"}).hint, "see profctl collect --help");
  EXPECT_EQ(Refused({"zzzzzz"}).hint, "see profctl --help");
  EXPECT_NE(Refused({"collect", "ls"}).hint.find("--"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-a", "--rate", "5"}).hint.find("-F"), std::string::npos);
  EXPECT_NE(Refused({"collect", "-a", "--idle"}).hint.find("-m on"), std::string::npos);
}

TEST(CommandLineTest, DashesOnlyWhereTheyMakeSense) {
  EXPECT_EQ(Refused({"status", "--", "ls"}).message, "only collect takes a command behind --");
  EXPECT_EQ(Refused({"collect", "--"}).message, "no command behind --");
  (void)Refused({"export"});
  (void)Refused({});
}

TEST(CommandLineTest, HelpFitsEightyColumnsAndNamesEveryOption) {
  for (const CommandNames& command : AllCommandNames()) {
    std::vector<std::string> arguments;
    if (!command.name.empty()) arguments.push_back(command.name);
    arguments.emplace_back("--help");
    const CommandLine line = Parsed(arguments);
    EXPECT_EQ(line.verb, Verb::kHelp);
    std::istringstream lines(line.help);
    for (std::string text; std::getline(lines, text);) {
      EXPECT_LE(text.size(), 80u) << text;
      EXPECT_FALSE(text.ends_with(' ')) << text;
    }
    EXPECT_TRUE(line.help.starts_with("Usage: profctl")) << line.help;
    for (const std::string& option : command.options)
      EXPECT_NE(line.help.find(option), std::string::npos) << option << "\n" << line.help;
  }
}

TEST(CommandLineTest, HelpIsFoundInEveryWay) {
  const std::string help = Parsed({"collect", "--help"}).help;
  EXPECT_EQ(Parsed({"collect", "-h"}).help, help);
  EXPECT_EQ(Parsed({"help", "collect"}).help, help);
  EXPECT_EQ(Parsed({"collect", "-p", "nonsense", "--help"}).help, help);
  EXPECT_NE(Parsed({"help"}).help.find("Commands:"), std::string::npos);
}

TEST(SuggestionsTest, ClosestIsCloseOrNothing) {
  const std::vector<std::string> words{"collect", "status", "formats"};
  EXPECT_EQ(ClosestOf("colelct", words), "collect");
  EXPECT_EQ(ClosestOf("stat", words), "status");
  EXPECT_EQ(ClosestOf("format", words), "formats");
  EXPECT_EQ(ClosestOf("banana", words), "");
  EXPECT_EQ(ClosestOf("", words), "");
}

}  // namespace
}  // namespace profd::client
