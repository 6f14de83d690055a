// Written: the text that an exporter writes, and its golden files.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "client/format/exporter.h"
#include "tests/support/golden.h"

namespace profd::client {

// What `exporter` writes, or a failed expectation and "".
inline std::string Written(const Exporter& exporter, const v1::Profile& profile,
                           const ExportOptions& options = {}) {
  std::ostringstream out;
  const auto written = exporter.write(profile, options, out);
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return written ? out.str() : "";
}

// Compares with a file of tests/data/export.
inline void ExpectGolden(const std::string& text, const std::string& file) {
  test::ExpectGolden(text, "export/" + file);
}

}  // namespace profd::client
