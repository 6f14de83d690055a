#include "client/screens/doctor/doctor_view.h"

#include <algorithm>
#include <string_view>

#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kVerdictWidth = 7;  // "unknown"
constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastText = 20;  // columns, if need be past the edge

Tone ToneOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return Tone::kRunning;
    case Verdict::kWarn:
      return Tone::kWarning;
    case Verdict::kFail:
      return Tone::kError;
    case Verdict::kUnknown:
      return Tone::kFaint;
  }
  return Tone::kPlain;
}

}  // namespace

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      return "fail";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "";
}

bool AnyFailed(const std::vector<Finding>& findings) {
  return std::ranges::find(findings, Verdict::kFail, &Finding::verdict) != findings.end();
}

std::string RenderFindings(const std::vector<Finding>& findings, std::size_t width,
                           const Palette& palette) {
  std::size_t names = 0;
  for (const Finding& finding : findings) names = std::max(names, DisplayWidth(finding.check));
  const std::size_t margin = names + kGap + kVerdictWidth + kGap;
  const std::size_t room = width > margin + kLeastText ? width - margin : kLeastText;
  std::string out;
  for (const Finding& finding : findings) {
    out += PadRight(finding.check, names + kGap) +
           palette.Paint(ToneOf(finding.verdict), NameOf(finding.verdict));
    std::size_t used = names + kGap + std::string_view(NameOf(finding.verdict)).size();
    const auto add = [&](const std::vector<std::string>& lines, Tone tone) {
      for (const std::string& line : lines) {
        out += std::string(margin - used, ' ') + palette.Paint(tone, line) + "\n";
        used = 0;
      }
    };
    add(WrapWords(SafeText(finding.found), room, room), Tone::kPlain);
    if (!finding.fix.empty())
      add(WrapWords("-> " + SafeText(finding.fix), room, room), Tone::kStrong);
  }
  return out;
}

}  // namespace profd::client
