// ExportSettings: the [[export]] tables of the configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/clickhouse/clickhouse_client.h"
#include "daemon/base/http/content_encoding.h"
#include "daemon/base/http/tls_files.h"
#include "daemon/base/result.h"
#include "daemon/fleet/profile/relabelling.h"

namespace profd::fleet {

enum class TargetKind : std::uint8_t {
  kFiles,
  kOtlpGrpc,
  kOtlpHttp,
  kPyroscopeGrpc,
  kPyroscopeHttp,
  kParcaGrpc,
  kClickHouse,
  kS3
};
enum class What : std::uint8_t { kWall, kOnCpu };
// Zstandard is for ClickHouse alone.
using Compression = ContentEncoding;

// One [[export]]. Passive.
struct ExportSettings {
  std::string name;  // of its spool, in status and metrics
  std::string to;    // as it was written
  TargetKind kind = TargetKind::kFiles;
  std::string address;           // HOST:PORT, a URL (of S3: with bucket and prefix), or the folder
  ClickHouseAddress clickhouse;  // of kClickHouse, instead of `address`
  bool tls = false;
  TlsFiles tls_files;
  What what = What::kWall;
  Compression compression = Compression::kGzip;
  std::chrono::nanoseconds interval = std::chrono::minutes(1);
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);  // of one request
  std::chrono::nanoseconds max_age{0};  // what is older is passed over; 0: never
  std::uint64_t spool_bytes = 256ull << 20;
  std::uint64_t request_bytes = 4ull << 20;  // without compression
  std::uint64_t rows = 2'000;                // of kClickHouse: of one window
  std::vector<std::string> headers_from;     // files with lines "name: value"
  std::string credentials_from;              // of kS3: file with lines "access_key: value"
  std::string region;                        // of kS3
  std::vector<RelabelRule> relabel;
  friend bool operator==(const ExportSettings&, const ExportSettings&) = default;
};

// A header of requests.
struct Header {
  std::string name;  // lower case
  std::string value;
};
// Reads them again for each request, so that a token may be replaced. Errors do not have the
// values, but the key of the configuration that names the files.
[[nodiscard]] Result<std::vector<Header>> ReadHeaders(const std::vector<std::string>& files,
                                                      std::string_view key = "headers_from");

// For requests whose parts are compressed already.
[[nodiscard]] ExportSettings WithoutCompression(ExportSettings settings);

}  // namespace profd::fleet
