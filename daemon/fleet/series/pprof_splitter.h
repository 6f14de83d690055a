// PprofSplitter: a profile.proto as two smaller ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/base/pprof/pprof.pb.h"

namespace profd::fleet {

// Reads bytes, with gzip or without. Nothing: they are damaged, or much larger than what is written
// here.
[[nodiscard]] std::optional<pprof::Profile> ReadPprof(const std::string& bytes);

// Each half of the samples with what these need of the rest. Comments but the first, which names
// the host, are in the first half. Empty: it has one sample, or refers to what it has not.
[[nodiscard]] std::vector<pprof::Profile> SplitPprof(const pprof::Profile& whole);

}  // namespace profd::fleet
