// ParcaTarget: Parca's ProfileStoreService, over gRPC.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/targets/grpc_channel.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// WriteRaw with profile types profd:wall, profd:cpu, profd:off_cpu and profd:samples. Series have
// the labels of processes; thread, state and wait are labels of samples, by which Parca selects and
// groups. Thread: one.
class ParcaTarget : public Target {
 public:
  explicit ParcaTarget(const ExportSettings& settings);

  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;
  [[nodiscard]] std::vector<std::string> Split(const std::string& payload) override;

 private:
  const ExportSettings settings_;
  GrpcChannel channel_;
};

}  // namespace profd::fleet
