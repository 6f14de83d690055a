#include "daemon/fleet/targets/s3_target.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/utf8.h"
#include "daemon/fleet/targets/files_target.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxMessageBytes = 300;

struct Keys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // "": none
};

Result<Keys> ReadKeys(const std::string& file) {
  const auto lines = ReadHeaders({file}, "credentials_from");
  if (!lines) return lines.error();
  Keys keys;
  for (const Header& line : *lines) {
    if (line.name == "access_key") keys.access_key = line.value;
    if (line.name == "secret_key") keys.secret_key = line.value;
    if (line.name == "session_token") keys.session_token = line.value;
  }
  if (keys.access_key.empty() || keys.secret_key.empty())
    return Error{ErrorCode::kInvalidArgument,
                 file + " lacks a key; write lines 'access_key: ...' and 'secret_key: ...'", ""};
  return keys;
}

// Of an element without attributes; "": there is none.
std::string ElementOf(std::string_view xml, const std::string& name) {
  const std::string open = "<" + name + ">";
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  xml.remove_prefix(begin + open.size());
  const std::size_t end = xml.find("</" + name + ">");
  return end == std::string_view::npos ? std::string()
                                       : ValidUtf8(xml.substr(0, std::min(end, kMaxMessageBytes)));
}

}  // namespace

Result<EncodedProfile> S3Target::Encode(const ExportProfile& profile) {
  return EncodePprofFile(profile, settings_.compression);
}

Verdict S3Target::Send(const SpoolEntry& entry, std::uint64_t number) {
  const auto keys = ReadKeys(settings_.credentials_from);
  if (!keys) return Later(keys.error().message);
  const auto headers = ReadHeaders(settings_.headers_from);
  if (!headers) return Later(headers.error().message);
  HttpRequest request{
      .method = HttpMethod::kPut,
      .url = settings_.address + "/" + UrlEncoded(FileNamePart(host_)) + "/" +
             UrlEncoded(ProfileFileName(host_, entry.from_unix_ns, number, settings_.compression)),
      .headers = {"content-type: application/octet-stream"},
      .body = entry.payload,
      .user = keys->access_key,
      .password = keys->secret_key,
      .aws_region = settings_.region,
      .timeout = settings_.timeout,
      .tls = settings_.tls_files};
  if (!keys->session_token.empty())
    request.headers.push_back("x-amz-security-token: " + keys->session_token);
  for (const Header& header : *headers)
    request.headers.push_back(header.name + ": " + header.value);
  const auto answer = client_.Do(request);
  if (!answer) return Later(answer.error().message);
  return S3Verdict(answer->status, answer->body, answer->retry_after_seconds);
}

Verdict S3Verdict(long status, const std::string& body, std::uint64_t retry_after_seconds) {
  if (status >= 200 && status < 300) return {};
  const std::string number = std::to_string(status);
  const std::string code = ElementOf(body, "Code");
  Verdict verdict{.kind = Verdict::Kind::kLater, .message = "http " + number};
  if (!code.empty()) verdict.message += " " + code + ": " + ElementOf(body, "Message");
  if (status == 403) verdict.message += "; the keys are in the file of credentials_from";
  if (status == 301 || status == 307 || code == "AuthorizationHeaderMalformed")
    verdict.message += "; the bucket may be in another region";
  verdict.retry_after_ns = std::min(retry_after_seconds, kMostRetrySeconds) * 1'000'000'000;
  const bool about_object = status == 405 || status == 411 || status == 413 || status == 501 ||
                            code == "EntityTooLarge" || code == "KeyTooLongError" ||
                            code == "InvalidRequest" || code == "InvalidArgument";
  if (!about_object) return verdict;
  verdict.kind = Verdict::Kind::kRefused;
  verdict.cause = "refused_http_" + number;
  return verdict;
}

}  // namespace profd::fleet
