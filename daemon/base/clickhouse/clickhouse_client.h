// ClickHouseClient: statements for a ClickHouse server over HTTP.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/http/content_encoding.h"
#include "daemon/base/http/http_client.h"
#include "daemon/base/http/tls_files.h"
#include "daemon/base/result.h"

namespace profd {

// Where a fleet's tables are.
struct ClickHouseAddress {
  std::string url;  // "http://HOST:8123"
  bool tls = false;
  std::string user;  // "": that of the server's default
  std::string database = "profd";
  std::string cluster;  // "": one server
  friend bool operator==(const ClickHouseAddress&, const ClickHouseAddress&) = default;
};

// clickhouse://[USER@]HOST[:8123][/DATABASE][?cluster=NAME]; clickhouses:// or clickhouse+https://
// by TLS, port 8443.
// Passwords are not part of it: others can read command lines.
[[nodiscard]] Result<ClickHouseAddress> ParseClickHouseAddress(std::string_view text);

// Whether a user or a cluster may be called so in a statement: letters, digits and _-.
[[nodiscard]] bool IsClickHouseName(std::string_view text);

struct ClickHouseStatement {
  std::string sql;                                    // in the URL where there is a body
  std::string_view body = {};                         // data of an INSERT
  ContentEncoding encoding = ContentEncoding::kNone;  // of the body
  std::map<std::string, std::string>
      settings;  // "async_insert" -> "1"; "param_x": a parameter of the query
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  std::size_t most_answer_bytes = 256u << 20;
  std::function<bool()> is_cancelled = {};
};

// Of the server; code and status are 0 where the connection failed.
struct ClickHouseFailure {
  long status = 0;  // of HTTP: 500 does not mean that another try may succeed
  int code = 0;     // of ClickHouse: 60 is an unknown table
  std::string message;
  bool tls = false;  // the connection failed in TLS: see the certificates
};

// What a server answers.
struct ClickHouseAnswer {
  std::string body;           // of a success
  ClickHouseFailure failure;  // its message is "" of a success
  [[nodiscard]] bool ok() const { return failure.message.empty(); }
};

// One thread at a time. HttpClient::PrepareProcess was called.
class ClickHouseClient {
 public:
  // `headers` go with each request: "X-ClickHouse-Key: ...".
  ClickHouseClient(ClickHouseAddress address, std::vector<std::string> headers, TlsFiles tls);

  [[nodiscard]] ClickHouseAnswer Run(const ClickHouseStatement& statement);
  [[nodiscard]] const ClickHouseAddress& address() const { return address_; }
  void SetHeaders(std::vector<std::string> headers) { headers_ = std::move(headers); }

 private:
  ClickHouseAddress address_;
  std::vector<std::string> headers_;
  TlsFiles tls_;
  HttpClient http_;
};

// Code 60 of "Code: 60. DB::Exception: ..."; 0: none.
[[nodiscard]] int ClickHouseCodeOf(const HttpAnswer& answer);

}  // namespace profd
