#include "daemon/rules/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace profd::rules {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Problem(const std::string& text) {
  const auto rules = ParseRules(text, "r.toml");
  return rules ? "no problem" : rules.error().message;
}

TEST(RuleFile, HoldsRulesInTheirOrder) {
  const auto rules = ParseRules(R"(version = 1
[[rule]]
class = "spin"
function = 'a.*'
module = 'lib.so'
leaf = true

[[rule]]
class = "gpu-wait"
file = '.*\.cu'
[[rule]]
class = "runtime"
function = ''
[[rule]]
class = "copy"
module = 'x'
)",
                                "r.toml");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_THAT(
      rules->classes,
      ElementsAre(
          Rule{{"a.*", "lib.so", std::nullopt, "r.toml:2"}, FrameClass::kSpin, true},
          Rule{{std::nullopt, std::nullopt, ".*\\.cu", "r.toml:8"}, FrameClass::kGpuWait, false},
          Rule{{"", std::nullopt, std::nullopt, "r.toml:11"}, FrameClass::kRuntime, false},
          Rule{{std::nullopt, "x", std::nullopt, "r.toml:14"}, FrameClass::kCopy, false}));
}

TEST(RuleFile, HoldsMethods) {
  const auto rules = ParseRules(R"(
[[method]]
interface = 'lib::Kernel.*'
virtual = 2
name = "Compute"
[[method]]
name = '~Kernel'
virtual = 0
interface = 'Kernel'
)",
                                "r.toml");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_THAT(rules->methods, ElementsAre(MethodRule{"lib::Kernel.*", 2, "Compute", "r.toml:2"},
                                          MethodRule{"Kernel", 0, "~Kernel", "r.toml:6"}));
}

TEST(RuleFile, EachWrongMethodHasItsLine) {
  EXPECT_EQ(Problem("[[method]]\ninterface = '('\nvirtual = -1\nname = 'a::b'\nplace = 2\n"),
            "r.toml:2: interface: missing ): (\n"
            "r.toml:3: virtual must be a number from 0 to 9999: the place in the vtable\n"
            "r.toml:4: name is 'a::b'; it must be that of a function alone\n"
            "r.toml:5: unknown key 'place'; a method has interface, virtual and name");
  EXPECT_EQ(Problem("[[method]]\n"),
            "r.toml:1: the method has no interface\n"
            "r.toml:1: the method has no virtual\n"
            "r.toml:1: the method has no name");
  EXPECT_THAT(Problem("[[method]]\ninterface = 'a'\nvirtual = '2'\nname = 3\n"),
              HasSubstr("r.toml:3: virtual must be a number"));
  EXPECT_THAT(Problem("method = 1\n"), HasSubstr("write [[method]]"));
}

TEST(RuleFile, HoldsOperatorsAndPhases) {
  const auto rules = ParseRules(R"(
[[phase]]
name = "backward"
function = 'Engine::.*'
[[operator]]
name = "aten::{op}"
function = 'ops::(?P<op>\w+)::call'
deny = ['aten::x', 'aten::y.*']
[[operator]]
name = "blas"
rank = 4
module = 'libblas.*'
[[phase]]
name = "data"
file = '.*/data/.*'
)",
                                "r.toml");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_THAT(rules->classes, testing::IsEmpty());
  EXPECT_THAT(
      rules->operators,
      ElementsAre(
          OperatorRule{{"ops::(?P<op>\\w+)::call", std::nullopt, std::nullopt, "r.toml:5"},
                       "aten::{op}",
                       1,
                       {"aten::x", "aten::y.*"}},
          OperatorRule{{std::nullopt, "libblas.*", std::nullopt, "r.toml:9"}, "blas", 4, {}}));
  EXPECT_THAT(
      rules->phases,
      ElementsAre(
          PhaseRule{{"Engine::.*", std::nullopt, std::nullopt, "r.toml:2"}, Phase::kBackward},
          PhaseRule{{std::nullopt, std::nullopt, ".*/data/.*", "r.toml:13"}, Phase::kData}));
}

TEST(RuleFile, MayBeEmpty) {
  ASSERT_TRUE(ParseRules("", "r.toml"));
  EXPECT_EQ(*ParseRules("# nothing\n", "r.toml"), Rules{});
}

TEST(RuleFile, EveryProblemHasItsLine) {
  EXPECT_THAT(Problem("\n[[rule]\n"), HasSubstr("r.toml:2: "));
  EXPECT_EQ(Problem("\nversion = 2"), "r.toml:2: version must be 1");
  EXPECT_EQ(Problem("version = '1'"), "r.toml:1: version must be 1");
  EXPECT_EQ(Problem("\n\nrules = 1"),
            "r.toml:3: unknown key 'rules'; rules begin with [[rule]], [[operator]], [[phase]] or "
            "[[method]]");
  EXPECT_EQ(Problem("[rule]\nclass = 'spin'"),
            "r.toml:1: rule must be a table of a list: write [[rule]]");
  EXPECT_EQ(Problem("rule = [1]"), "r.toml:1: rule must be a table of a list: write [[rule]]");
  EXPECT_EQ(Problem("\n[[rule]]\nfunction = 'f'"),
            "r.toml:2: the rule has no class: spin, gpu-wait, runtime, copy, work");
  EXPECT_EQ(Problem("[[rule]]\nclass = 'spin'"),
            "r.toml:1: the rule has no pattern: function, module or file");
  EXPECT_EQ(Problem("[[rule]]\nclass = 'spun'\nfunction = 'f'"),
            "r.toml:2: class is 'spun'; it must be one of spin, gpu-wait, runtime, copy, work");
  EXPECT_EQ(Problem("[[rule]]\nclass = 1\nfunction = 'f'"),
            "r.toml:2: class must be a string: one of spin, gpu-wait, runtime, copy, work");
  EXPECT_EQ(Problem("[[rule]]\nclass = 'spin'\nmodule = 3"), "r.toml:3: module must be a string");
  EXPECT_EQ(Problem("[[rule]]\nclass = 'spin'\nfile = '('"), "r.toml:3: file: missing ): (");
  EXPECT_EQ(Problem("[[rule]]\nclass = 'spin'\nfunction = 'f'\nleaf = 1"),
            "r.toml:4: leaf must be true or false");
  EXPECT_EQ(Problem("[[rule]]\nclass = 'spin'\nfunc = 'f'"),
            "r.toml:3: unknown key 'func'; a rule has class, function, module, file and leaf");
}

