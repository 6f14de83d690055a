#include "client/screens/symbols/symbols_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/screens/json/screen_json.h"
#include "client/screens/symbols/module_rows.h"
#include "client/text/text.h"
#include "tests/support/profile_maker.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr const char* kStripped =
    "stripped: install its debug package (tried "
    "/usr/lib/debug/.build-id/a5/0d6825e71f1473372299161f75fe50e80452de.debug: none, "
    "/usr/bin/.debug/0d6825e71f1473372299161f75fe50e80452de.debug: none)";

v1::Frame Named(const std::string& module, std::uint32_t info, std::uint64_t offset,
                const std::string& name, std::uint32_t line = 0) {
  v1::Frame frame;
  frame.set_name(name);
  frame.set_module(module);
  frame.set_module_info(info);
  frame.set_offset(offset);
  frame.set_line(line);
  return frame;
}

v1::Frame Unnamed(const std::string& module, std::uint32_t info, std::uint64_t offset,
                  const std::string& reason) {
  v1::Frame frame = Named(module, info, offset, "");
  frame.set_reason(reason);
  return frame;
}

// A stripped program, a libc with its debug package, the kernel, JIT code, and a stack that ends
// early.
v1::Profile Sample() {
  const std::string redis = "/usr/bin/redis-check-rdb";
  const std::string libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
  testing::ProfileMaker maker;
  const auto add_module = [&](const std::string& path, const char* build_id, const char* from) {
    v1::Module* module = maker.profile().add_modules();
    module->set_path(path);
    module->set_build_id(build_id);
    module->set_symbols_from(from);
    return module;
  };
  v1::Module* program = add_module(redis, "a50d6825e71f1473372299161f75fe50e80452de", ".dynsym");
  program->set_symbols_missing(kStripped);
  program->set_debug_missing("/usr/lib/debug/.build-id/a5/0d6825.debug: none");
  v1::Module* c = add_module(libc, "93ac61ec5a8eb1396f9fbd350e3169a558528a40", ".symtab");
  c->set_symbols_file("/usr/lib/debug/.build-id/93/ac61.debug");
  c->set_debug_file("/usr/lib/debug/.build-id/93/ac61.debug");

  v1::Frame inlined = Named(libc, 2, 0x2000, "memcpy_inline", 7);
  inlined.set_inlined(true);
  v1::Frame started = Unnamed(redis, 1, 0x64e51, kStripped);
  started.set_program("redis-server");
  started.set_name("redis-server!fn_64e00");  // made of its place: it counts as none
  v1::Frame jit = Named("", 0, 0x7f00, "LazyCompile:~f");
  jit.set_kind(v1::FRAME_JIT);
  const auto thread = maker.AddThread(4242, "demo");
  const v1::Frame read = testing::FrameFromText("read_[k]");
  maker.AddFrames(thread, {Named(redis, 1, 0x1000, "main"), started,
                           Named(libc, 2, 0x2000, "read", 12), inlined, read});
  maker.AddFrames(thread,
                  {testing::FrameFromText("[tables not ready]"), Named(redis, 1, 0x1000, "main"),
                   Unnamed(redis, 1, 0x700, kStripped)},
                  {.count = 3});
  maker.AddFrames(thread, {Named(redis, 1, 0x1010, "main"), jit,
                           Unnamed("", 0, 0x7fff, "no mapping held this address")});
  return maker.Make();
}

SymbolsOptions Options(bool complete) {
  SymbolsOptions options;
  options.width = 100;
  options.complete = complete;
  options.packages = {{"/usr/bin/redis-check-rdb", "redis-tools-dbgsym"}};
  return options;
}

TEST(SymbolsViewTest, CountsEachAddressOnce) {
  const auto rows = ModuleRows(Sample());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].path, "/usr/bin/redis-check-rdb");
  EXPECT_EQ(rows[0].program, "redis-server");
  EXPECT_EQ(rows[0].frames, 4u);
  EXPECT_EQ(rows[0].named, 2u);
  EXPECT_THAT(ReasonsOf(rows[0]), ElementsAre(Pair(kStripped, 2u)));
  EXPECT_THAT(rows[0].ends, ElementsAre(Pair("[tables not ready]", 3u)));
  EXPECT_EQ(rows[1].path, "");
  EXPECT_EQ(rows[1].frames, 2u);
  EXPECT_EQ(rows[1].info.symbols_from(), "jit map");
  EXPECT_EQ(rows[2].frames, 1u) << "what is inlined is no address of its own";
  EXPECT_EQ(rows[2].with_line, 1u);
  EXPECT_EQ(rows[2].inlined, 1u);
  EXPECT_TRUE(rows[3].kernel);
  EXPECT_EQ(rows[3].info.symbols_from(), "kallsyms");
}

TEST(SymbolsViewTest, ANameThatCameLaterCounts) {
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(1, "a");
  maker.AddFrames(thread, {Unnamed("/x", 0, 0x10, "being requested")});
  maker.AddFrames(thread, {Named("/x", 0, 0x10, "f", 3)});
  const auto rows = ModuleRows(maker.Make());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].frames, 1u);
  EXPECT_EQ(rows[0].named, 1u);
  EXPECT_TRUE(rows[0].unnamed.empty());
}

TEST(SymbolsViewTest, ForPeople) {
  const std::string text = RenderSymbols(Sample(), Options(false));
  ExpectGolden(text, "symbols_100.txt");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100u) << line;
  ExpectGolden(RenderSymbols(Sample(), Options(true)), "symbols_100_complete.txt");
  SymbolsOptions colored = Options(false);
  colored.palette = Palette(true);
  EXPECT_EQ(WithoutColor(RenderSymbols(Sample(), colored)), text);
}

