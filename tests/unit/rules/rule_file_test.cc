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
      *rules,
      ElementsAre(
          Rule{FrameClass::kSpin, "a.*", "lib.so", std::nullopt, true, "r.toml:2"},
          Rule{FrameClass::kGpuWait, std::nullopt, std::nullopt, ".*\\.cu", false, "r.toml:8"},
          Rule{FrameClass::kRuntime, "", std::nullopt, std::nullopt, false, "r.toml:11"},
          Rule{FrameClass::kCopy, std::nullopt, "x", std::nullopt, false, "r.toml:14"}));
}

TEST(RuleFile, MayBeEmpty) {
  ASSERT_TRUE(ParseRules("", "r.toml"));
  EXPECT_TRUE(ParseRules("# nothing\n", "r.toml")->empty());
}

TEST(RuleFile, EveryProblemHasItsLine) {
  EXPECT_THAT(Problem("\n[[rule]\n"), HasSubstr("r.toml:2: "));
  EXPECT_EQ(Problem("\nversion = 2"), "r.toml:2: version must be 1");
  EXPECT_EQ(Problem("version = '1'"), "r.toml:1: version must be 1");
  EXPECT_EQ(Problem("\n\nrules = 1"), "r.toml:3: unknown key 'rules'; a rule begins with [[rule]]");
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

TEST(RuleFile, OperatorsAndPhasesAreRefusedByName) {
  const std::string later = ": rules for operators and phases are not supported";
  EXPECT_EQ(Problem("[[operator]]\n"), "r.toml:1: 'operator'" + later);
  EXPECT_EQ(Problem("\n[[phase]]\n"), "r.toml:2: 'phase'" + later);
  EXPECT_EQ(Problem("[[rule]]\nclass = 'spin'\noperator = '{op}'"), "r.toml:3: 'operator'" + later);
  EXPECT_EQ(Problem("[[rule]]\nclass = 'phase'\nfunction = 'f'"),
            "r.toml:2: class 'phase'" + later);
}

TEST(RuleFile, IsReadFromDisk) {
  const test::TempFolder folder;
  const auto path = folder.Write("r.toml", "[[rule]]\nclass = 'spin'\nfunction = 'f'\n");
  ASSERT_TRUE(ReadRuleFile(path));
  EXPECT_EQ(ReadRuleFile(path)->front().place, path + ":1");
  EXPECT_EQ(ReadRuleFile(folder.Path("missing")).error().code, ErrorCode::kNotFound);
  const auto large = folder.Write("large", std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(ReadRuleFile(large).error().message, large + " is longer than 1 MiB");
}

TEST(RuleFile, ClassesHaveNames) {
  EXPECT_EQ(NameOf(FrameClass::kGpuWait), "gpu-wait");
  EXPECT_EQ(NameOf(FrameClass::kNone), "");
}

}  // namespace
}  // namespace profd::rules
