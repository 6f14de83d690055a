// OtlpSplitter: a request of OTLP as two smaller ones.
#pragma once

#include <string>
#include <vector>

namespace profd::fleet {

// Each half of the samples with what it needs of the dictionary. Notes of profiles (losses, gaps)
// are in the first half, so that sums over requests stay right; each profile has an id of its own,
// the same in each run. Empty: it has one sample, or is no request of profd's.
[[nodiscard]] std::vector<std::string> SplitOtlp(const std::string& request);

}  // namespace profd::fleet
