#include "client/screens/doctor/doctor_view.h"

#include <nlohmann/json.hpp>

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

// Words in lines of at most `width` columns; a word that is longer has a line of its own.
std::vector<std::string> Wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    std::string& line = lines.back();
    if (line.empty())
      line = word;
    else if (DisplayWidth(line) + 1 + DisplayWidth(word) <= width)
      line += " " + word;
    else
      lines.push_back(word);
    at = end + 1;
  }
  return lines;
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
    add(Wrapped(SafeText(finding.found), room), Tone::kPlain);
    if (!finding.fix.empty()) add(Wrapped("-> " + SafeText(finding.fix), room), Tone::kStrong);
  }
  return out;
}

std::string FindingsJson(const std::vector<Finding>& findings) {
  nlohmann::json checks = nlohmann::json::array();
  for (const Finding& finding : findings)
    checks.push_back({{"check", finding.check},
                      {"verdict", NameOf(finding.verdict)},
                      {"found", finding.found},
                      {"fix", finding.fix}});
  const nlohmann::json object{{"ok", !AnyFailed(findings)}, {"checks", checks}};
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace profd::client
