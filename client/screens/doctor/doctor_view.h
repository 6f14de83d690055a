// DoctorView: what was looked at, how it is, and what fixes it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/text/palette.h"

namespace profd::client {

// kUnknown: it could not be found out, and `found` says why.
enum class Verdict { kOk, kWarn, kFail, kUnknown };

struct Finding {
  std::string check;
  Verdict verdict = Verdict::kOk;
  std::string found;  // made safe when it is shown, as the next one
  std::string fix;    // a command or a setting; empty where all is well or nothing helps
};

// "ok", "warn", "fail", "unknown".
[[nodiscard]] const char* NameOf(Verdict verdict);
[[nodiscard]] bool AnyFailed(const std::vector<Finding>& findings);

// A line a finding, wrapped at `width`, and one below it with what fixes it.
[[nodiscard]] std::string RenderFindings(const std::vector<Finding>& findings, std::size_t width,
                                         const Palette& palette);
}  // namespace profd::client
