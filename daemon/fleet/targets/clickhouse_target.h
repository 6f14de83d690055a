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
  // `folder`: of the export. The file `sent_stacks` in it keeps from start to start which stacks
  // the tables have; without it, or for other tables, all stacks go out once more.
  ClickHouseTarget(const ExportSettings& settings, std::string host, std::string folder);

  [[nodiscard]] Paths paths() const override { return Paths::kKept; }
  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;

 private:
  // After an entry of this time.
  void SaveSent(std::uint64_t unix_ns);

  const ExportSettings settings_;
  const std::string host_;
  const std::string receiver_;  // distinguishes the tables from others
  const std::string file_;      // of what was sent
  ClickHouseClient client_;
  SentStacks sent_;
  std::uint64_t saved_unix_ns_ = 0;
  std::uint64_t number_ = 0;  // of the entry of the last try
  std::size_t done_ = 0;      // of its inserts
};

// What an answer means that is no success. The code decides, not the status of HTTP: 500 is the
// answer to a row that no try can save, too. What an operator can repair (tables, users, rights) is
// tried again.
[[nodiscard]] Verdict VerdictOfClickHouse(const ClickHouseFailure& failure);

}  // namespace profd::fleet
