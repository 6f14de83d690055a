#include "daemon/server/grpc/convert/module_coverage.h"

#include <gtest/gtest.h>

#include <vector>

namespace profd::server {
namespace {

TEST(ModuleCoverageTest, GoesToTheModuleOfTheSameBuildId) {
  v1::Profile profile;
  profile.add_modules()->set_build_id("aa");
  profile.add_modules();  // without one
  profile.add_modules()->set_build_id("bb");
  const std::vector<unwind::CodeCoverage> files{
      {.build_id = "bb",
       .pid = 0,
       .covered_bytes = 10,
       .bare_bytes = 2,
       .refused = {{"", "it does not return", 3}}},
      {.build_id = "cc", .pid = 0, .covered_bytes = 7, .bare_bytes = 0, .refused = {}}};
  AddCoverage(files, {}, profile);
  ASSERT_EQ(profile.modules_size(), 3);
  EXPECT_EQ(profile.modules(0).code_covered_bytes(), 0u);
  EXPECT_EQ(profile.modules(1).code_covered_bytes(), 0u);
  EXPECT_EQ(profile.modules(2).code_covered_bytes(), 10u);
  EXPECT_EQ(profile.modules(2).code_bare_bytes(), 2u);
  ASSERT_EQ(profile.modules(2).code_refused_size(), 1);
  EXPECT_EQ(profile.modules(2).code_refused(0).text(), "it does not return");
  EXPECT_EQ(profile.modules(2).code_refused(0).count(), 3u);
}

TEST(ModuleCoverageTest, CodeThatItsProcessesHaveMadeIsAModuleOfItsOwn) {
  aggregate::Profile processes;
  for (const std::uint32_t pid : {7u, 8u, 9u}) processes.processes.emplace_back().key.pid = pid;
  processes.processes.back().group_size = 3;
  const auto made = [](std::uint32_t pid, std::uint64_t functions) {
    unwind::CodeCoverage coverage;
    coverage.pid = pid;
    coverage.covered_bytes = 10;
    coverage.bare_bytes = 2;
    coverage.refused = {{"", "it does not return", functions}};
    return coverage;
  };
  v1::Profile profile;
  profile.add_modules();  // of a file without a build id
  AddCoverage(std::vector{made(7, 3), made(8, 4), made(9, 5), made(10, 6)}, processes, profile);
  ASSERT_EQ(profile.modules_size(), 2);
  EXPECT_EQ(profile.modules(0).code_covered_bytes(), 0u);
  EXPECT_EQ(profile.modules(1).path(), "");
  EXPECT_EQ(profile.modules(1).code_covered_bytes(), 20u);
  EXPECT_EQ(profile.modules(1).code_bare_bytes(), 4u);
  ASSERT_EQ(profile.modules(1).code_refused_size(), 1);
  EXPECT_EQ(profile.modules(1).code_refused(0).count(), 7u);
}

}  // namespace
}  // namespace profd::server
