// Names, inlined functions and lines as they are requested, and what profctl symbols says of them.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "daemon/base/files.h"
#include "tests/e2e/profctl.h"
#include "tests/support/listed_symbols.h"

namespace profd::e2e {
namespace {

class SymbolsTest : public ProfctlTest {
 protected:
  // Runs the program at `path`; returns when it is in its loop.
  void StartProgram(const std::string& path) {
    auto program = testing::Subprocess::Start({path});
    ASSERT_TRUE(program.ok());
    program_.emplace(std::move(*program));
    ASSERT_TRUE(program_->ReadLine().ok());
    pid_ = std::to_string(program_->pid());
  }
  // A copy of the program without symbols; these are in a file beside it if `link`.
  [[nodiscard]] std::string Stripped(
      bool link, const std::string& program = TestProgram("inlines_program")) const {
    const std::string copy = File("stripped");
    const auto run = [](const std::vector<std::string>& command) {
      const auto outcome = testing::Run(command);
      EXPECT_EQ(outcome.exit_code, 0) << command.front() << ": " << outcome.err;
    };
    run({"strip", "-o", copy, program});
    if (!link) return copy;
    run({"objcopy", "--only-keep-debug", program, File("stripped.debug")});
    run({"objcopy", "--add-gnu-debuglink=" + File("stripped.debug"), copy});
    return copy;
  }
  [[nodiscard]] nlohmann::json Symbols(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "symbols");
    arguments.emplace_back("--json");
    const auto outcome = Profctl(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << outcome.out;
    return json;
  }
  [[nodiscard]] static nlohmann::json ModuleOf(const nlohmann::json& symbols,
                                               const std::string& path) {
    for (const auto& module : symbols["modules"])
      if (module["path"] == path) return module;
    ADD_FAILURE() << path << " is not in " << symbols.dump(1);
    return {};
  }
  [[nodiscard]] v1::Profile Collect(const std::vector<std::string>& more) const {
    return CollectProcess(pid_, "1", more);
  }

