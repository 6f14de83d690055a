// Coverage: of what time a fleet has windows, and what is missing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/fleet/fleet_question.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A host that delivered windows in the range, or in the day before.
struct HostCoverage {
  std::string host;
  double first_s = 0;                              // since 1970: begin of its first window of these
  double last_s = 0;                               // end of its last one
  double covered_s = 0;                            // of the range
  double window_s = 0;                             // mean length
  std::map<std::string, std::uint64_t> gaps_ns{};  // that never come, by cause
  std::map<std::string, std::uint64_t> lost{};     // records, by kind
};

struct MissingTime {
  std::string host;
  double missing_s = 0;
};

// Windows of a host of which the table of samples has less time than that of clocks: rows did not
// arrive, or are no more.
struct PartialWindows {
  std::string host;
  std::uint64_t windows = 0;
  std::uint64_t missing_ns = 0;  // of threads
};

struct Coverage {
  std::uint64_t hosts = 0;  // with windows in the range
  double from_s = 0;        // of the range, the part that any host has
  double to_s = 0;
  double window_s = 60;                 // mean length of a window
  std::vector<MissingTime> incomplete;  // most missing first
  std::vector<MissingTime> late;        // whose last windows may still come
  std::vector<PartialWindows> partial;  // most missing first; of questions about samples
  std::map<std::string, std::uint64_t> gaps_ns;
  std::map<std::string, std::uint64_t> lost;

  [[nodiscard]] bool complete() const {
    return incomplete.empty() && partial.empty() && gaps_ns.empty();
  }
};

// What comes later than this after its window has ended is missing.
inline constexpr double kLateSeconds = 300;
// Of windows that are set by another clock.
inline constexpr double kLeastMissingSeconds = 30;
inline constexpr std::uint64_t kDayBefore = 86'400;

[[nodiscard]] Result<std::vector<HostCoverage>> ReadHosts(std::string_view answer);
[[nodiscard]] Coverage CoverageOf(const std::vector<HostCoverage>& hosts,
                                  const FleetQuestion& question, std::uint64_t now_s);
// Its statement. `condition` selects the rows of `clock`, a day more included.
[[nodiscard]] std::string CoverageStatement(const FleetQuestion& question,
                                            FleetCondition& condition);

// Of windows whose samples do not add up to their clocks; `condition` is that of `clock`, which
// `sample` can take, too.
[[nodiscard]] std::string PartialStatement(const FleetCondition& condition);
[[nodiscard]] Result<std::vector<PartialWindows>> ReadPartial(std::string_view answer);

// What a person must know, a line each: which hosts miss how much, gaps by cause, lost records.
// Empty: all is there.
[[nodiscard]] std::vector<std::string> CoverageLines(const Coverage& coverage);
// The same for programs, with all hosts: counters and lost records; and those lines, as
// kFleetWords, for a page.
void AddCoverage(const Coverage& coverage, v1::Profile& profile);

}  // namespace profd::client
