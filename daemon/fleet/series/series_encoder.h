// SeriesEncoder: an export profile as pprof profiles, one or more for each set of labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/targets/pprof_encoder.h"

namespace profd::fleet {

struct SeriesProfile {
  Labels labels;
  std::string pprof;  // bytes, with gzip where the export wishes that
  std::string id;     // a UUID, which is a hash of the content
};

struct SeriesShape {
  PprofShape pprof = {};
  std::function<Labels(const Labels&)> labels = {};  // of a series, from those of its processes
  std::size_t most_samples = SIZE_MAX;               // of one profile
  std::size_t most_bytes = SIZE_MAX;                 // of one request, without gzip
  Compression compression = Compression::kGzip;
};

struct SeriesRequests {
  std::vector<std::vector<SeriesProfile>> requests;
  std::uint64_t too_large_ns = 0;  // of rows that would make even a request of their own too large
};

// Processes whose series have the same labels are one series; where samples have no label of the
// thread, neither have they one row for each. Whatever is split or summed, sums are those of
// `profile`. Losses and gaps are in comments of the first profile alone.
[[nodiscard]] SeriesRequests EncodeSeries(const ExportProfile& profile, const SeriesShape& shape);

// Two requests that say what this one does, the same each time: half of its profiles, or half of
// the samples of its one profile. Empty: there is one sample, or bytes are damaged.
[[nodiscard]] std::vector<std::vector<SeriesProfile>> SplitSeries(
    std::vector<SeriesProfile> request);

}  // namespace profd::fleet
