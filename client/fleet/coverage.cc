#include "client/fleet/coverage.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "client/fleet/row_reader.h"
#include "client/profile/fleet_marks.h"
#include "client/text/number.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr std::size_t kNamedHosts = 5;
constexpr double kNsPerSecond = 1e9;

std::map<std::string, std::uint64_t> Sums(RowReader& reader) {
  std::map<std::string, std::uint64_t> sums;
  for (std::size_t left = reader.Count(); left > 0; --left) {
    const std::string name = reader.Text();
    const std::uint64_t value = reader.Number64();
    if (value != 0) sums[name] += value;
  }
  return sums;
}

void AddTo(std::map<std::string, std::uint64_t>& sums,
           const std::map<std::string, std::uint64_t>& more) {
  for (const auto& [name, value] : more) sums[name] += value;
}

std::string Seconds(double seconds) {
  return FormatSpan(static_cast<std::uint64_t>(seconds * kNsPerSecond));
}

// "web-1 (5 min), web-2 (1 min) and 3 more"
std::string Named(const std::vector<MissingTime>& hosts) {
  std::string text;
  for (std::size_t i = 0; i < std::min(hosts.size(), kNamedHosts); ++i)
    text +=
        (i == 0 ? "" : ", ") + SafeText(hosts[i].host) + " (" + Seconds(hosts[i].missing_s) + ")";
  if (hosts.size() > kNamedHosts)
    text += " and " + FormatCount(hosts.size() - kNamedHosts) + " more";
  return text;
}

void Sort(std::vector<MissingTime>& hosts) {
  std::ranges::sort(hosts, [](const MissingTime& a, const MissingTime& b) {
    return std::pair(-a.missing_s, a.host) < std::pair(-b.missing_s, b.host);
  });
}

}  // namespace

std::string CoverageStatement(const FleetQuestion& question, FleetCondition& condition) {
  FleetQuestion wide = question;
  wide.from_s -= std::min(wide.from_s, kDayBefore);
  // A host with any of its time is one of its hosts.
  wide.state.clear();
  wide.wait.clear();
  condition = ConditionOf(wide, FleetTable::kClock);
  condition.parameters["param_from"] = std::to_string(question.from_s);
  condition.parameters["param_to"] = std::to_string(question.to_s);
  condition.parameters["param_day"] = std::to_string(wide.from_s);
  const std::string overlap =
      "least(toUnixTimestamp(time) + seconds, toFloat64({to:UInt32})) - "
      "greatest(toFloat64(toUnixTimestamp(time)), toFloat64({from:UInt32}))";
  const std::string inside = "time >= toDateTime({from:UInt32})";
  return "SELECT host, toFloat64(min(toUnixTimestamp(time))), "
         "max(toUnixTimestamp(time) + seconds), sum(greatest(0., " +
         overlap + ")), avg(seconds), sumMapIf(gaps, " + inside + "), sumMapIf(lost, " + inside +
         ") FROM host_window FINAL WHERE time >= toDateTime({day:UInt32}) AND "
         "time < toDateTime({to:UInt32}) AND host GLOBAL IN (SELECT host FROM clock WHERE " +
         condition.sql + ") GROUP BY host ORDER BY host";
}

std::string PartialStatement(const FleetCondition& condition) {
  const std::string where = " WHERE " + condition.sql;
  return "SELECT host, toUInt64(count()), toUInt64(sum(clocks - samples)) AS missing FROM "
         "(SELECT host, time, sum(clock_ns) AS clocks, sum(sample_ns) AS samples FROM "
         "(SELECT host, time, ns AS clock_ns, toUInt64(0) AS sample_ns FROM clock" +
         where +
         " UNION ALL SELECT host, time, toUInt64(0) AS clock_ns, ns AS sample_ns FROM sample" +
         where +
         ") GROUP BY host, time HAVING clocks > samples) GROUP BY host ORDER BY missing DESC, host "
         "LIMIT " +
         std::to_string(kMostHosts);
}

Result<std::vector<PartialWindows>> ReadPartial(std::string_view answer) {
  RowReader reader(answer);
  std::vector<PartialWindows> hosts;
  while (reader.more() && hosts.size() < kMostHosts) {
    PartialWindows& host = hosts.emplace_back();
    host.host = reader.Text();
    host.windows = reader.Number64();
    host.missing_ns = reader.Number64();
  }
  PROFD_TRY(reader.error());
  return hosts;
}

Result<std::vector<HostCoverage>> ReadHosts(std::string_view answer) {
  RowReader reader(answer);
  std::vector<HostCoverage> hosts;
  while (reader.more()) {
    if (hosts.size() == kMostHosts)
      return Error{ErrorCode::kExhausted,
                   "more than " + std::to_string(kMostHosts) + " hosts deliver windows",
                   "request a part of them, with --host or --zone"};
    HostCoverage& host = hosts.emplace_back();
    host.host = reader.Text();
    host.first_s = reader.Real();
    host.last_s = reader.Real();
    host.covered_s = reader.Real();
    host.window_s = reader.Real();
    host.gaps_ns = Sums(reader);
    host.lost = Sums(reader);
  }
  PROFD_TRY(reader.error());
  return hosts;
}

