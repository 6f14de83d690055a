// blocked.cc, as compilers and options make it.
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/root/gdb/beside_gdb.h"
#include "tests/root/gdb/programs.h"
#include "tests/support/paths.h"

namespace profd::gdb {
namespace {

class OwnPrograms : public BesideGdb, public ::testing::WithParamInterface<std::string> {};

TEST_P(OwnPrograms, StacksAreThoseOfGdb) {
  const std::string path = test::BinaryDirectory() + "/testprogs/blocked/" + GetParam();
  if (::access(path.c_str(), X_OK) != 0) GTEST_SKIP() << "no compiler for " << GetParam();
  auto program = Program::Start({path}, SIGKILL);
  ASSERT_TRUE(program) << program.error().message;
  const auto threads = program->subprocess().ReadLine();
  ASSERT_TRUE(threads) << threads.error().message;
  AwaitAsleep(program->pid(), std::stoul(*threads));
  const Comparison comparison = ExpectSameStacks(program->pid(), GetParam());
  EXPECT_EQ(comparison.same.size(), std::stoul(*threads));
  EXPECT_EQ(comparison.truncated, 1u);
  EXPECT_GT(comparison.deepest, 700u);
}

std::vector<std::string> Variants() {
  std::vector<std::string> variants;
  for (const std::string compiler : {"gcc", "clang"})
    for (const std::string kind :
         {"O2", "O2-fp", "O3", "O3-fp", "O0", "lto", "static-pie", "no-pie", "no-index"})
      variants.push_back(compiler + "-" + kind);
  return variants;
}

INSTANTIATE_TEST_SUITE_P(Builds, OwnPrograms, ::testing::ValuesIn(Variants()),
                         [](const auto& build) {
                           std::string name = build.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace profd::gdb
