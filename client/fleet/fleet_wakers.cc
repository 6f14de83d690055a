#include "client/fleet/fleet_wakers.h"

#include "client/fleet/row_reader.h"
#include "client/profile/on_whom.h"
#include "client/text/number.h"

namespace profd::client {

Result<FleetWakers> AskWakers(const FleetQuestion& question, FleetDatabase& database) {
  FleetWakers wakers;
  if (!question.state.empty() && question.state != "blocked") return wakers;
  const auto has_paths =
      database.Select("SELECT toUInt8(hasColumnInTable(currentDatabase(), 'sample', 'path'))", {});
  if (!has_paths) return has_paths.error();
  RowReader column(*has_paths);
  if (column.Byte() == 0) return wakers;
  const FleetCondition condition = ConditionOf(question, FleetTable::kSample);
  const auto answer = database.Select(
      "SELECT toUInt64(uniqExact(host)), toUInt64(uniqExactIf(host, path != 0)) "
      "FROM sample WHERE " +
          condition.sql + " AND state = 'blocked'",
      condition.parameters);
  if (!answer) return answer.error();
  RowReader reader(*answer);
  wakers.hosts = reader.Number64();
  wakers.knowing = reader.Number64();
  PROFD_TRY(reader.error());
  return wakers;
}

std::string WakersLine(const FleetWakers& wakers, const v1::Profile& profile) {
  if (wakers.knowing == 0) return "";
  std::uint64_t blocked_ns = 0;
  std::uint64_t known_ns = 0;
  for (const WakerTimes& thread : WakersOfThreads(profile))
    for (const auto& [name, ns] : thread) {
      blocked_ns += ns;
      if (!name.empty()) known_ns += ns;
    }
  if (blocked_ns == 0) return "";
  return "of " + FormatShare(known_ns, blocked_ns) +
         " of the blocked time the waker is known: " + std::to_string(wakers.knowing) + " of " +
         FormatCount(wakers.hosts, "host") + (wakers.knowing == 1 ? " keeps" : " keep") + " wakers";
}

}  // namespace profd::client
