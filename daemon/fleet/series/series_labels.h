// SeriesLabels: labels as receivers that keep series take them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/profile/relabelling.h"

namespace profd::fleet {

struct SeriesLimits {
  std::size_t labels = 0;       // of one series
  std::size_t value_bytes = 0;  // of one value
};

// "service_name" of "service.name": letters, digits and underscores, no digit first, and no two
// underscores first, which are the receiver's own.
[[nodiscard]] std::string SeriesLabelName(std::string_view name);

// With names as above. Where two labels get one name, the second in their order gets underscores at
// its end. Values are cut between characters. Labels beyond the limit are left out, the last ones
// first, and those of services last.
[[nodiscard]] Labels MakeSeriesLabels(const Labels& labels, const SeriesLimits& limits);

// Job: which labels make a series of their own, where a receiver has room for few series. These are
// of a service, not of a host, process or container: service.name, service.namespace,
// service.version, deployment.environment.name, deployment.environment, k8s.namespace.name and
// k8s.container.name; and those that a rule sets by name (target_label). After a labelkeep rule,
// all that are left. Thread: any. Owner: a target.
class SeriesChoice {
 public:
  explicit SeriesChoice(const std::vector<RelabelRule>& rules);

  [[nodiscard]] Labels Of(const Labels& labels) const;

 private:
  bool all_ = false;
  std::vector<std::string> names_;
};

}  // namespace profd::fleet
