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
       .covered_bytes = 10,
       .bare_bytes = 2,
       .refused = {{"", "it does not return", 3}}},
      {.build_id = "cc", .covered_bytes = 7, .bare_bytes = 0, .refused = {}}};
  AddCoverage(files, profile);
  EXPECT_EQ(profile.modules(0).code_covered_bytes(), 0u);
  EXPECT_EQ(profile.modules(1).code_covered_bytes(), 0u);
  EXPECT_EQ(profile.modules(2).code_covered_bytes(), 10u);
  EXPECT_EQ(profile.modules(2).code_bare_bytes(), 2u);
  ASSERT_EQ(profile.modules(2).code_refused_size(), 1);
  EXPECT_EQ(profile.modules(2).code_refused(0).text(), "it does not return");
  EXPECT_EQ(profile.modules(2).code_refused(0).count(), 3u);
}

}  // namespace
}  // namespace profd::server
