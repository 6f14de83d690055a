// HttpClient: requests to a server of HTTP, over one connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/http/tls_files.h"
#include "daemon/base/result.h"

namespace profd {

enum class HttpMethod : std::uint8_t { kGet, kPost, kPut };

struct HttpRequest {
  HttpMethod method = HttpMethod::kPost;
  std::string url;                        // http:// or https://
  std::vector<std::string> headers = {};  // "name: value"
  std::string_view body = {};             // of kPost and kPut
  std::string user = {};                  // "": no authentication
  std::string password = {};
  // Signs by AWS' version 4 with `user` and `password`; "": basic authentication.
  std::string aws_region = {};
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);  // of the whole exchange
  TlsFiles tls = {};                         // of https://; that host must be in its certificate
  std::size_t most_answer_bytes = 1u << 20;  // more is an error
  std::function<bool()> is_cancelled = {};   // called about each second; null: never
};

struct HttpAnswer {
  long status = 0;
  std::string body = {};
  // By lower-case name; of several with one name the last; bounded.
  std::map<std::string, std::string> headers = {};
  std::uint64_t retry_after_seconds = 0;  // 0: the server does not say
};

// One connection, kept between requests to one server. Follows no redirection. One thread at a
// time.
class HttpClient {
 public:
  // Once, while the process has one thread.
  static void PrepareProcess();

  HttpClient();
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // Any status is an answer. kUnavailable: no answer, and why. kPermissionDenied: no answer, since
  // TLS failed: one side refuses the certificate of the other, or cannot read a file. kExhausted:
  // the answer is too long.
  [[nodiscard]] Result<HttpAnswer> Do(const HttpRequest& request);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// A part of a URL: what is not a letter, a digit or one of -._~ as %XX.
[[nodiscard]] std::string UrlEncoded(std::string_view text);

}  // namespace profd
