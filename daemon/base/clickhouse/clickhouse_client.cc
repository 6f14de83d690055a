#include "daemon/base/clickhouse/clickhouse_client.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "daemon/base/http/host_port.h"
#include "daemon/base/utf8.h"

namespace profd {
namespace {

constexpr std::size_t kMaxMessageBytes = 400;
constexpr std::uint16_t kPort = 8123;
constexpr std::uint16_t kTlsPort = 8443;
constexpr std::string_view kForm =
    "clickhouse://[USER@]HOST[:PORT][/DATABASE][?cluster=NAME], or clickhouses:// by TLS";

Error WrongAddress(std::string_view text, std::string_view why) {
  return Error{ErrorCode::kInvalidArgument,
               "'" + std::string(text) + "' is no address of ClickHouse: " + std::string(why),
               "write " + std::string(kForm)};
}

bool IsDatabase(std::string_view text) {
  return IsClickHouseName(text) && text.find_first_of("-.") == std::string_view::npos &&
         (text[0] < '0' || text[0] > '9');
}

}  // namespace

bool IsClickHouseName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

Result<ClickHouseAddress> ParseClickHouseAddress(std::string_view text) {
  ClickHouseAddress address;
  std::string_view rest = text;
  const auto take = [&rest](std::string_view scheme) {
    if (!rest.starts_with(scheme)) return false;
    rest.remove_prefix(scheme.size());
    return true;
  };
  address.tls = take("clickhouses://") || take("clickhouse+https://");
  if (!address.tls && !take("clickhouse://"))
    return WrongAddress(text, "the scheme is another one");
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    const std::string_view parameter = rest.substr(question + 1);
    rest = rest.substr(0, question);
    constexpr std::string_view kCluster = "cluster=";
    if (!parameter.starts_with(kCluster) || !IsClickHouseName(parameter.substr(kCluster.size())))
      return WrongAddress(text, "'?" + std::string(parameter) + "' is not ?cluster=NAME");
    address.cluster = parameter.substr(kCluster.size());
  }
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
    if (!database.empty()) address.database = database;
    if (!IsDatabase(address.database))
      return WrongAddress(text, "a database has letters, digits and _");
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    address.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    if (address.user.find(':') != std::string::npos)
      return WrongAddress("clickhouse://...", "a password does not belong into an address");
    if (!IsClickHouseName(address.user)) return WrongAddress(text, "the name of the user is wrong");
  }
  const auto place = ParseHostPort(rest);
  if (!place)
    return WrongAddress(text, "a host is a name or an address, and a port is from 1 to 65535");
  const std::uint16_t port = address.tls ? kTlsPort : kPort;
  address.url = std::string(address.tls ? "https://" : "http://") + place->host + ":" +
                std::to_string(place->port == 0 ? port : place->port);
  return address;
}

ClickHouseClient::ClickHouseClient(ClickHouseAddress address, std::vector<std::string> headers,
                                   TlsFiles tls)
    : address_(std::move(address)), headers_(std::move(headers)), tls_(std::move(tls)) {}

ClickHouseAnswer ClickHouseClient::Run(const ClickHouseStatement& statement) {
  const bool with_body = !statement.body.empty();
  std::string url = address_.url + "/?database=" + UrlEncoded(address_.database);
  if (with_body) url += "&query=" + UrlEncoded(statement.sql);
  for (const auto& [name, value] : statement.settings)
    url += "&" + UrlEncoded(name) + "=" + UrlEncoded(value);
  HttpRequest request{.url = std::move(url),
                      .headers = headers_,
                      .body = with_body ? statement.body : std::string_view(statement.sql),
                      .timeout = statement.timeout,
                      .tls = tls_,
                      .most_answer_bytes = statement.most_answer_bytes,
                      .is_cancelled = statement.is_cancelled};
  if (with_body && statement.encoding != ContentEncoding::kNone)
    request.headers.push_back("content-encoding: " + std::string(NameOf(statement.encoding)));
  if (!address_.user.empty()) request.headers.push_back("x-clickhouse-user: " + address_.user);
  auto answer = http_.Do(request);
  if (!answer)
    return {.body = {},
            .failure = {.message = answer.error().message,
                        .tls = answer.error().code == ErrorCode::kPermissionDenied}};
  const int code = ClickHouseCodeOf(*answer);
  if (answer->status == 200 && code == 0) return {.body = std::move(answer->body), .failure = {}};
  std::string message = ValidUtf8(std::string_view(answer->body).substr(0, kMaxMessageBytes));
  while (!message.empty() && message.back() == '\n') message.pop_back();
  if (message.empty()) message = "http status " + std::to_string(answer->status);
  return {.body = {},
          .failure = {.status = answer->status, .code = code, .message = std::move(message)}};
}

int ClickHouseCodeOf(const HttpAnswer& answer) {
  constexpr std::string_view kCode = "Code: ";
  std::string_view text;
  if (const auto header = answer.headers.find("x-clickhouse-exception-code");
      header != answer.headers.end())
    text = header->second;
  else if (answer.status != 200 && answer.body.starts_with(kCode))
    text = std::string_view(answer.body).substr(kCode.size());
  int code = 0;
  std::from_chars(text.data(), text.data() + text.size(), code);
  return code;
}

}  // namespace profd
