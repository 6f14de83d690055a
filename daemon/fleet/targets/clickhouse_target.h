// ClickHouseTarget: a fleet's tables in ClickHouse.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/clickhouse/clickhouse_client.h"
#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/tables/sent_stacks.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// An entry of the spool is one window: an insert or more for each table, host_window last. The
// server batches inserts of many hosts, and answers when the rows are in a table. Each insert has a
// token that is the same for each try, so rows are there once though an answer was lost. A try goes
// on behind what the one before it was answered for.
class ClickHouseTarget : public Target {
 public:
  ClickHouseTarget(const ExportSettings& settings, std::string host);

  [[nodiscard]] Paths paths() const override { return Paths::kKept; }
  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;

 private:
  const ExportSettings settings_;
  const std::string host_;
  ClickHouseClient client_;
  SentStacks sent_;
  std::uint64_t number_ = 0;  // of the entry of the last try
  std::size_t done_ = 0;      // of its inserts
};

// What an answer means that is no success. The code decides, not the status of HTTP: 500 is the
// answer to a row that no try can save, too. What an operator can repair (tables, users, rights) is
// tried again.
[[nodiscard]] Verdict VerdictOfClickHouse(const ClickHouseFailure& failure);

}  // namespace profd::fleet
