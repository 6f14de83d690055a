#include "client/fleet/odd_hosts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "client/fleet/fleet_answers.h"
#include "client/fleet/row_reader.h"
#include "client/profile/share_error.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostRows = 1'000'000;
constexpr std::size_t kSharesOfHost = 3;
constexpr double kTail = 0.05;
// Of a normal distribution: the standard deviation by the median distance to the median, and how
// much of the information in all values that has.
constexpr double kDeviationByDistance = 1.4826;
constexpr double kEfficiency = 0.37;
// Functions that reach this share of no host's time are not compared.
constexpr double kLeastShare = 0.005;

double MedianOf(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Of one host.
struct Value {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;
};

using What = std::pair<HostState, std::string>;

// By state; a function of this name is none.
constexpr const char* kAllFunctions = "";

// What chance does to a share of a sampled state.
double SamplingDeviation(double ns, double points, double host_ns) {
  const double of_points = std::max(points, 1.0);
  return ns / host_ns / std::sqrt(of_points);
}

std::string_view NameOf(HostState state) {
  constexpr std::array<std::string_view, 4> kNames{"on a CPU", "runnable", "blocked", "stolen"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::string Statement(const FleetCondition& condition) {
  // The innermost frame that is not the kernel's: what it waits for is the same in all waits.
  return "SELECT host, state_class, leaf, ns, points, host_ns FROM (SELECT *, "
         "max(ns / host_ns) OVER (PARTITION BY state_class, leaf) AS most FROM (SELECT *, "
         "sum(ns) OVER (PARTITION BY host) AS host_ns FROM (SELECT s.host AS host, "
         "s.state_class AS state_class, if(empty(k.leaf), '[no stack]', k.leaf) AS leaf, "
         "sum(s.ns) AS ns, sum(s.points) AS points FROM (SELECT toString(host) AS host, hash, "
         "toUInt8(multiIf(toInt8(state) <= 2, 0, toInt8(state) = 3, 1, toInt8(state) = 4, 2, 3)) "
         "AS state_class, sum(ns) AS ns, toUInt64(sum(count)) AS points FROM sample WHERE " +
         condition.sql +
         " GROUP BY host, hash, state_class) AS s GLOBAL LEFT JOIN (SELECT hash, "
         "any(toString(functions[greatest(1, arrayFirstIndex(k -> toInt8(k) != 1, kinds))])) "
         "AS leaf FROM stack WHERE service = {service:String} AND hash GLOBAL IN "
         "(SELECT hash FROM sample WHERE " +
         condition.sql +
         ") GROUP BY hash) AS k ON s.hash = k.hash GROUP BY host, state_class, leaf))) "
         "WHERE most >= " +
         std::to_string(kLeastShare) + " LIMIT " + std::to_string(kMostRows + 1);
}

}  // namespace

std::vector<OddShare> FindOdd(const std::vector<HostFunction>& functions) {
  std::map<std::string, std::uint64_t> hosts;  // time of all their threads
  std::map<What, std::map<std::string, Value>> values;
  for (const HostFunction& function : functions) {
    if (function.host_ns == 0) continue;
    hosts[function.host] = function.host_ns;
    for (const std::string& name : {function.function, std::string(kAllFunctions)}) {
      Value& value = values[{function.state, name}][function.host];
      value.ns += function.ns;
      value.points += function.points;
    }
  }
  std::vector<OddShare> odd;
  if (hosts.size() < kLeastHosts) return odd;
  const auto count = static_cast<double>(hosts.size());
  const double bound = StudentQuantile(kTail / (count * static_cast<double>(values.size())),
                                       std::max(1.0, kEfficiency * (count - 1)));
  for (const auto& [what, of_hosts] : values) {
    std::vector<double> shares;
    std::vector<double> chances;
    for (const auto& [name, time_ns] : hosts) {
      const auto value = of_hosts.find(name);
      const Value none;
      const Value& known = value == of_hosts.end() ? none : value->second;
      const auto host_ns = static_cast<double>(time_ns);
      shares.push_back(static_cast<double>(known.ns) / host_ns);
      chances.push_back(SamplingDeviation(static_cast<double>(known.ns),
                                          static_cast<double>(known.points), host_ns));
    }
    std::vector<double> sorted = shares;
    const double median = MedianOf(sorted);
    for (double& share : sorted) share = std::fabs(share - median);
    const double spread = kDeviationByDistance * MedianOf(sorted);
    std::vector<double> all_chances = chances;
    const double usual_chance = MedianOf(all_chances);
    std::size_t i = 0;
    for (const auto& [name, time_ns] : hosts) {
      const double difference = std::fabs(shares[i] - median);
      const double chance = std::hypot(chances[i], usual_chance);
      const double deviation = std::max(spread, chance);
      if (difference >= kLeastDifference && difference > bound * deviation)
        odd.push_back({.host = name,
                       .state = what.first,
                       .function = what.second,
                       .share = shares[i],
                       .median = median,
                       .score = deviation > 0 ? difference / deviation : bound});
      ++i;
    }
  }
  std::map<std::string, double> largest;
  const auto size = [](const OddShare& share) { return std::fabs(share.share - share.median); };
  for (const OddShare& share : odd)
    largest[share.host] = std::max(largest[share.host], size(share));
  std::ranges::sort(odd, [&](const OddShare& a, const OddShare& b) {
    return std::tuple(-largest[a.host], a.host, -size(a), a.function, a.state) <
           std::tuple(-largest[b.host], b.host, -size(b), b.function, b.state);
  });
  return odd;
}

Result<std::vector<HostFunction>> ReadHostFunctions(std::string_view answer) {
  RowReader reader(answer);
  std::vector<HostFunction> functions;
  while (reader.more()) {
    if (functions.size() == kMostRows)
      return Error{ErrorCode::kExhausted, "the hosts have too many functions to compare",
                   "request a part of them: --zone, --host, or a version"};
    HostFunction& function = functions.emplace_back();
    function.host = reader.Text();
    const std::uint8_t state = reader.Byte();
    if (state > static_cast<std::uint8_t>(HostState::kStolen)) reader.Fail();
    function.state = static_cast<HostState>(state);
    function.function = reader.Text();
    function.ns = reader.Number64();
    function.points = reader.Number64();
    function.host_ns = reader.Number64();
  }
  PROFD_TRY(reader.error());
  return functions;
}

Result<OddHosts> AskOddHosts(const FleetQuestion& question, std::uint64_t now_s,
                             FleetDatabase& database) {
  OddHosts hosts{.question = question, .coverage = {}, .odd = {}};
  FleetCondition condition = ConditionOf(question, FleetTable::kSample);
  condition.parameters.emplace("param_service", ParameterText(question.service));
  const auto answer = database.Select(Statement(condition), condition.parameters);
  if (!answer) return answer.error();
  const auto functions = ReadHostFunctions(*answer);
  if (!functions) return functions.error();
  if (functions->empty()) return NothingOf(question, database);
  std::set<std::string> names;
  for (const HostFunction& function : *functions) names.insert(function.host);
  hosts.hosts = names.size();
  hosts.compared = functions->size();
  hosts.odd = FindOdd(*functions);
  auto coverage = AskCoverage(question, now_s, database);
  if (!coverage) return coverage.error();
  hosts.coverage = *std::move(coverage);
  return hosts;
}

std::string RenderOddHosts(const OddHosts& hosts, const ServiceTableOptions& options) {
  std::string text = options.palette.Paint(Tone::kStrong, SafeText(hosts.question.Words())) +
                     "   " + FormatCount(hosts.hosts, "host") +
                     " compared, as shares of the time "
                     "of their threads\n\n";
  if (hosts.hosts < kLeastHosts)
    return text + "too few hosts: an exception needs " + std::to_string(kLeastHosts) +
           " of them at least\n";
  if (hosts.odd.empty()) return text + "no host differs by more than chance and the others do\n";
  Table table({{"host", Align::kLeft, Shrink::kMiddle, Tone::kStrong},
               {"function", Align::kLeft, Shrink::kMiddle},
               {"state", Align::kLeft},
               {"share", Align::kRight},
               {"median", Align::kRight},
               {"deviations", Align::kRight}});
  std::string last;
  std::size_t of_host = 0;
  std::size_t left_out = 0;
  for (const OddShare& share : hosts.odd) {
    of_host = share.host == last ? of_host + 1 : 0;
    if (of_host >= kSharesOfHost && !options.complete) {
      ++left_out;
      continue;
    }
    table.AddRow({share.host == last ? "" : SafeText(share.host),
                  share.function.empty() ? "(all)" : SafeText(share.function),
                  std::string(NameOf(share.state)), FormatShare(share.share),
                  FormatShare(share.median), FormatDecimals(std::min(share.score, 999.9), 1)});
    last = share.host;
  }
  text += table.Render(options.width, options.palette);
  if (left_out > 0)
    text += options.palette.Paint(
                Tone::kFaint, FormatCount(left_out) + " more shares of these hosts differ: -v") +
            "\n";
  return text;
}

std::string OddHostsJson(const OddHosts& hosts) {
  using nlohmann::json;
  json odd = json::array();
  for (const OddShare& share : hosts.odd)
    odd.push_back({{"host", share.host},
                   {"state", NameOf(share.state)},
                   {"function", share.function},
                   {"share", share.share},
                   {"median", share.median},
                   {"deviations", share.score}});
  json incomplete = json::array();
  for (const MissingTime& host : hosts.coverage.incomplete)
    incomplete.push_back({{"host", host.host}, {"missing_s", host.missing_s}});
  const json all = {{"format", "profd-fleet-outliers"},
                    {"version", 1},
                    {"hosts", hosts.hosts},
                    {"incomplete", incomplete},
                    {"odd", odd}};
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace profd::client
