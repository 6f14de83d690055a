// InChromium: tests in headless Chromium. The checks are in *.test.mjs, run by node's own test
// runner; what they need is installed by npm from package-lock.json into the build tree.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace profd::testing {

// Skips where Chromium, node or what npm installs cannot be had.
class InChromium : public ::testing::Test {
 protected:
  void SetUp() override;
  // All tests of one file. `host`: of a profd that they need; "": none.
  void RunChecks(const std::string& file, const std::string& host = "");

 private:
  std::string chromium_;
};

}  // namespace profd::testing
