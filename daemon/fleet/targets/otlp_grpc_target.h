// OtlpGrpcTarget: a receiver of OTLP profiles over gRPC.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/targets/grpc_channel.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// One connection, as in GrpcChannel.
class OtlpGrpcTarget : public Target {
 public:
  explicit OtlpGrpcTarget(const ExportSettings& settings);

  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;
  [[nodiscard]] std::vector<std::string> Split(const std::string& payload) override;

 private:
  const ExportSettings settings_;
  GrpcChannel channel_;
};

// What a status of gRPC means for a request. `details` is that of the trailer
// grpc-status-details-bin.
[[nodiscard]] Verdict VerdictOf(int code, const std::string& message, const std::string& details);
// What the body of an answer means. A receiver may refuse a part of what it has taken.
[[nodiscard]] Verdict VerdictOfAnswer(const std::string& body);
// Whether a receiver complains of the size of a request, in the words of the libraries of gRPC, of
// the Collector and of Pyroscope.
[[nodiscard]] bool SaysTooLarge(std::string_view message);

}  // namespace profd::fleet
