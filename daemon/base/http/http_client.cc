#include "daemon/base/http/http_client.h"

#include <curl/curl.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/base/utf8.h"

#include "daemon/base/files.h"

namespace profd {
namespace {

constexpr std::size_t kMostHeaders = 100;
constexpr std::size_t kMostHeaderBytes = 4096;
constexpr std::array kTlsErrors = {CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM,
                                   CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE};
constexpr std::array kBrokenErrors = {CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING};

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Receiving {
  HttpAnswer answer;
  std::size_t most_bytes = 0;
  bool too_long = false;
};

// The three below are called by libcurl.
std::size_t TakeBody(const char* bytes, std::size_t size, std::size_t count, void* to) {
  auto& receiving = *static_cast<Receiving*>(to);
  receiving.too_long = receiving.answer.body.size() + size * count > receiving.most_bytes;
  if (receiving.too_long) return 0;  // ends the transfer
  receiving.answer.body.append(bytes, size * count);
  return size * count;
}

std::size_t TakeHeader(const char* bytes, std::size_t size, std::size_t count, void* to) {
  auto& headers = static_cast<Receiving*>(to)->answer.headers;
  const std::string_view line(bytes, size * count);
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.size() > kMostHeaderBytes) return line.size();
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (headers.size() < kMostHeaders || headers.contains(name))
    headers[name] = Trimmed(line.substr(colon + 1), " \t\r\n");
  return line.size();
}

int AskWhetherCancelled(void* from, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(from))() ? 1 : 0;
}

// As 64 digits.
std::string Sha256(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  return HexBytes({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

// What went wrong, from libcurl's code and its text, which may be empty.
Error ErrorOf(CURL* handle, CURLcode code, bool tls, std::string_view text) {
  text = Trimmed(text, " \n");
  const auto failed = [](std::string_view why) {
    return Error{ErrorCode::kPermissionDenied, "tls: " + ValidUtf8(why), ""};
  };
  if (std::ranges::find(kTlsErrors, code) != kTlsErrors.end())
    return failed(text.empty() ? curl_easy_strerror(code) : text);
  if (tls && std::ranges::find(kBrokenErrors, code) != kBrokenErrors.end()) {
    if (text.find("SSL") != std::string_view::npos) return failed(text);
    // A server of TLS 1.3 judges our certificate after the handshake, and what it says of that is
    // often lost when it closes the connection.
    long connections = 0;
    curl_easy_getinfo(handle, CURLINFO_NUM_CONNECTS, &connections);
    if (connections > 0)
      return failed(
          "the server has closed a new connection: it may require a certificate, or refuse ours");
  }
  return Error{ErrorCode::kUnavailable, std::string("http: ") + curl_easy_strerror(code), ""};
}

long Milliseconds(std::chrono::nanoseconds time) {
  return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

}  // namespace

struct HttpClient::Connection {
  std::unique_ptr<CURL, FreeHandle> handle{curl_easy_init()};
};

void HttpClient::PrepareProcess() { curl_global_init(CURL_GLOBAL_DEFAULT); }

HttpClient::HttpClient() : connection_(std::make_unique<Connection>()) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpAnswer> HttpClient::Do(const HttpRequest& request) {
  CURL* const handle = connection_->handle.get();
  if (handle == nullptr)
    return Error{ErrorCode::kUnavailable, "no HTTP connection can be made", ""};
  std::unique_ptr<curl_slist, FreeList> list;
  const auto add = [&list](const char* line) {
    list.reset(curl_slist_append(list.release(), line));
  };
  const bool is_signed = !request.aws_region.empty();
  // A signature is of all headers here, also of one that is not sent.
  if (!is_signed) add("expect:");
  // libcurl does not send it before version 8, and stores refuse requests without it.
  if (is_signed) add(("x-amz-content-sha256: " + Sha256(request.body)).c_str());
  for (const std::string& header : request.headers) add(header.c_str());
  Receiving receiving{.answer = {}, .most_bytes = request.most_answer_bytes};
  curl_easy_reset(handle);  // the connection stays
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "profd/" PROFD_VERSION);
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  if (request.method != HttpMethod::kGet) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  if (request.method == HttpMethod::kPut) curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, "PUT");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, list.get());
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &TakeHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &receiving);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &receiving);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, Milliseconds(request.timeout));
  if (request.is_cancelled) {
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &AskWhetherCancelled);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &request.is_cancelled);
  }
  if (!request.user.empty()) {
    curl_easy_setopt(handle, CURLOPT_USERNAME, request.user.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, request.password.c_str());
  }
  const std::string signature = "aws:amz:" + request.aws_region + ":s3";
  if (is_signed) curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, signature.c_str());
  if (!request.tls.ca.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, request.tls.ca.c_str());
    // Else the authorities of the system would count, too.
    curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
  }
  if (!request.tls.certificate.empty()) {
    curl_easy_setopt(handle, CURLOPT_SSLCERT, request.tls.certificate.c_str());
    curl_easy_setopt(handle, CURLOPT_SSLKEY, request.tls.key.c_str());
  }
  std::array<char, CURL_ERROR_SIZE> text{};
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, text.data());
  const CURLcode code = curl_easy_perform(handle);
  // The handle outlives the buffer.
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
  if (code != CURLE_OK) {
    if (receiving.too_long)
      return Error{
          ErrorCode::kExhausted,
          "the answer is longer than " + std::to_string(request.most_answer_bytes >> 20) + " MiB",
          ""};
    return ErrorOf(handle, code, request.url.starts_with("https://"), text.data());
  }
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &receiving.answer.status);
  curl_off_t retry_after = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after);
  receiving.answer.retry_after_seconds =
      static_cast<std::uint64_t>(std::max<curl_off_t>(0, retry_after));
  return std::move(receiving.answer);
}

std::string UrlEncoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

}  // namespace profd
