#include "client/profile/threads/concurrency.h"

#include <algorithm>
#include <cmath>

#include "client/text/number.h"

namespace profd::client {

std::vector<ConcurrencyRow> ConcurrencyRows(const v1::Concurrency& concurrency,
                                            std::size_t most_rows) {
  std::vector<ConcurrencyRow> rows;
  if (concurrency.levels().empty()) return rows;
  const std::uint32_t most = concurrency.levels().rbegin()->threads();
  const auto others = static_cast<std::uint32_t>(most_rows - 1);
  const std::uint32_t width = std::max(1u, most / others + (most % others == 0 ? 0 : 1));
  rows.push_back({});
  for (std::uint64_t first = 1; first <= most; first += width) {
    const std::uint64_t last = std::min<std::uint64_t>(first + width - 1, most);
    rows.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), 0, 0});
  }
  for (const v1::Concurrency::Level& level : concurrency.levels()) {
    ConcurrencyRow& row = rows[level.threads() == 0 ? 0 : (level.threads() - 1) / width + 1];
    row.running += level.running();
    row.wanting += level.wanting();
  }
  return rows;
}

std::uint64_t PointsOf(const v1::Concurrency& concurrency) {
  std::uint64_t points = 0;
  for (const v1::Concurrency::Level& level : concurrency.levels()) points += level.running();
  return points;
}

std::uint64_t PointsBeyond(const v1::Concurrency& concurrency, double cpus) {
  std::uint64_t points = 0;
  for (const v1::Concurrency::Level& level : concurrency.levels())
    if (level.threads() > cpus) points += level.wanting();
  return points;
}

std::uint32_t MostWanting(const v1::Concurrency& concurrency) {
  std::uint32_t most = 0;
  for (const v1::Concurrency::Level& level : concurrency.levels())
    if (level.wanting() != 0) most = std::max(most, level.threads());
  return most;
}

Interval PointInterval(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return {0, 1};
  constexpr double kQuantile = 1.96;  // of the normal distribution, for 95 %
  const double share = ShareOf(part, whole);
  const auto points = static_cast<double>(whole);
  // Wilson's: it holds for shares near 0 and 1, too.
  const double z2 = kQuantile * kQuantile / points;
  const double middle = (share + z2 / 2) / (1 + z2);
  const double half = std::sqrt(z2 * share * (1 - share) + z2 * z2 / 4) / (1 + z2);
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

std::string NoConcurrencyText(const v1::Profile& profile) {
  if (profile.hook().starts_with("none"))
    return "in snapshot mode threads are not sampled at the same instants";
  if (!profile.wakers()) return "it is counted together with who ends waits";
  return "the history does not keep it";
}

}  // namespace profd::client
