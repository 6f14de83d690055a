#include "daemon/symbolize/names/demangle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/symbolize/names/clean_text.h"

namespace profd::symbolize {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Case {
  const char* symbol;
  const char* name;
  const char* full_name;  // "" when it is the same
};

void ExpectNames(std::initializer_list<Case> cases) {
  for (const Case& expected : cases) {
    const DemangledName actual = Demangle(expected.symbol);
    EXPECT_EQ(actual.name, expected.name) << expected.symbol;
    EXPECT_EQ(actual.full_name, expected.full_name) << expected.symbol;
  }
}

TEST(Demangle, CNamesStayAsTheyAre) {
  ExpectNames({{"main", "main", ""},
               {"bar.part.0", "bar.part.0", ""},
               {"_Zx", "_Zx", ""},
               {"_Z", "_Z", ""},
               {"_R", "_R", ""},
               {"", "", ""},
               {"_RC0", "_RC0", ""},  // a crate without a name
               {"main.(*T).run", "main.(*T).run", ""}});
}

TEST(Demangle, CppWithoutParameters) {
  ExpectNames(
      {{"_Z3foov", "foo", "foo()"},
       {"_ZN3Foo3barERKSt6vectorIiSaIiEE", "Foo::bar",
        "Foo::bar(std::vector<int, std::allocator<int> > const&)"},
       {"_Z3fooIiEvT_", "foo<int>", "void foo<int>(int)"},
       {"_ZZN3Foo3barEvENKUliE_clEi", "Foo::bar()::{lambda(int)#1}::operator()",
        "Foo::bar()::{lambda(int)#1}::operator()(int) const"},
       {"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo", "(anonymous namespace)::foo()"},
       {"_ZN3FooD1Ev", "Foo::~Foo", "Foo::~Foo()"},
       {"_ZN3FoolsIiEEvT_", "Foo::operator<< <int>", "void Foo::operator<< <int>(int)"},
       {"_ZN3FoocvSsEv", "Foo::operator std::string", "Foo::operator std::string()"},
       {"_ZNKSt8functionIFviEEclEi", "std::function<void (int)>::operator()",
        "std::function<void (int)>::operator()(int) const"},
       {"_ZTv0_n24_N3FooD1Ev", "virtual thunk to Foo::~Foo()", ""}});
}

TEST(Demangle, CompilerSuffixesAreInTheFullName) {
  ExpectNames({{"_Z3foov.part.0", "foo", "foo() [clone .part.0]"},
               {"_Z3foov.constprop.0.isra.0", "foo", "foo() [clone .constprop.0] [clone .isra.0]"},
               {"_Z3foov.cold", "foo", "foo() [clone .cold]"}});
}

TEST(Demangle, CompiledVersionsOfAFunctionAreOneFunction) {
  const DemangledName compiled =
      Demangle("_ZN8__main__4workB2v1B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3dEd");
  EXPECT_EQ(compiled.name, "__main__::work");
  EXPECT_EQ(compiled.full_name,
            "__main__::work[abi:v1][abi:c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3d](double)");
  EXPECT_EQ(
      Demangle("_ZN7cpython8__main__4workB3v12B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3dEd").name,
      "cpython::__main__::work");
  // Tags of C++.
  EXPECT_EQ(Demangle("_ZN5profd6ProcFs4ReadB5cxx11Ei").name, "profd::ProcFs::Read[abi:cxx11]");
  EXPECT_EQ(Demangle("_Z1fB2v1B5cxx11v").name, "f[abi:v1][abi:cxx11]");
  EXPECT_EQ(Demangle("_Z1fB2v1v").name, "f[abi:v1]");
}

TEST(Demangle, RustLegacyWithoutItsHash) {
  ExpectNames(
      {{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad", ""},
       {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
        "3bar17h930b740aa94f1d3aE",
        "<Test + 'static as foo::Bar<Test>>::bar", ""},
       {"_ZN3std2rt10lang_start17h0123456789abcdefE.llvm.123456789", "std::rt::lang_start", ""}});
}

TEST(Demangle, RustV0) {
  ExpectNames({{"_RNvC6_123foo3bar", "123foo::bar", ""},
               {"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
                "<std::path::PathBuf>::new", ""},
               {"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>", ""}});
}

// Template argument lists are cut from the inside until the name fits; the full name has them.
TEST(Demangle, LongNamesKeepTheirShape) {
  std::string type = "i";
  for (int i = 0; i < 200; ++i) type = "3BoxI" + type + "E";
  const DemangledName name = Demangle("_Z7processI" + type + "EvT_");
  EXPECT_THAT(name.name, StartsWith("process<Box<Box<Box<"));
  EXPECT_THAT(name.name, HasSubstr("<...>"));
  EXPECT_THAT(name.name, EndsWith(">"));
  EXPECT_LE(name.name.size(), 512u);
  EXPECT_GT(name.full_name.size(), 512u);
  EXPECT_EQ(name.full_name.find("<...>"), std::string::npos);
}

TEST(Demangle, OperatorsAreNoBrackets) {
  // A long name around operator<<, operator-> and operator<=>.
  const std::string pack(260, 'i');
  for (const auto& [mangled, name] : {std::pair{"ls", "Foo::operator<< <...>"},
                                      {"pt", "Foo::operator-><...>"},
                                      {"gt", "Foo::operator><...>"},
                                      {"ss", "Foo::operator<=><...>"}}) {
    const DemangledName demangled =
        Demangle("_ZN3Foo" + std::string(mangled) + "IJ" + pack + "EEEvv");
    EXPECT_EQ(demangled.name, name);
  }
}

std::string InBase(std::string_view digits, std::size_t number) {
  std::string text;
  do {
    text.insert(0, 1, digits[number % digits.size()]);
    number /= digits.size();
  } while (number > 0);
  return text;
}

constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kRustDigits =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// f(pair<int, int>, pair<A, A>, pair<B, B>, ...): each parameter is twice the one before it.
std::string CppBomb(std::size_t doublings) {
  std::string name = "_Z1fSt4pairIiiE";
  for (std::size_t i = 0; i < doublings; ++i) {
    const std::string last = "S" + InBase(kDigits, 2 * i) + "_";
    name += "St4pairI" + last + last + "E";
  }
  return name;
}

// The same as tuples in template arguments, through back references.
std::string RustBomb(std::size_t doublings) {
  std::string name = "INvC1a1f";
  std::size_t last = name.size();
  name += "TuuE";
  for (std::size_t i = 0; i < doublings; ++i) {
    const std::size_t here = name.size();
    const std::string reference = "B" + InBase(kRustDigits, last - 1) + "_";
    name += "T" + reference + reference + "E";
    last = here;
  }
  return "_R" + name + "E";
}

TEST(Demangle, SubstitutionsAreBounded) {
  // That the bombs work is seen on small ones.
  EXPECT_EQ(Demangle(CppBomb(1)).full_name,
            "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >)");
  EXPECT_EQ(Demangle(RustBomb(1)).name, "a::f::<((), ()), (((), ()), ((), ()))>");
  // These would be 2^60 characters.
  EXPECT_LE(Demangle(CppBomb(60)).full_name.size(), kMaxTextBytes);
  EXPECT_LE(Demangle(RustBomb(60)).name.size(), kMaxTextBytes);
}

TEST(Demangle, ReferencesToThemselvesAreRefused) {
  // Found by fuzzing: the path of an impl within a path, by way of a back reference.
  const std::string loop =
      "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB_75PathBuf3newCs15kBYyAo9fc_7mycrate";
  EXPECT_EQ(Demangle(loop).name, loop);
}

TEST(Demangle, NestingIsBounded) {
  for (const std::string& name :
       {"_Z1f" + std::string(4000, 'P') + "i", "_Z" + std::string(4000, 'N'),
        "_Z1fDp" + std::string(4000, 'D'), "_Z1fI" + std::string(4000, 'X'),
        "_Z1f" + std::string(2000, 'F') + "v", "_R" + std::string(4000, 'R'),
        "_RNvC1a1fI" + std::string(4000, 'T'), "_Z" + std::string(100'000, '1')}) {
    const DemangledName demangled = Demangle(name);
    EXPECT_LE(demangled.name.size(), kMaxTextBytes);
    EXPECT_LE(demangled.full_name.size(), kMaxTextBytes);
  }
}

TEST(Demangle, NamesAreCleaned) {
  EXPECT_EQ(Demangle("a\nb\xff").name, "a?b?");
  EXPECT_EQ(Demangle("_Z3a\nbv").name, "a?b");
}

}  // namespace
}  // namespace profd::symbolize