Coverage CoverageOf(const std::vector<HostCoverage>& hosts, const FleetQuestion& question,
                    std::uint64_t now_s) {
  Coverage coverage;
  const auto from = static_cast<double>(question.from_s);
  const double to = static_cast<double>(std::min(question.to_s, now_s));
  double windows_s = 0;
  coverage.from_s = to;
  coverage.to_s = from;
  for (const HostCoverage& host : hosts) {
    AddTo(coverage.gaps_ns, host.gaps_ns);
    AddTo(coverage.lost, host.lost);
    windows_s += host.window_s;
    if (host.covered_s > 0) {
      ++coverage.hosts;
      coverage.from_s = std::min(coverage.from_s, std::max(from, host.first_s));
      coverage.to_s = std::max(coverage.to_s, std::min(to, host.last_s));
    }
    // A host that is new has nothing to deliver of the time before.
    const double expected = std::max(0.0, to - std::max(from, host.first_s));
    const double tail = std::clamp(to - std::max(host.last_s, from), 0.0, expected);
    // What has ended a short while ago may be on its way.
    const bool may_come = static_cast<double>(now_s) - host.last_s < kLateSeconds;
    const double late = may_come ? tail : 0;
    const double missing = expected - host.covered_s - late;
    if (missing >= kLeastMissingSeconds) coverage.incomplete.push_back({host.host, missing});
    if (late >= 2 * host.window_s + kLeastMissingSeconds)
      coverage.late.push_back({host.host, late});
  }
  if (!hosts.empty()) coverage.window_s = windows_s / static_cast<double>(hosts.size());
  coverage.from_s = std::min(coverage.from_s, coverage.to_s);
  Sort(coverage.incomplete);
  Sort(coverage.late);
  return coverage;
}

std::vector<std::string> CoverageLines(const Coverage& coverage) {
  std::vector<std::string> lines;
  if (!coverage.incomplete.empty())
    lines.push_back("incomplete: " + FormatCount(coverage.incomplete.size(), "host") +
                    " with windows before or in this time did not deliver all of it: " +
                    Named(coverage.incomplete));
  if (!coverage.late.empty())
    lines.push_back("late: the last windows of " + FormatCount(coverage.late.size(), "host") +
                    " are not there yet: " + Named(coverage.late));
  if (!coverage.partial.empty()) {
    std::string text;
    std::uint64_t windows = 0;
    for (std::size_t i = 0; i < coverage.partial.size(); ++i) {
      windows += coverage.partial[i].windows;
      if (i < kNamedHosts)
        text += (i == 0 ? "" : ", ") + SafeText(coverage.partial[i].host) + " (" +
                FormatSpan(coverage.partial[i].missing_ns) + " of threads)";
    }
    if (coverage.partial.size() > kNamedHosts)
      text += " and " + FormatCount(coverage.partial.size() - kNamedHosts) + " more";
    lines.push_back("partial: rows of " + FormatCount(windows, "window") +
                    " are not there: " + text);
  }
  if (!coverage.gaps_ns.empty()) {
    std::string text;
    for (const auto& [cause, ns] : coverage.gaps_ns)
      text += (text.empty() ? "" : ", ") + SafeText(cause) + " " + FormatSpan(ns);
    lines.push_back("gaps: windows that never come, of all hosts together: " + text);
  }
  if (!coverage.lost.empty()) {
    std::string text;
    for (const auto& [kind, count] : coverage.lost)
      text += (text.empty() ? "" : ", ") + SafeText(kind) + " " + FormatCount(count);
    lines.push_back("lost: records of all services on these hosts: " + text);
  }
  return lines;
}

void AddCoverage(const Coverage& coverage, v1::Profile& profile) {
  const auto add = [](v1::NamedCount& count, std::string name, std::string text,
                      std::uint64_t value) {
    count.set_name(std::move(name));
    count.set_text(std::move(text));
    count.set_count(value);
  };
  add(*profile.add_counters(), "fleet_hosts", "hosts with windows in this time", coverage.hosts);
  for (const auto& [hosts, name, what] :
       {std::tuple(&coverage.incomplete, "fleet_missing_s", "seconds without windows of "),
        {&coverage.late, "fleet_late_s", "seconds whose windows are not there yet, of "}})
    for (const MissingTime& host : *hosts)
      add(*profile.add_counters(), name, what + host.host,
          static_cast<std::uint64_t>(std::llround(host.missing_s)));
  for (const PartialWindows& host : coverage.partial)
    add(*profile.add_counters(), "fleet_partial_ns",
        "ns of threads that windows lack, of " + host.host, host.missing_ns);
  for (const auto& [cause, ns] : coverage.gaps_ns)
    add(*profile.add_counters(), "fleet_gap_ns", "ns of windows that never come: " + cause, ns);
  for (std::string& line : CoverageLines(coverage))
    add(*profile.add_counters(), std::string(kFleetWords), std::move(line), 1);
  for (const auto& [kind, count] : coverage.lost)
    add(*profile.add_lost(), kind, kind + ", of all services on these hosts", count);
}

}  // namespace profd::client
