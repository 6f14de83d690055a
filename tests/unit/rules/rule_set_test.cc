#include "daemon/rules/rule_set.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace profd::rules {
namespace {

symbolize::Frame FrameOf(const std::string& name, const std::string& module = "",
                         const std::string& file = "") {
  symbolize::Frame frame;
  frame.name = name;
  frame.module = module;
  frame.file = file;
  return frame;
}

RuleSetRef Make(const std::string& text) {
  auto set = RuleSet::Make(*ParseRules(text, "r.toml"));
  return set ? *std::move(set) : nullptr;
}

TEST(RuleSet, AFunctionHasToMatchAsAWhole) {
  const auto set = Make("[[rule]]\nclass = 'spin'\nfunction = 'wait|poll.*'");
  EXPECT_EQ(set->Find(FrameOf("wait")).as_leaf, 0u);
  EXPECT_EQ(set->Find(FrameOf("polling")).as_caller, 0u);
  EXPECT_FALSE(set->Find(FrameOf("waiting")).as_leaf);
  EXPECT_FALSE(set->Find(FrameOf("await")).as_leaf);
  EXPECT_EQ(set->Find(FrameOf("poll\xff\n")).as_leaf, 0u) << "names are bytes";
}

TEST(RuleSet, AllPatternsOfARuleHaveToMatch) {
  const auto set =
      Make("[[rule]]\nclass = 'spin'\nfunction = 'f'\nmodule = 'lib.*'\nfile = '/src/.*'");
  EXPECT_TRUE(set->Find(FrameOf("f", "/usr/lib/libx.so", "/src/x.cc")).as_leaf)
      << "the last part of the module, the path of the file";
  EXPECT_FALSE(set->Find(FrameOf("f", "/usr/lib/x.so", "/src/x.cc")).as_leaf);
  EXPECT_FALSE(set->Find(FrameOf("f", "libx.so", "x.cc")).as_leaf);
  EXPECT_FALSE(set->Find(FrameOf("g", "libx.so", "/src/x.cc")).as_leaf);
}

TEST(RuleSet, AFrameWithoutANameHasOnlyTheRulesForThose) {
  const auto set = Make(
      "[[rule]]\nclass = 'copy'\nfunction = '.*'\nmodule = 'x'\n"
      "[[rule]]\nclass = 'copy'\nmodule = 'x'\n"
      "[[rule]]\nclass = 'spin'\nfunction = ''\nmodule = 'x'\n");
  EXPECT_EQ(set->Find(FrameOf("", "x")).as_leaf, 2u);
  EXPECT_FALSE(set->Find(FrameOf("", "y")).as_leaf);
  EXPECT_EQ(set->Find(FrameOf("f", "x")).as_leaf, 0u);
}

TEST(RuleSet, TheFirstRuleThatMatchesCounts) {
  const auto set = Make(
      "[[rule]]\nclass = 'copy'\nfunction = 'ab'\n"
      "[[rule]]\nclass = 'spin'\nfunction = 'a.*'\nleaf = true\n"
      "[[rule]]\nclass = 'runtime'\nfunction = 'a.*'\n");
  EXPECT_EQ(set->Find(FrameOf("ab")).as_leaf, 0u);
  EXPECT_EQ(set->Find(FrameOf("ac")).as_leaf, 1u);
  EXPECT_EQ(set->Find(FrameOf("ac")).as_caller, 2u) << "a rule for leaves says nothing of callers";
}

symbolize::Frame VirtualFrame(const std::string& name, const std::string& bases) {
  symbolize::Frame frame = FrameOf(name);
  if (!bases.empty()) frame.symbol = "_ZTS3Any::(virtual 2)" + bases;
  return frame;
}

TEST(RuleSet, NamesMethodsOfInterfaces) {
  const auto set = Make(
      "[[method]]\ninterface = 'lib::Kernel'\nvirtual = 2\nname = 'Compute'\n"
      "[[method]]\ninterface = 'lib::Kernel'\nvirtual = 3\nname = 'IsAsync'\n"
      "[[method]]\ninterface = '.*'\nvirtual = 2\nname = 'any'\n");
  const std::string bases = " of _ZTSN3lib6KernelE of _ZTSN3lib3CpuE";
  const auto method = [&](const std::string& name, const std::string& its_bases) {
    return set->FindMethod(VirtualFrame(name, its_bases)).value_or("");
  };
  EXPECT_EQ(method("lib::Conv<float>::(virtual 2)", bases), "lib::Conv<float>::Compute");
  EXPECT_EQ(method("lib::Conv<float>::(virtual 3)", bases), "lib::Conv<float>::IsAsync");
  EXPECT_EQ(method("lib::Kernel::(virtual 3)", ""), "lib::Kernel::IsAsync") << "its own";
  EXPECT_EQ(method("lib::Conv::(virtual 2)", ""), "lib::Conv::any") << "by the next rule";
  EXPECT_EQ(method("lib::Conv::(virtual 3)", ""), "");
  EXPECT_EQ(method("lib::Conv::(virtual 3)", " of _ZTSN3lib7KernelsE"), "") << "another class";
  EXPECT_EQ(method("lib::Conv::(virtual 2 at +16)", bases), "") << "of a further base";
  EXPECT_EQ(method("lib::Conv::(virtual 22)", bases), "");
  EXPECT_EQ(method("lib::Conv::Compute", bases), "");
  for (const char* damaged : {"::(virtual ", "::(virtual )", "::(virtual 2", "::(virtual 2))",
                              "::(virtual -2)", "::(virtual 99999999999)"})
    EXPECT_EQ(method(std::string("lib::Kernel") + damaged, " of  of x of"), "") << damaged;
}

TEST(RuleSet, OtherRulesTakeAMethodByItsNameOrItsPlace) {
  const auto set = Make(
      "[[method]]\ninterface = 'lib::Kernel'\nvirtual = 2\nname = 'Compute'\n"
      "[[rule]]\nclass = 'copy'\nfunction = '.*virtual.*'\n"
      "[[rule]]\nclass = 'spin'\nfunction = 'lib::.*::Compute'\n"
      "[[operator]]\nname = '{op}'\nfunction = 'lib::(?P<op>\\w+)::\\(virtual 2\\)'\n"
      "[[phase]]\nname = 'forward'\nfunction = '.*::Compute'\n");
  const auto frame = VirtualFrame("lib::Conv::(virtual 2)", " of _ZTSN3lib6KernelE");
  EXPECT_EQ(set->Find(frame).as_leaf, 1u);
  EXPECT_EQ(set->FindOperator(frame)->name, "Conv");
  EXPECT_EQ(set->FindPhase(frame), Phase::kForward);
  const auto other = VirtualFrame("lib::Conv::(virtual 3)", " of _ZTSN3lib6KernelE");
  EXPECT_EQ(set->Find(other).as_leaf, 0u);
  EXPECT_EQ(set->FindPhase(other), Phase::kNone);
}

TEST(RuleSet, NoRulesMatchNothing) { EXPECT_FALSE(Make("")->Find(FrameOf("f")).as_leaf); }

TEST(RuleSet, NamesOperatorsByTheFirstRuleThatDoesNotDenyTheName) {
  const auto set = Make(
      "[[operator]]\nname = 'aten::{op}'\nfunction = 'ops::(?P<op>\\w+)::call'\n"
      "deny = ['aten::no.*']\n"
      "[[operator]]\nname = 'second'\nrank = 2\nfunction = 'ops::.*'\n"
      "[[operator]]\nname = 'blas'\nrank = 4\nmodule = 'libblas.*'\n");
  EXPECT_EQ(set->FindOperator(FrameOf("ops::mm::call")), (FrameOperator{"aten::mm", 1}));
  EXPECT_EQ(set->FindOperator(FrameOf("ops::none::call")), (FrameOperator{"second", 2}));
  EXPECT_EQ(set->FindOperator(FrameOf("ops::mm::redispatch")), (FrameOperator{"second", 2}));
  EXPECT_EQ(set->FindOperator(FrameOf("f", "/lib/libblas.so")), (FrameOperator{"blas", 4}));
  EXPECT_EQ(set->FindOperator(FrameOf("f")), std::nullopt);
  EXPECT_EQ(set->FindOperator(FrameOf("", "/lib/libblas.so")), std::nullopt)
      << "a frame without a name has only the rules for those";
}

TEST(RuleSet, ANameThatIsEmptyIsNone) {
  const auto set = Make(
      "[[operator]]\nname = '{a}{b}'\nfunction = 'f(?P<a>x*)|g(?P<b>y*)'\n"
      "[[operator]]\nname = 'rest'\nrank = 3\nfunction = '.*'\n");
  EXPECT_EQ(set->FindOperator(FrameOf("fxx")), (FrameOperator{"xx", 1}));
  EXPECT_EQ(set->FindOperator(FrameOf("gy")), (FrameOperator{"y", 1})) << "a group may not match";
  EXPECT_EQ(set->FindOperator(FrameOf("f")), (FrameOperator{"rest", 3}));
}

TEST(RuleSet, TheFirstPhaseThatMatchesCounts) {
  const auto set = Make(
      "[[phase]]\nname = 'optimizer'\nfunction = '.*\\.step'\nfile = '.*/optim/.*'\n"
      "[[phase]]\nname = 'other'\nfunction = '.*\\.step'\n");
  EXPECT_EQ(set->FindPhase(FrameOf("SGD.step", "", "/x/optim/sgd.py")), Phase::kOptimizer);
  EXPECT_EQ(set->FindPhase(FrameOf("Game.step", "", "/x/game.py")), Phase::kOther);
  EXPECT_EQ(set->FindPhase(FrameOf("step", "", "/x/optim/sgd.py")), Phase::kNone);
}

TEST(RuleSet, TheUserNamesOperatorsAndPhasesFirst) {
  const test::TempFolder folder;
  const auto path = folder.Write("r.toml",
                                 "[[operator]]\nname = 'mine'\nfunction = 'at::_ops::mm::call'\n"
                                 "[[phase]]\nname = 'other'\n"
                                 "function = 'torch::autograd::Engine::execute'\n");
  const auto set = *RuleSet::Load(path);
  EXPECT_EQ(set->FindOperator(FrameOf("at::_ops::mm::call")), (FrameOperator{"mine", 1}));
  EXPECT_EQ(set->FindOperator(FrameOf("at::_ops::bmm::call")), (FrameOperator{"aten::bmm", 1}));
  EXPECT_EQ(set->FindPhase(FrameOf("torch::autograd::Engine::execute")), Phase::kOther);
  EXPECT_EQ(set->FindPhase(FrameOf("torch::autograd::Engine::thread_main")), Phase::kBackward);
}

TEST(RuleSet, TheFileOfTheUserComesBeforeTheShippedOne) {
  const test::TempFolder folder;
  const auto path = folder.Write("r.toml", "[[rule]]\nclass = 'runtime'\nfunction = 'do_spin'\n");
  const auto set = RuleSet::Load(path);
  ASSERT_TRUE(set);
  EXPECT_EQ((*set)->rules().front().place, path + ":1");
  EXPECT_EQ((*set)->Find(FrameOf("do_spin", "libgomp.so.1")).as_leaf, 0u);
  const auto shipped = RuleSet::Load("");
  ASSERT_TRUE(shipped) << shipped.error().message;
  EXPECT_EQ((*shipped)->rules().size() + 1, (*set)->rules().size());
  EXPECT_TRUE((*shipped)->rules().front().place.starts_with("rules.toml:"));
  EXPECT_FALSE(RuleSet::Load(folder.Path("missing")));
}

TEST(CurrentRules, AReloadReplacesThem) {
  CurrentRules current(Make(""));
  const RuleSetRef before = current.Get();
  current.Set(Make("[[rule]]\nclass = 'spin'\nfunction = 'f'"));
  EXPECT_TRUE(before->rules().empty()) << "a call goes on with those that it has";
  EXPECT_EQ(current.Get()->rules().size(), 1u);
}

}  // namespace
}  // namespace profd::rules
