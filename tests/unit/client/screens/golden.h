// Golden files of the screens.
#pragma once

#include <string>

#include "tests/support/golden.h"

namespace profd::client {

// Compares with a file of tests/data/view.
inline void ExpectGolden(const std::string& text, const std::string& file) {
  test::ExpectGolden(text, "view/" + file);
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
