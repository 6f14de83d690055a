#include "daemon/fleet/series/parca_target.h"

#include <array>
#include <utility>

#include "daemon/fleet/series/push.pb.h"
#include "daemon/fleet/series/series_encoder.h"
#include "daemon/fleet/series/series_labels.h"
#include "daemon/fleet/targets/otlp_grpc_target.h"

namespace profd::fleet {
namespace {

constexpr const char* kMethod = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw";
// Of ours: Parca has none.
constexpr SeriesLimits kLimits{.labels = 60, .value_bytes = 4096};
// Names of labels of samples, which series must not have, too.
constexpr std::array<const char*, 3> kOfSamples{"thread", "state", "wait"};

std::string Packed(const std::vector<SeriesProfile>& profiles) {
  push::ParcaRequest request;
  for (const SeriesProfile& profile : profiles) {
    push::ParcaSeries& series = *request.add_series();
    for (const auto& [name, value] : profile.labels) {
      push::Label& label = *series.mutable_labels()->add_labels();
      label.set_name(name);
      label.set_value(value);
    }
    series.add_samples()->set_raw_profile(profile.pprof);
  }
  return request.SerializeAsString();
}

std::vector<SeriesProfile> Unpacked(const std::string& payload) {
  push::ParcaRequest request;
  std::vector<SeriesProfile> profiles;
  if (!request.ParseFromString(payload)) return profiles;
  for (const auto& series : request.series()) {
    Labels labels;
    for (const auto& label : series.labels().labels()) labels[label.name()] = label.value();
    for (const auto& sample : series.samples())
      profiles.push_back({labels, sample.raw_profile(), ""});
  }
  return profiles;
}

}  // namespace

ParcaTarget::ParcaTarget(const ExportSettings& settings)
    : settings_(settings), channel_(WithoutCompression(settings), kMethod) {}

Result<EncodedProfile> ParcaTarget::Encode(const ExportProfile& profile) {
  const SeriesShape shape{.pprof = {.process_labels = false},
                          .labels =
                              [](const Labels& labels) {
                                Labels made = MakeSeriesLabels(labels, kLimits);
                                for (const char* name : kOfSamples)
                                  if (auto taken = made.extract(name); !taken.empty())
                                    made.emplace("label_" + taken.key(), taken.mapped());
                                made.emplace("__name__", "profd");
                                return made;
                              },
                          .most_bytes = settings_.request_bytes,
                          .compression = settings_.compression};
  const SeriesRequests made = EncodeSeries(profile, shape);
  EncodedProfile encoded{.too_large_ns = made.too_large_ns};
  for (const auto& request : made.requests) encoded.payloads.push_back(Packed(request));
  return encoded;
}

Verdict ParcaTarget::Send(const SpoolEntry& entry, std::uint64_t /*number*/) {
  const auto answer = channel_.Call(entry.payload);
  if (!answer) return {.kind = Verdict::Kind::kLater, .message = answer.error().message};
  if (answer->code == 0) return {};
  return VerdictOf(answer->code, answer->message, answer->details);
}

std::vector<std::string> ParcaTarget::Split(const std::string& payload) {
  std::vector<std::string> requests;
  for (const auto& half : SplitSeries(Unpacked(payload))) requests.push_back(Packed(half));
  return requests;
}

}  // namespace profd::fleet
