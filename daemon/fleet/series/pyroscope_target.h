// PyroscopeTarget: Pyroscope's push.v1.PusherService, over HTTP or gRPC.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/http/http_client.h"
#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/series/series_labels.h"
#include "daemon/fleet/targets/grpc_channel.h"
#include "daemon/fleet/targets/target.h"

namespace profd::fleet {

// Profile types process_cpu:wall, process_cpu:cpu and process_cpu:off_cpu of a service. Pyroscope
// sums a type, and makes a series of each set of labels, also of samples. So samples have no label,
// series have few (see SeriesChoice), and the state is the outermost function: "[running]",
// "[blocked:lock]". Each profile has an ID that is the same for each try. Thread: one.
class PyroscopeTarget : public Target {
 public:
  explicit PyroscopeTarget(const ExportSettings& settings);

  [[nodiscard]] Result<EncodedProfile> Encode(const ExportProfile& profile) override;
  [[nodiscard]] Verdict Send(const SpoolEntry& entry, std::uint64_t number) override;
  [[nodiscard]] std::vector<std::string> Split(const std::string& payload) override;

 private:
  const ExportSettings settings_;
  const SeriesChoice choice_;
  GrpcChannel channel_;
  HttpClient client_;
};

// What an answer of Pyroscope means. Rate limits are transient, by whichever status.
[[nodiscard]] Verdict PyroscopeVerdictOfHttp(long status, const std::string& body,
                                             std::uint64_t retry_after_seconds);
[[nodiscard]] Verdict PyroscopeVerdictOfGrpc(int code, const std::string& message,
                                             const std::string& details);

}  // namespace profd::fleet
