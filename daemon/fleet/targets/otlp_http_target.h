// OtlpHttpTarget: a receiver of OTLP profiles over HTTP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/http/http_client.h"
#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// One connection, kept between requests. Follows no redirection. Files of headers are read again
// for each request.
class OtlpHttpTarget : public Target {
 public:
  explicit OtlpHttpTarget(const ExportSettings& settings);

  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;
  [[nodiscard]] std::vector<std::string> Split(const std::string& payload) override;

 private:
  const ExportSettings settings_;
  HttpClient client_;
};

// Sends one message to the address of the export, with gzip where it wishes that.
[[nodiscard]] Result<HttpAnswer> PostMessage(HttpClient& client, const ExportSettings& settings,
                                             const std::vector<Header>& headers,
                                             const std::string& content_type,
                                             const std::string& message);

// What a status of HTTP means for a request; `body` is that of the answer. 0 seconds: the receiver
// does not say when to try again.
[[nodiscard]] Verdict VerdictOfHttp(long status, const std::string& body,
                                    std::uint64_t retry_after_seconds);

}  // namespace profd::fleet
