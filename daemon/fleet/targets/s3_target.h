// S3Target: pprof files in a bucket of S3, or of a store that speaks its protocol.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/http/http_client.h"
#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// An object for each profile: PREFIX/HOST/HOST-20261128T051500Z-NUMBER.pb.gz, by PUT, with the
// bucket in the path, signed by version 4. A second try replaces the object of the first. Nothing
// is ever removed. The file with the keys is read again for each request. Thread: one.
class S3Target : public Target {
 public:
  S3Target(const ExportSettings& settings, std::string host)
      : settings_(settings), host_(std::move(host)) {}

  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;

 private:
  const ExportSettings settings_;
  const std::string host_;
  HttpClient client_;
};

// What an answer of S3 means. Keys, rights and buckets that are wrong may be put right: nothing is
// lost meanwhile.
[[nodiscard]] Verdict S3Verdict(long status, const std::string& body,
                                std::uint64_t retry_after_seconds);

}  // namespace profd::fleet
