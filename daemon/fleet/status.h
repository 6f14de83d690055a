// ExportStatus: what the export process says of one target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/fleet/profile/export_profile.h"

namespace profd::fleet {

// Numbers but those of the spool count from the first start of this export on.
struct ExportStatus {
  std::string name = {};
  std::string to = {};
  std::uint64_t sent = 0;  // requests that the receiver has taken
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_until_unix_ns = 0;
  std::uint64_t retries = 0;
  std::uint64_t spool_entries = 0;
  std::uint64_t spool_bytes = 0;
  std::uint64_t spool_limit_bytes = 0;
  Gaps gaps = {};
  std::string last_error = {};  // of the last try; "": it succeeded
  friend bool operator==(const ExportStatus&, const ExportStatus&) = default;
};

// As text, for another process and for a file.
[[nodiscard]] std::string PackStatus(const std::vector<ExportStatus>& exports);
// kCorrupt: it is not such a text.
[[nodiscard]] Result<std::vector<ExportStatus>> UnpackStatus(std::string_view text);

}  // namespace profd::fleet
