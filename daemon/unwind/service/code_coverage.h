// CodeCoverage: how much code of a file without unwind information has rules made from it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "daemon/base/named_count.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// Of the parts of a file whose tables programs have requested.
struct CodeCoverage {
  std::string build_id;  // lower-case hex
  std::uint64_t covered_bytes = 0;
  std::uint64_t bare_bytes = 0;     // without a rule
  std::vector<NamedCount> refused;  // functions that symbols list and that have no rules, by reason
};

// Any thread. Owner: TableService. Keeps at most kMaxFiles files, those that came first.
class CodeCoverages {
 public:
  static constexpr std::size_t kMaxFiles = 256;

  // Each part counts once. Parts without such code are no news.
  void Add(const std::string& build_id, std::uint64_t begin, const PartRows& part);
  [[nodiscard]] std::vector<CodeCoverage> All() const;

 private:
  struct File {
    std::unordered_set<std::uint64_t> parts;  // begins
    std::uint64_t covered_bytes = 0;
    std::uint64_t bare_bytes = 0;
    RefusedFunctions refused{};
  };
  mutable std::mutex mutex_;
  std::map<std::string, File> files_;  // by build id
};

}  // namespace profd::unwind
