// Golden files: expected texts under tests/data.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/paths.h"

namespace profd::test {

// Compares `text` with the file `name`. With PROFD_UPDATE_GOLDENS=1 it writes the file instead.
inline void ExpectGolden(const std::string& text, const std::string& name) {
  const std::string path = TestData() + "/" + name;
  if (std::getenv("PROFD_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, golden) << path;
}

}  // namespace profd::test
