#include "daemon/base/python_versions.h"

#include <gtest/gtest.h>

namespace profd {
namespace {

TEST(PythonVersionsTest, AreAscendingWithoutGaps) {
  for (std::size_t i = 1; i < kPythonVersions.size(); ++i) {
    EXPECT_EQ(kPythonVersions[i].number(), kPythonVersions[i - 1].number() + 1);
    EXPECT_GE(kPythonVersions[i].has_offsets(), kPythonVersions[i - 1].has_offsets());
    EXPECT_GE(kPythonVersions[i].lines, kPythonVersions[i - 1].lines);
  }
}

TEST(PythonVersionsTest, AreFoundByNumber) {
  ASSERT_NE(FindPythonVersion(0x030c), nullptr);
  EXPECT_EQ(FindPythonVersion(0x030c)->minor, 12u);
  EXPECT_EQ(FindPythonVersion(0x0306), nullptr);
  EXPECT_EQ(FindPythonVersion(0x0207), nullptr);
  EXPECT_EQ(FindPythonVersion(0), nullptr);
}

TEST(PythonVersionsTest, TheRangeNamesTheOldestAndTheNewest) {
  const std::string newest = std::to_string(kPythonVersions.back().minor);
  EXPECT_EQ(PythonVersionRange(), "3.7 to 3." + newest);
}

}  // namespace
}  // namespace profd
