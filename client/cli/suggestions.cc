#include "client/cli/suggestions.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace profd::client {
namespace {

// Insertions, deletions, replacements and swaps of neighbours between two words.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kForeign{{
    {"-r", "the rate is -F HZ"},
    {"--rate", "the rate is -F HZ"},
    {"--subprocesses", "processes it starts are followed with -s"},
    {"-i", "waiting is always recorded; -m on leaves it out"},
    {"--idle", "waiting is always recorded; -m on leaves it out"},
    {"-n", "native frames are always recorded"},
    {"-g", "call stacks are always recorded"},
    {"--call-graph", "call stacks are always recorded"},
    {"--nonblocking", "profd never stops a process"},
    {"-c", "the rate is -F HZ"},
    {"--all-cpus", "the whole host is -a"},
    {"--pidns", "process numbers are always those of your own pid namespace"},
    {"--no-inline", "inlined functions are left out with --no-inlines"},
    {"--nolineno", "source lines are left out with --no-lines"},
    {"--stdio", "without -o it prints a summary"},
}};

}  // namespace

std::string ClosestOf(std::string_view word, std::span<const std::string> candidates) {
  std::string closest;
  if (word.size() < 3) return closest;  // any other is as close
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // "--freq" for "--frequency"; one letter says too little.
    const bool is_beginning = word.size() > 3 && candidate.starts_with(word);
    const std::size_t distance = is_beginning ? 0 : Distance(word, candidate);
    if (distance < least) {
      least = distance;
      closest = candidate;
    }
  }
  return closest;
}

std::string_view ForeignOption(std::string_view option) {
  const auto found =
      std::ranges::find(kForeign, option, [](const auto& entry) { return entry.first; });
  return found == kForeign.end() ? std::string_view() : found->second;
}

}  // namespace profd::client
