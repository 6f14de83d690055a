#include "daemon/unwind/service/code_coverage.h"

#include <utility>

#include "daemon/unwind/code/function_rows.h"

namespace profd::unwind {

void CodeCoverages::Sums::Add(const Sums& other) {
  covered_bytes += other.covered_bytes;
  bare_bytes += other.bare_bytes;
  for (std::size_t i = 0; i < refused.size(); ++i) refused.at(i) += other.refused.at(i);
}

CodeCoverages::Sums CodeCoverages::SumsOf(const PartRows& part) {
  return {part.code_bytes, part.bare_bytes, part.refused};
}

void CodeCoverages::Add(const std::string& build_id, std::uint64_t begin, const PartRows& part) {
  if (build_id.empty() || part.code_bytes + part.bare_bytes == 0) return;
  const std::scoped_lock lock(mutex_);
  if (files_.size() == kMaxFiles && !files_.contains(build_id)) return;
  File& file = files_[build_id];
  if (file.parts.insert(begin).second) file.sums.Add(SumsOf(part));
}

void CodeCoverages::AddMemory(std::uint32_t pid, std::uint64_t address, const PartRows& part) {
  if (part.code_bytes + part.bare_bytes == 0) return ForgetMemory(pid, address);
  const std::scoped_lock lock(mutex_);
  Parts* parts = processes_.Find(pid);
  if (parts == nullptr) parts = &processes_.Put(pid, Parts());
  if (parts->size() < kMaxParts || parts->contains(address)) (*parts)[address] = SumsOf(part);
}

void CodeCoverages::ForgetMemory(std::uint32_t pid, std::uint64_t address) {
  const std::scoped_lock lock(mutex_);
  Parts* parts = processes_.Find(pid);
  if (parts == nullptr) return;
  parts->erase(address);
  if (parts->empty()) processes_.Erase(pid);
}

CodeCoverage CodeCoverages::Describe(const Sums& sums) {
  CodeCoverage coverage;
  coverage.covered_bytes = sums.covered_bytes;
  coverage.bare_bytes = sums.bare_bytes;
  for (std::size_t i = 0; i < sums.refused.size(); ++i)
    if (sums.refused.at(i) > 0)
      coverage.refused.push_back(
          {"", std::string(ReasonOf(static_cast<FunctionRows::Outcome>(i))), sums.refused.at(i)});
  return coverage;
}

std::vector<CodeCoverage> CodeCoverages::All() const {
  const std::scoped_lock lock(mutex_);
  std::vector<CodeCoverage> all;
  all.reserve(files_.size() + processes_.size());
  for (const auto& [build_id, file] : files_) {
    all.push_back(Describe(file.sums));
    all.back().build_id = build_id;
  }
  processes_.ForEach([&](std::uint32_t pid, const Parts& parts) {
    Sums sums;
    for (const auto& [address, part] : parts) sums.Add(part);
    all.push_back(Describe(sums));
    all.back().pid = pid;
  });
  return all;
}

}  // namespace profd::unwind
