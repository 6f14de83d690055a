// Texts held against the files under tests/data/view.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include "tests/support/paths.h"

namespace profd::client {

// Compares with the file; PROFD_UPDATE_GOLDENS=1 writes it instead.
inline void ExpectGolden(const std::string& text, const std::string& file) {
  const std::string path = test::TestData() + "/view/" + file;
  if (std::getenv("PROFD_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::ostringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

// Without the escape sequences of a Palette.
inline std::string WithoutColor(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = text.find('m', at);
      if (at == std::string::npos) break;
    } else {
      plain.push_back(text[at]);
    }
  }
  return plain;
}

}  // namespace profd::client
