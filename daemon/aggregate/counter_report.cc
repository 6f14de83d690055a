#include "daemon/aggregate/counter_report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "bpf/shared/counters.h"

namespace profd::aggregate {
namespace {

enum class Kind { INFO, SKIPPED, LOST };

struct Description {
  std::string_view name;
  Kind kind;
  std::string_view text;
};

#define PROFD_COUNTER_DESCRIPTION(name, kind, text) Description{#name, Kind::kind, text},
constexpr std::array kDescriptions{PROFD_COUNTERS(PROFD_COUNTER_DESCRIPTION)};
#undef PROFD_COUNTER_DESCRIPTION

std::uint64_t At(std::span<const std::uint64_t> values, std::size_t i) {
  return i < values.size() ? values[i] : 0;
}

std::uint64_t Growth(std::uint64_t before, std::uint64_t after) {
  return after >= before ? after - before : after;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

void Add(const Description& description, std::uint64_t count, CounterReport& report) {
  auto& list = description.kind == Kind::LOST      ? report.lost
               : description.kind == Kind::SKIPPED ? report.dropped
                                                   : report.counters;
  list.push_back(NamedCount{LowerCase(description.name), std::string(description.text), count});
}

}  // namespace

CounterReport DescribeCounters(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) {
  CounterReport report;
  for (std::size_t i = 0; i < kDescriptions.size(); ++i) {
    const auto count = Growth(At(before, i), At(after, i));
    if (count == 0) continue;
    Add(kDescriptions[i], count, report);
  }
  return report;
}

CounterReport DescribeAllCounters(std::span<const std::uint64_t> values) {
  CounterReport report;
  for (std::size_t i = 0; i < kDescriptions.size(); ++i)
    Add(kDescriptions[i], At(values, i), report);
  return report;
}

std::uint64_t LostBetween(std::span<const std::uint64_t> before,
                          std::span<const std::uint64_t> after) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kDescriptions.size(); ++i)
    if (kDescriptions[i].kind == Kind::LOST) sum += Growth(At(before, i), At(after, i));
  return sum;
}

}  // namespace profd::aggregate