TEST(RuleFile, AllProblemsAreNamedByLine) {
  EXPECT_EQ(Problem("[[rule]]\nfunction = '['\nclass = 'x'\n[[rule]]\n"),
            "r.toml:2: function: missing ]: [\n"
            "r.toml:3: class is 'x'; it must be one of spin, gpu-wait, runtime, copy, work\n"
            "r.toml:4: the rule has no class: spin, gpu-wait, runtime, copy, work");
}

TEST(RuleFile, ProblemsOfOperatorsHaveTheirLine) {
  EXPECT_EQ(Problem("[operator]\nname = 'a'"),
            "r.toml:1: operator must be a table of a list: write [[operator]]");
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'"), "r.toml:1: the operator has no name");
  EXPECT_EQ(Problem("[[operator]]\nname = 'a'"),
            "r.toml:1: the operator has no pattern: function, module or file");
  EXPECT_EQ(Problem("[[operator]]\nname = 'a'\nfunction = '('"),
            "r.toml:3: function: missing ): (");
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = 1"), "r.toml:3: name must be a string");
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = ''"), "r.toml:3: name: it is empty");
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = 'a{op}'"),
            "r.toml:3: name: {op} needs a group (?P<op>...) in function");
  EXPECT_EQ(Problem("[[operator]]\nmodule = 'm'\nname = '{op}'"),
            "r.toml:3: name: {op} needs a group (?P<op>...) in function");
  for (const char* name : {"a{op", "a}", "a{{op}}", "{"})
    EXPECT_EQ(Problem("[[operator]]\nfunction = '(?P<op>.)'\nname = '" + std::string(name) + "'"),
              "r.toml:3: name: a brace has no partner")
        << name;
  for (const char* rank : {"0", "7", "-1", "'1'", "1.0"})
    EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = 'a'\nrank = " + std::string(rank)),
              "r.toml:4: rank must be a number from 1 to 6")
        << rank;
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = 'a'\ndeny = 'b'"),
            "r.toml:4: deny must be a list of strings");
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = 'a'\ndeny = ['b',\n1]"),
            "r.toml:5: deny must be a string");
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = 'a'\ndeny = ['[']"),
            "r.toml:4: deny: missing ]: [");
  EXPECT_EQ(Problem("[[operator]]\nfunction = 'f'\nname = 'a'\nleaf = true"),
            "r.toml:4: unknown key 'leaf'; an operator has name, function, module, file, rank and "
            "deny");
}

TEST(RuleFile, ProblemsOfPhasesHaveTheirLine) {
  const std::string names = "data, forward, backward, optimizer, communication, other";
  EXPECT_EQ(Problem("phase = 1"), "r.toml:1: phase must be a table of a list: write [[phase]]");
  EXPECT_EQ(Problem("[[phase]]\nfunction = 'f'"), "r.toml:1: the phase has no name: " + names);
  EXPECT_EQ(Problem("[[phase]]\nname = 'data'"),
            "r.toml:1: the phase has no pattern: function, module or file");
  EXPECT_EQ(Problem("[[phase]]\nfunction = 'f'\nname = 'loss'"),
            "r.toml:3: name is 'loss'; it must be one of " + names);
  EXPECT_EQ(Problem("[[phase]]\nfunction = 'f'\nname = 1"),
            "r.toml:3: name must be a string: one of " + names);
  EXPECT_EQ(Problem("[[phase]]\nfunction = 'f'\nname = 'data'\nrank = 1"),
            "r.toml:4: unknown key 'rank'; a phase has name, function, module and file");
}

TEST(RuleFile, IsReadFromDisk) {
  const test::TempFolder folder;
  const auto path = folder.Write("r.toml", "[[rule]]\nclass = 'spin'\nfunction = 'f'\n");
  ASSERT_TRUE(ReadRuleFile(path));
  EXPECT_EQ(ReadRuleFile(path)->classes.front().place, path + ":1");
  EXPECT_EQ(ReadRuleFile(folder.Path("missing")).error().code, ErrorCode::kNotFound);
  const auto large = folder.Write("large", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(ReadRuleFile(large).error().message, large + " is longer than 1 MiB");
}

TEST(RuleFile, ClassesAndPhasesHaveNames) {
  EXPECT_EQ(NameOf(FrameClass::kGpuWait), "gpu-wait");
  EXPECT_EQ(NameOf(FrameClass::kNone), "");
  EXPECT_EQ(NameOf(Phase::kCommunication), "communication");
  EXPECT_EQ(NameOf(Phase::kNone), "");
}

}  // namespace
}  // namespace profd::rules