  std::optional<testing::Subprocess> program_;
  std::string pid_;
};

std::size_t CountOf(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

const v1::Frame* FrameCalled(const v1::Profile& profile, const std::string& name) {
  const auto found = std::find_if(profile.frames().begin(), profile.frames().end(),
                                  [&](const v1::Frame& frame) { return frame.name() == name; });
  return found == profile.frames().end() ? nullptr : &*found;
}

TEST_F(SymbolsTest, InlinedFunctionsAndLinesAreThereUnlessRefused) {
  StartProgram(TestProgram("inlines_program"));
  const v1::Profile all = Collect({});
  const v1::Frame* inlined = FrameCalled(all, "shop::AddPrice");
  ASSERT_NE(inlined, nullptr);
  EXPECT_TRUE(inlined->inlined());
  EXPECT_NE(inlined->line(), 0u);
  EXPECT_TRUE(inlined->file().ends_with("inlines_program.cc")) << inlined->file();

  const v1::Profile outer = Collect({"--no-inlines"});
  EXPECT_EQ(FrameCalled(outer, "shop::AddPrice"), nullptr);
  const v1::Frame* ring = FrameCalled(outer, "shop::Ring");
  ASSERT_NE(ring, nullptr);
  EXPECT_NE(ring->line(), 0u);

  const v1::Profile no_lines = Collect({"--no-lines"});
  EXPECT_NE(FrameCalled(no_lines, "shop::AddPrice"), nullptr);
  for (const v1::Frame& frame : no_lines.frames()) EXPECT_EQ(frame.line(), 0u) << frame.name();

  const v1::Profile bare = Collect({"--no-lines", "--no-inlines"});
  EXPECT_NE(FrameCalled(bare, "shop::Ring"), nullptr);
  EXPECT_EQ(FrameCalled(bare, "shop::AddPrice"), nullptr);
  for (const v1::Frame& frame : bare.frames()) EXPECT_EQ(frame.file(), "") << frame.name();
}

TEST_F(SymbolsTest, EachSessionHasWhatItRequested) {
  StartProgram(TestProgram("inlines_program"));
  const std::string host = "unix:" + File("profd.sock");
  auto daemon = testing::Subprocess::Start({Binary("profd"), "--listen", host}, options_);
  ASSERT_TRUE(daemon.ok());
  ASSERT_TRUE(daemon->WaitForStderr("serving").ok());
  const auto collect = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"collect", "--host", host, "-p",      pid_,
                                          "-d",      "2",      "-o", File(file)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return StartProfctl(arguments);
  };
  auto with = collect("with.json", {});
  auto without = collect("without.json", {"--no-inlines", "--no-lines"});
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(with->Wait().exit_code, 0);
  EXPECT_EQ(without->Wait().exit_code, 0);
  EXPECT_NE(FrameCalled(ReadProfile(File("with.json")), "shop::AddPrice"), nullptr);
  const v1::Profile bare = ReadProfile(File("without.json"));
  EXPECT_NE(FrameCalled(bare, "shop::Ring"), nullptr);
  EXPECT_EQ(FrameCalled(bare, "shop::AddPrice"), nullptr);
  for (const v1::Frame& frame : bare.frames()) EXPECT_EQ(frame.line(), 0u) << frame.name();
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->Wait().exit_code, 0);
}

TEST_F(SymbolsTest, NamesAsTheFilesHaveThem) {
  StartProgram(TestProgram("inlines_program"));
  (void)Collect({});
  const auto plain = Profctl({"export", File("out.json"), "-f", "folded"});
  EXPECT_NE(plain.out.find(";shop::Ring;"), std::string::npos) << plain.out;
  const auto mangled = Profctl({"export", File("out.json"), "-f", "folded", "--no-demangle"});
  EXPECT_NE(mangled.out.find(";_ZN4shop4RingERVj;"), std::string::npos) << mangled.out;
  EXPECT_EQ(mangled.out.find("shop::"), std::string::npos) << mangled.out;
  const auto collected =
      Profctl({"collect", "-p", pid_, "-d", "1", "-F", "500", "-f", "folded", "--no-demangle"});
  EXPECT_NE(collected.out.find(";_ZN4shop4RingERVj;"), std::string::npos) << collected.out;
}

TEST_F(SymbolsTest, SaysWhereNamesAreFrom) {
  StartProgram(TestProgram("inlines_program"));
  const auto module = ModuleOf(Symbols({"-p", pid_, "-d", "1"}), TestProgram("inlines_program"));
  EXPECT_EQ(module["symbols_from"], ".symtab");
  EXPECT_EQ(module["symbols_file"], "");
  EXPECT_EQ(module["debug_file"], TestProgram("inlines_program"));
  EXPECT_EQ(module["build_id"].get<std::string>().size(), 40u);
  EXPECT_GT(module["frames"], 0);
  EXPECT_EQ(module["named"], module["frames"]);
  EXPECT_GT(module["with_line"], 0);
  EXPECT_GT(module["inlined"], 0);
}

TEST_F(SymbolsTest, FollowsALinkToADebugFile) {
  StartProgram(Stripped(true));
  const auto module = ModuleOf(Symbols({"-p", pid_, "-d", "1"}), File("stripped"));
  EXPECT_EQ(module["symbols_from"], ".symtab");
  EXPECT_EQ(module["symbols_file"], File("stripped.debug"));
  EXPECT_EQ(module["debug_file"], File("stripped.debug"));
  EXPECT_EQ(module["named"], module["frames"]);
  EXPECT_GT(module["inlined"], 0);
}

TEST_F(SymbolsTest, SaysWhyAFrameHasNoNameEverywhere) {
  StartProgram(Stripped(false));
  const auto outcome = Profctl({"collect", "-p", pid_, "-d", "1", "-F", "500", "-o",
                                File("out.json"), "-o", File("out.svg")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string why = "no symbols: install its debug package (tried /usr/lib/debug/.build-id/";
  const v1::Profile profile = ReadProfile(File("out.json"));
  const auto unnamed = std::find_if(
      profile.frames().begin(), profile.frames().end(),
      [&](const v1::Frame& f) { return f.module() == File("stripped") && !f.reason().empty(); });
  ASSERT_NE(unnamed, profile.frames().end());
  EXPECT_TRUE(unnamed->name().starts_with("stripped!fn_")) << unnamed->name();
  EXPECT_TRUE(unnamed->reason().starts_with(why)) << unnamed->reason();
  EXPECT_NE(ReadFile(File("out.svg")).find(why), std::string::npos);

  // From the file, without a daemon.
  const auto module = ModuleOf(Symbols({File("out.json")}), File("stripped"));
  ASSERT_FALSE(module["unnamed"].empty());
  EXPECT_TRUE(module["unnamed"][0]["reason"].get<std::string>().starts_with(why));
  const auto table = Profctl({"symbols", File("out.json"), "-o", File("out.txt")});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(table.out, "");
  const std::string text = ReadFile(File("out.txt"));
  EXPECT_NE(text.find("without a name\n  " + File("stripped") + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("DEBUGINFOD_URLS"), std::string::npos) << text;
}

TEST_F(SymbolsTest, AFunctionWithoutASymbolIsOneFunctionInEachRun) {
  const std::string program = TestProgram("nameless_program");
  const auto symbols = testing::ListSymbols(program, false);
  const auto grind = std::ranges::find(symbols, "_ZN4work5GrindEj", &testing::ListedSymbol::name);
  ASSERT_NE(grind, symbols.end());
  const std::string by_place = "stripped!fn_" + HexNumber(grind->start).substr(2);
  const std::string by_class = "work::Mill<float>::(virtual 2)";
  const std::string stripped = Stripped(false, program);
  for (int run = 0; run < 2; ++run) {  // at different addresses
    StartProgram(stripped);
    const v1::Profile profile = Collect({});
    const auto on_cpu_ns = static_cast<double>(profile.threads(0).clock().on_cpu_ns());
    for (const std::string& name : {by_place, by_class}) {
      const v1::Frame* frame = FrameCalled(profile, name);
      ASSERT_NE(frame, nullptr) << name;
      EXPECT_EQ(frame->reason().empty(), name == by_class) << frame->reason();
      EXPECT_GT(static_cast<double>(TimeIn(profile, name).on_cpu_ns), 0.1 * on_cpu_ns) << name;
    }
    // Samples at many addresses are one function.
    std::set<std::uint64_t> places;
    for (const v1::Frame& frame : profile.frames())
      if (frame.name() == by_place) places.insert(frame.offset());
    EXPECT_GT(places.size(), 3u);
    const auto folded = Profctl({"export", File("out.json"), "-f", "folded"});
    EXPECT_NE(folded.out.find(";" + by_place + " "), std::string::npos) << folded.out;
    EXPECT_EQ(folded.out.find("[unknown stripped"), std::string::npos) << folded.out;
    std::set<std::string> leaves;
    std::istringstream lines(folded.out);
    for (std::string line; std::getline(lines, line);)
      if (const std::size_t at = line.rfind(';'); line.find("stripped!", at) != std::string::npos)
        leaves.insert(line.substr(at + 1, line.rfind(' ') - at - 1));
    EXPECT_LE(leaves.size(), 2u) << folded.out;
  }
}

TEST_F(SymbolsTest, MethodsOfTheUsersInterfacesHaveNames) {
  StartProgram(Stripped(false, TestProgram("nameless_program")));
  std::ofstream(File("own.toml"))
      << "[[method]]\ninterface = 'work::Mill<.*>'\nvirtual = 2\nname = 'run'\n";
  const std::string host = "unix:" + File("profd.sock");
  auto daemon = testing::Subprocess::Start(
      {Binary("profd"), "--listen", host, "--rules-file", File("own.toml")}, options_);
  ASSERT_TRUE(daemon.ok());
  ASSERT_TRUE(daemon->WaitForStderr("serving").ok());
  const v1::Profile profile = Collect({"--host", host});
  EXPECT_NE(FrameCalled(profile, "work::Mill<float>::run"), nullptr);
  EXPECT_EQ(FrameCalled(profile, "work::Mill<float>::(virtual 2)"), nullptr);
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->Wait().exit_code, 0);
}

TEST_F(SymbolsTest, CodeMadeAtRunTimeHasTheNameThatItsDumpGivesIt) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the program makes code for x86-64";
#endif
  auto program = testing::Subprocess::Start({TestProgram("jit_program"), directory_});
  ASSERT_TRUE(program.ok());
  ASSERT_TRUE(program->ReadLine().ok());
  pid_ = std::to_string(program->pid());
  const v1::Profile profile = Collect({});
  ASSERT_EQ(profile.threads_size(), 1);
  EXPECT_EQ(FrameCalled(profile, "made::at_run_time")->kind(), v1::FRAME_JIT);
  // It does nothing else; calling it again takes a few instructions of 200,000,000.
  const auto time = TimeIn(profile, "made::at_run_time");
  EXPECT_GE(time.on_cpu_ns, profile.threads(0).clock().on_cpu_ns() * 9 / 10);
  EXPECT_EQ(TimeIn(profile, "main").on_cpu_ns, profile.threads(0).clock().on_cpu_ns());
}

TEST_F(SymbolsTest, CodeMadeAtRunTimeThatNothingListsHasARowForEachFunction) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the program makes code for x86-64";
#endif
  auto program = testing::Subprocess::Start({TestProgram("made_program")});
  ASSERT_TRUE(program.ok());
  const auto line = program->ReadLine();
  ASSERT_TRUE(line.ok());
  pid_ = std::to_string(program->pid());
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> functions;  // begin, end
  std::istringstream places(*line);
  for (std::string begin, end; places >> begin >> end;)
    functions["[code made at run time]!fn_" + begin] = {std::stoull(begin, nullptr, 16),
                                                        std::stoull(end, nullptr, 16)};
  ASSERT_EQ(functions.size(), 3u);
  const v1::Profile profile = CollectProcess(pid_, "2", {});
  const auto on_cpu_ns = static_cast<double>(profile.threads(0).clock().on_cpu_ns());
  std::map<std::string, std::set<std::uint64_t>> seen;
  for (const v1::Frame& frame : profile.frames()) {
    if (frame.kind() != v1::FRAME_NATIVE || !frame.module().empty()) continue;
    EXPECT_THAT(functions, ::testing::Contains(::testing::Key(frame.name())));
    EXPECT_THAT(frame.reason(), ::testing::HasSubstr("code made at run time")) << frame.name();
    const auto& [begin, end] = functions[frame.name()];
    EXPECT_TRUE(frame.offset() >= begin && frame.offset() < end) << frame.name();
    seen[frame.name()].insert(frame.offset());
  }
  for (const auto& [name, place] : functions) {
    EXPECT_GT(seen[name].size(), 3u) << name << ": samples at many addresses are one function";
    // Each does the same work.
    EXPECT_GT(static_cast<double>(TimeIn(profile, name).on_cpu_ns), 0.2 * on_cpu_ns) << name;
  }
  for (const std::string format : {"csv", "json", "table"}) {
    std::vector<std::string> arguments{"report", File("out.json"), "--by", "function"};
    if (format != "table") arguments.insert(arguments.end(), {"-f", format});
    const std::string rows = Profctl(arguments).out;
    for (const auto& [name, place] : functions) EXPECT_EQ(CountOf(rows, name), 1u) << rows;
    EXPECT_EQ(CountOf(rows, "[unknown "), 0u) << rows;  // an address without a function
  }
  const std::string top = Profctl({"top", "-p", pid_, "-n", "1", "-i", "1", "--functions"}).out;
  // The middle of long names is left out.
  for (const auto& [name, place] : functions)
    EXPECT_EQ(CountOf(top, name.substr(name.find("!fn_"))), 1u) << top;
}

TEST_F(SymbolsTest, ReplaysSayTheSame) {
  StartProgram(Stripped(true));
  const std::string host = "unix:" + File("profd.sock");
  const auto serve = [&](const char* option) {
    auto daemon = testing::Subprocess::Start(
        {Binary("profd"), "--listen", host, option, File("r.profd")}, options_);
    EXPECT_TRUE(daemon.ok() && daemon->WaitForStderr("serving").ok());
    return daemon;
  };
  auto live = serve("--record");
  auto said = ModuleOf(Symbols({"--host", host, "-p", pid_, "-d", "1"}), File("stripped"));
  live->Signal(SIGTERM);
  EXPECT_EQ(live->Wait().exit_code, 0);
  auto replay = serve("--replay");
  auto again = ModuleOf(Symbols({"--host", host, "-p", pid_}), File("stripped"));
  // A replay has no unwind tables.
  for (const char* of_tables : {"code_covered_bytes", "code_bare_bytes", "code_refused"}) {
    said.erase(of_tables);
    again.erase(of_tables);
  }
  EXPECT_EQ(said, again);
  replay->Signal(SIGTERM);
  EXPECT_EQ(replay->Wait().exit_code, 0);
}

}  // namespace
}  // namespace profd::e2e
