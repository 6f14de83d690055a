// OtlpGrpcTarget: a receiver of OTLP profiles over gRPC.
#pragma once

#include <memory>
#include <string>

#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// One connection, made again by itself. Files of headers are read again for each request, that of
// the authorities (`tls_ca`) once.
class OtlpGrpcTarget : public Target {
 public:
  explicit OtlpGrpcTarget(const ExportSettings& settings);
  ~OtlpGrpcTarget() override;

  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;

 private:
  struct Connection;
  [[nodiscard]] Result<void> Connect();

  const ExportSettings settings_;
  std::unique_ptr<Connection> connection_;  // null: none yet
};

// What a status of gRPC means for a request. `details` is that of the trailer
// grpc-status-details-bin.
[[nodiscard]] Verdict VerdictOf(int code, const std::string& message, const std::string& details);
// What the body of an answer means. A receiver may refuse a part of what it has taken.
[[nodiscard]] Verdict VerdictOfAnswer(const std::string& body);

}  // namespace profd::fleet
