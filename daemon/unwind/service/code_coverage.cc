#include "daemon/unwind/service/code_coverage.h"

#include "daemon/unwind/code/function_rows.h"

namespace profd::unwind {

void CodeCoverages::Add(const std::string& build_id, std::uint64_t begin, const PartRows& part) {
  if (build_id.empty() || part.code_bytes + part.bare_bytes == 0) return;
  const std::scoped_lock lock(mutex_);
  if (files_.size() == kMaxFiles && !files_.contains(build_id)) return;
  File& file = files_[build_id];
  if (!file.parts.insert(begin).second) return;
  file.covered_bytes += part.code_bytes;
  file.bare_bytes += part.bare_bytes;
  for (std::size_t i = 0; i < file.refused.size(); ++i) file.refused[i] += part.refused[i];
}

std::vector<CodeCoverage> CodeCoverages::All() const {
  const std::scoped_lock lock(mutex_);
  std::vector<CodeCoverage> all;
  for (const auto& [build_id, file] : files_) {
    CodeCoverage& one = all.emplace_back();
    one.build_id = build_id;
    one.covered_bytes = file.covered_bytes;
    one.bare_bytes = file.bare_bytes;
    for (std::size_t i = 0; i < file.refused.size(); ++i)
      if (file.refused[i] > 0)
        one.refused.push_back(
            {"", std::string(ReasonOf(static_cast<FunctionRows::Outcome>(i))), file.refused[i]});
  }
  return all;
}

}  // namespace profd::unwind
