#include "client/text/palette.h"

namespace profd::client {
namespace {

// The eight colours every terminal has: they follow the user's own theme, dark or light.
std::string_view Sequence(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kFaint:
      return "\x1b[2m";
    case Tone::kRunning:
      return "\x1b[32m";
    case Tone::kRunnable:
      return "\x1b[33m";
    case Tone::kBlocked:
      return "\x1b[36m";
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kError:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

std::string Palette::Paint(Tone tone, std::string_view text) const {
  const std::string_view sequence = Sequence(tone);
  if (!colored_ || sequence.empty() || text.empty()) return std::string(text);
  return std::string(sequence) + std::string(text) + "\x1b[0m";
}

}  // namespace profd::client
