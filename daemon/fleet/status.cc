#include "daemon/fleet/status.h"

#include <nlohmann/json.hpp>

#include "daemon/fleet/spool/json_values.h"

namespace profd::fleet {

std::string PackStatus(const std::vector<ExportStatus>& exports) {
  nlohmann::json list = nlohmann::json::array();
  for (const ExportStatus& status : exports)
    list.push_back({{"name", status.name},
                    {"to", status.to},
                    {"sent", status.sent},
                    {"sent_bytes", status.sent_bytes},
                    {"sent_until_unix_ns", status.sent_until_unix_ns},
                    {"retries", status.retries},
                    {"spool_entries", status.spool_entries},
                    {"spool_bytes", status.spool_bytes},
                    {"spool_limit_bytes", status.spool_limit_bytes},
                    {"gaps", status.gaps},
                    {"last_error", status.last_error}});
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<ExportStatus>> UnpackStatus(std::string_view text) {
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return Error{ErrorCode::kCorrupt, "no status of exports", ""};
  std::vector<ExportStatus> exports;
  for (const nlohmann::json& item : list) {
    if (!item.is_object()) return Error{ErrorCode::kCorrupt, "no status of an export", ""};
    ExportStatus& status = exports.emplace_back();
    status.name = TextIn(item, "name");
    status.to = TextIn(item, "to");
    status.sent = NumberIn(item, "sent");
    status.sent_bytes = NumberIn(item, "sent_bytes");
    status.sent_until_unix_ns = NumberIn(item, "sent_until_unix_ns");
    status.retries = NumberIn(item, "retries");
    status.spool_entries = NumberIn(item, "spool_entries");
    status.spool_bytes = NumberIn(item, "spool_bytes");
    status.spool_limit_bytes = NumberIn(item, "spool_limit_bytes");
    status.last_error = TextIn(item, "last_error");
    status.gaps = GapsIn(item, "gaps");
  }
  return exports;
}

}  // namespace profd::fleet
