// FleetDatabase: questions to the ClickHouse that holds a fleet's tables.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/base/clickhouse/clickhouse_client.h"
#include "daemon/base/http/tls_files.h"
#include "daemon/base/result.h"

namespace profd::client {

// An answer is whole, or there is none: a part of a cluster that does not answer, a limit that cuts
// off and an error in the midst of rows make the question fail. That is set for each statement; an
// account may only read, and may be one that can change no setting, as long as its profile does
// not cut off. One thread at a time. HttpClient::PrepareProcess was called.
class FleetDatabase {
 public:
  struct Options {
    ClickHouseAddress address;
    std::string password;  // "": none
    TlsFiles tls;
    std::function<bool()> is_cancelled = {};  // null: never
    std::chrono::nanoseconds timeout = std::chrono::minutes(5);
  };
  explicit FleetDatabase(Options options);

  // The answer of a SELECT in RowBinary. kPermissionDenied, kUnavailable (no answer, or a part of
  // the cluster has none), kNotFound (no such table), kExhausted (too long). Cancelled:
  // kUnavailable without a message.
  [[nodiscard]] Result<std::string> Select(const std::string& sql,
                                           const std::map<std::string, std::string>& parameters);

 private:
  [[nodiscard]] Error Meaning(const ClickHouseFailure& failure) const;

  const Options options_;
  ClickHouseClient client_;
  bool knows_newer_ = true;  // the server has not refused the settings that older ones lack
};

}  // namespace profd::client
