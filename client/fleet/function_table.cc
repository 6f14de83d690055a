#include "client/fleet/function_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/fleet/fleet_answers.h"
#include "client/fleet/fleet_profile.h"
#include "client/fleet/row_reader.h"
#include "client/text/number.h"
#include "client/text/table.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kHour = 3'600;
constexpr std::size_t kMostFunctions = 100'000;
constexpr double kNsPerSecond = 1e9;
constexpr std::string_view kOnCpu = "toInt8(state) <= 2";

bool IsOfHours(const FleetQuestion& question) {
  return question.from_s % kHour == 0 && question.to_s % kHour == 0 && question.threads.empty() &&
         question.labels.empty() && std::ranges::all_of(question.fits, [](const auto& fit) {
           return fit.second.empty() || fit.first == FleetKey::kVersion;
         });
}

// Of rows with function, leaf, state and ns, or with sums of these.
std::string Sums(std::string_view self, std::string_view total) {
  const auto sum = [](std::string_view what, std::string_view when) {
    return "sumIf(" + std::string(what) + ", " + std::string(when) + "), ";
  };
  return sum(self, kOnCpu) + sum(total, kOnCpu) + sum(total, "toInt8(state) = 3") +
         sum(total, "toInt8(state) = 4") + "toUInt64(uniqExact(service))";
}

std::string Tail(std::size_t most) {
  return " GROUP BY function ORDER BY 2 DESC, 3 DESC, function LIMIT " + std::to_string(most);
}

std::string OfSamples(const FleetCondition& condition, std::size_t most) {
  const std::string missing = "['" + std::string(kMissingStack) + "']";
  const std::string hashes = "(SELECT hash FROM sample WHERE " + condition.sql + ")";
  return "SELECT function, " + Sums("if(function = leaf, ns, 0)", "ns") +
         " FROM (SELECT s.service AS service, s.state AS state, s.ns AS ns, "
         "if(empty(k.names), " +
         missing +
         ", k.names) AS names, "
         "if(empty(k.names), '" +
         std::string(kMissingStack) +
         "', k.first) AS leaf, "
         "arrayJoin(names) AS function FROM "
         "(SELECT service, hash, state, sum(ns) AS ns FROM sample WHERE " +
         condition.sql +
         " AND state != 'stolen' GROUP BY service, hash, state) AS s GLOBAL LEFT JOIN "
         "(SELECT service, hash, any(toString(functions[1])) AS first, "
         "any(arrayMap(f -> toString(f), distinct_functions)) AS names FROM stack "
         "WHERE hash GLOBAL IN " +
         hashes +
         " GROUP BY service, hash) AS k "
         "ON s.service = k.service AND s.hash = k.hash)" +
         Tail(most);
}

}  // namespace

Result<std::vector<FleetFunction>> ReadFunctions(std::string_view answer) {
  RowReader reader(answer);
  std::vector<FleetFunction> functions;
  while (reader.more()) {
    if (functions.size() == kMostFunctions)
      return Error{ErrorCode::kExhausted, "the answer has too many functions", ""};
    FleetFunction& function = functions.emplace_back();
    function.name = reader.Text();
    function.self_ns = reader.Number64();
    function.total_ns = reader.Number64();
    function.runnable_ns = reader.Number64();
    function.blocked_ns = reader.Number64();
    function.services = reader.Number64();
  }
  PROFD_TRY(reader.error());
  return functions;
}

Result<FunctionTable> AskFunctions(const FleetQuestion& question, std::size_t most,
                                   std::uint64_t now_s, FleetDatabase& database) {
  FunctionTable table{.question = question, .coverage = {}, .functions = {}, .all = {}};
  table.of_hours = IsOfHours(question);
  const FleetCondition condition = ConditionOf(question, FleetTable::kSample);
  std::string sql;
  if (table.of_hours) {
    std::string where = condition.sql;
    // The same hours by the name that they have there.
    for (std::size_t at = 0; (at = where.find("time ", at)) != std::string::npos; at += 5)
      if (at == 0 || where[at - 1] == ' ') where.replace(at, 4, "hour");
    sql = "SELECT function, " + Sums("self_ns", "total_ns") + " FROM function_hour WHERE " + where +
          Tail(most);
  } else {
    sql = OfSamples(condition, most);
  }
  const auto answer = database.Select(sql, condition.parameters);
  if (!answer) return answer.error();
  auto functions = ReadFunctions(*answer);
  if (!functions) return functions.error();
  table.functions = *std::move(functions);
  // Of all, so that what is not shown is counted.
  FleetQuestion whole = question;
  whole.apart.clear();
  auto services = AskServices(whole, now_s, database);
  if (!services) return services.error();
  const ServiceRow& sums = services->rows.front();
  table.coverage = std::move(services->coverage);
  table.all.self_ns = sums.ns[0] + sums.ns[1];
  table.all.total_ns = table.all.self_ns;
  table.all.runnable_ns = sums.ns[2];
  table.all.blocked_ns = sums.ns[3];
  return table;
}

std::string RenderFunctions(const FunctionTable& table, const ServiceTableOptions& options) {
  const double length_s = std::max(1.0, table.coverage.to_s - table.coverage.from_s);
  const auto length_ns = static_cast<std::uint64_t>(std::llround(length_s * kNsPerSecond));
  Table out({{"function", Align::kLeft, Shrink::kMiddle},
             {"self", Align::kRight},
             {"share", Align::kRight},
             {"total", Align::kRight},
             {"runnable", Align::kRight},
             {"blocked", Align::kRight},
             {"services", Align::kRight}});
  std::uint64_t shown_ns = 0;
  for (const FleetFunction& function : table.functions) {
    shown_ns += function.self_ns;
    out.AddRow({SafeText(function.name), FormatThreads(function.self_ns, length_ns),
                FormatShare(function.self_ns, table.all.self_ns),
                FormatThreads(function.total_ns, length_ns),
                FormatThreads(function.runnable_ns, length_ns),
                FormatThreads(function.blocked_ns, length_ns), FormatCount(function.services)});
  }
  if (shown_ns < table.all.self_ns)
    out.AddRow({"(other functions)", FormatThreads(table.all.self_ns - shown_ns, length_ns),
                FormatShare(table.all.self_ns - shown_ns, table.all.self_ns)});
  return options.palette.Paint(Tone::kStrong, SafeText(table.question.Words())) + "   " +
         FormatDuration(length_ns) + ", " + FormatCount(table.coverage.hosts, "host") +
         "   CPUs on average by function" +
         (table.of_hours ? ", from the sums of whole hours" : "") + "\n\n" +
         out.Render(options.width, options.palette);
}

}  // namespace profd::client
