// What exporters write, for tests; and the files under tests/data/export that it is held against.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "client/format/exporter.h"
#include "tests/support/paths.h"

namespace profd::client {

// What `exporter` writes, or a failed expectation and "".
inline std::string Written(const Exporter& exporter, const v1::Profile& profile,
                           const ExportOptions& options = {}) {
  std::ostringstream out;
  const auto written = exporter.Write(profile, options, out);
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return written ? out.str() : "";
}

// Compares with the file; PROFD_UPDATE_GOLDENS=1 writes it instead.
inline void ExpectGolden(const std::string& text, const std::string& file) {
  const std::string path = test::TestData() + "/export/" + file;
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

}  // namespace profd::client
