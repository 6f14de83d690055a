// Pattern: a regular expression of a rule, compiled.
#pragma once

#include <re2/re2.h>

namespace profd::rules {

// Names are bytes: a symbol may hold any. Nothing is printed.
[[nodiscard]] inline RE2::Options CapturingOptions() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  return options;
}

// Where nothing is captured.
[[nodiscard]] inline RE2::Options PatternOptions() {
  RE2::Options options = CapturingOptions();
  options.set_never_capture(true);
  return options;
}

}  // namespace profd::rules
