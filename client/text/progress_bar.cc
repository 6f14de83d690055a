#include "client/text/progress_bar.h"

#include <algorithm>

#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kBarCells = 20;
constexpr std::size_t kShortestTarget = 16;

std::string Seconds(std::uint64_t ns) { return FormatDecimals(static_cast<double>(ns) / 1e9, 1); }

std::string Bar(const CollectionProgress& progress) {
  if (progress.duration_ns == 0) return {};
  const double done =
      static_cast<double>(progress.elapsed_ns) / static_cast<double>(progress.duration_ns);
  const auto cells = static_cast<std::size_t>(std::min(1.0, done) * kBarCells);
  return "  [" + std::string(cells, '#') + std::string(kBarCells - cells, '-') + "]";
}

}  // namespace

std::string RenderProgress(const CollectionProgress& progress, std::size_t width) {
  std::string numbers = "  " + Seconds(progress.elapsed_ns);
  if (progress.duration_ns > 0) numbers += "/" + Seconds(progress.duration_ns);
  numbers += " s   " + FormatCount(progress.samples) + " samples   " + FormatCount(progress.lost) +
             " lost";
  if (progress.finishing) numbers += "   finding names";
  const std::string text = "collecting " + progress.target;
  std::string bar = Bar(progress);
  const std::size_t wanted = DisplayWidth(text);
  if (std::min(wanted, 2 * kShortestTarget) + bar.size() + numbers.size() > width) bar.clear();
  const std::size_t fixed = bar.size() + numbers.size();
  if (fixed + kShortestTarget > width) return CutMiddle(numbers.substr(2), width);
  return CutMiddle(text, width - fixed) + bar + numbers;
}

}  // namespace profd::client