TEST(SymbolsViewTest, SaysHowMuchCodeWithoutUnwindInformationHasRules) {
  v1::Profile profile = Sample();
  v1::Module& module = *profile.mutable_modules(0);
  module.set_code_covered_bytes(9 * 1024);
  module.set_code_bare_bytes(1024);
  v1::NamedCount& reason = *module.add_code_refused();
  reason.set_text("it is too long");
  reason.set_count(3);
  EXPECT_NE(
      RenderSymbols(profile, Options(false))
          .find("code without unwind information, where programs ran\n"
                "  /usr/bin/redis-check-rdb (redis-server): 90.0 % of 10.0 KiB has rules made "
                "from the code\n"
                "    3 functions: it is too long\n"),
      std::string::npos)
      << RenderSymbols(profile, Options(false));
  const auto json = nlohmann::json::parse(SymbolsJson(profile, {}));
  const auto& row = json["modules"][0];
  EXPECT_EQ(row["code_covered_bytes"], 9 * 1024);
  EXPECT_EQ(row["code_bare_bytes"], 1024);
  EXPECT_EQ(row["code_refused"][0]["functions"], 3);
  EXPECT_EQ(row["code_refused"][0]["reason"], "it is too long");
}

TEST(SymbolsViewTest, SaysItOfCodeMadeAtRunTimeToo) {
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(1, "a");
  maker.AddFrames(thread, {Unnamed("", 0, 0x7f10, "anonymous memory: code made at run time?")});
  v1::Profile profile = maker.Make();
  v1::Module& module = *profile.add_modules();
  module.set_code_covered_bytes(3 * 1024);
  module.set_code_bare_bytes(1024);
  const auto text = [&] { return RenderSymbols(profile, Options(false)); };
  EXPECT_NE(
      text().find("  [memory without a file]: 75.0 % of 4.00 KiB has rules made from the code\n"
                  "    no symbol, call or relocation leads to the rest\n"),
      std::string::npos)
      << text();
  v1::NamedCount& reason = *module.add_code_refused();
  reason.set_text("it does not return");
  reason.set_count(1);
  EXPECT_NE(text().find("from the code\n    1 function: it does not return\n"), std::string::npos)
      << text();
}

TEST(SymbolsViewTest, SaysHowCodeMadeAtRunTimeGetsNames) {
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(1, "a");
  maker.AddFrames(thread, {Unnamed("", 0, 0x7f00, "no mapping held this address")});
  EXPECT_EQ(RenderSymbols(maker.Make(), Options(false)).find("ONEDNN_JIT_PROFILE"),
            std::string::npos);
  const char* why = "anonymous memory: code made at run time? (/tmp/perf-1.map: none)";
  maker.AddFrames(thread, {Unnamed("", 0, 0x7f10, why)});
  const std::string text = RenderSymbols(maker.Make(), Options(false));
  EXPECT_NE(text.find("oneDNN (in PyTorch, TensorFlow) with ONEDNN_JIT_PROFILE=2"),
            std::string::npos)
      << text;
}

TEST(SymbolsViewTest, SaysNothingOfWhatIsComplete) {
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(1, "a");
  maker.Add(thread, {"main", "read_[k]"});
  const std::string text = RenderSymbols(maker.Make(), Options(false));
  EXPECT_EQ(text.find("without a name"), std::string::npos) << text;
  EXPECT_EQ(text.find("install"), std::string::npos) << text;
}

TEST(SymbolsViewTest, ForPrograms) {
  const auto json = nlohmann::json::parse(SymbolsJson(Sample(), Options(false).packages));
  EXPECT_EQ(json["frames"], 8);
  EXPECT_EQ(json["named"], 5);
  EXPECT_EQ(json["install_for_names"], nlohmann::json({"redis-tools-dbgsym"}));
  const auto& module = json["modules"][0];
  EXPECT_EQ(module["build_id"], "a50d6825e71f1473372299161f75fe50e80452de");
  EXPECT_EQ(module["symbols_from"], ".dynsym");
  EXPECT_EQ(module["unnamed"][0]["offset"], "0x700");
  EXPECT_EQ(module["unnamed"][0]["reason"], kStripped);
  EXPECT_EQ(module["stacks_end_early"]["[tables not ready]"], 3);
  EXPECT_EQ(json["modules"][2]["debug_file"], "/usr/lib/debug/.build-id/93/ac61.debug");
}

TEST(SymbolsViewTest, InJsonOnlyNumbersThatADoubleHoldsAreNumbers) {
  v1::Profile profile = Sample();
  profile.set_start_unix_ns(1'793'187'112'000'000'001);
  const auto json = nlohmann::json::parse(SymbolsJson(profile, {}));
  EXPECT_EQ(json["start_unix_ns"], "1793187112000000001");
  EXPECT_TRUE(json["duration_ns"].is_number());
}

TEST(SymbolsViewTest, TextFromElsewhereDoesNotReachTheTerminal) {
  testing::ProfileMaker maker;
  const auto thread = maker.AddThread(1, "a");
  maker.AddFrames(thread, {Unnamed("/x\x1b[2J", 0, 0x10, "because\x1b[31m")});
  const std::string text = RenderSymbols(maker.Make(), Options(true));
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST(SymbolsViewTest, ModulesToCompleteAreFilesAlone) {
  EXPECT_THAT(ModulesToComplete(Sample()), ElementsAre("/usr/bin/redis-check-rdb"));
}

}  // namespace
}  // namespace profd::client
