#include "daemon/fleet/targets/otlp_http_target.h"

#include <curl/curl.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

#include "daemon/base/utf8.h"
#include "daemon/fleet/targets/otlp_encoder.h"
#include "daemon/fleet/targets/otlp_grpc_target.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxAnswerBytes = 1u << 20;
constexpr std::size_t kMaxMessageBytes = 300;
constexpr std::uint64_t kMostRetrySeconds = 3'600;

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// Called by libcurl. More than an answer can have ends the transfer.
std::size_t Append(const char* bytes, std::size_t size, std::size_t count, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size * count > kMaxAnswerBytes) return 0;
  body.append(bytes, size * count);
  return size * count;
}

std::string Zipped(const std::string& bytes) {
  std::string zipped;
  google::protobuf::io::StringOutputStream to(&zipped);
  google::protobuf::io::GzipOutputStream gzip(&to);
  std::string_view rest = bytes;
  void* room = nullptr;
  int size = 0;
  while (!rest.empty() && gzip.Next(&room, &size)) {
    const std::size_t part = std::min(rest.size(), static_cast<std::size_t>(size));
    std::copy_n(rest.data(), part, static_cast<char*>(room));
    rest.remove_prefix(part);
    gzip.BackUp(size - static_cast<int>(part));
  }
  gzip.Close();
  return zipped;
}

Verdict Later(std::string message) {
  return {.kind = Verdict::Kind::kLater, .message = std::move(message)};
}

}  // namespace

struct OtlpHttpTarget::Connection {
  std::unique_ptr<CURL, FreeHandle> handle{curl_easy_init()};
};

void OtlpHttpTarget::PrepareProcess() { curl_global_init(CURL_GLOBAL_DEFAULT); }

OtlpHttpTarget::OtlpHttpTarget(const ExportSettings& settings)
    : settings_(settings), connection_(std::make_unique<Connection>()) {}
OtlpHttpTarget::~OtlpHttpTarget() = default;

Result<EncodedProfile> OtlpHttpTarget::Encode(const ExportProfile& profile) {
  OtlpParts parts = EncodeOtlp(profile, settings_.request_bytes);
  return EncodedProfile{std::move(parts.requests), parts.too_large_ns};
}

Verdict OtlpHttpTarget::Send(const SpoolEntry& entry, std::uint64_t /*number*/) {
  CURL* const handle = connection_->handle.get();
  if (handle == nullptr) return Later("no HTTP connection can be made");
  const auto headers = ReadHeaders(settings_.headers_from);
  if (!headers) return Later(headers.error().message);
  std::unique_ptr<curl_slist, FreeList> list;
  const auto add = [&list](const std::string& line) {
    list.reset(curl_slist_append(list.release(), line.c_str()));
  };
  add("content-type: application/x-protobuf");
  add("user-agent: profd/" PROFD_VERSION);
  add("expect:");
  const bool gzip = settings_.compression == Compression::kGzip;
  if (gzip) add("content-encoding: gzip");
  for (const Header& header : *headers) add(header.name + ": " + header.value);
  const std::string body = gzip ? Zipped(entry.payload) : entry.payload;
  std::string answer;
  curl_easy_reset(handle);  // the connection stays
  curl_easy_setopt(handle, CURLOPT_URL, settings_.address.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, list.get());
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Append);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(
      handle, CURLOPT_TIMEOUT_MS,
      static_cast<long>(
          std::chrono::duration_cast<std::chrono::milliseconds>(settings_.timeout).count()));
  if (!settings_.tls_ca.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, settings_.tls_ca.c_str());
  if (const CURLcode code = curl_easy_perform(handle); code != CURLE_OK)
    return Later(std::string("http: ") + curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  curl_off_t retry_after = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &retry_after);
  return VerdictOfHttp(status, answer,
                       static_cast<std::uint64_t>(std::max<curl_off_t>(0, retry_after)));
}

Verdict VerdictOfHttp(long status, const std::string& body, std::uint64_t retry_after_seconds) {
  if (status >= 200 && status < 300) return VerdictOfAnswer(body);
  const std::string number = std::to_string(status);
  Verdict verdict{.kind = Verdict::Kind::kRefused,
                  .cause = "refused_http_" + number,
                  .message = "http " + number + ": " +
                             ValidUtf8(std::string_view(body).substr(0, kMaxMessageBytes))};
  if (status != 429 && status != 502 && status != 503 && status != 504) return verdict;
  verdict.kind = Verdict::Kind::kLater;
  verdict.cause.clear();
  verdict.retry_after_ns = std::min(retry_after_seconds, kMostRetrySeconds) * 1'000'000'000;
  return verdict;
}

}  // namespace profd::fleet
