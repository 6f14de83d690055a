// CodeCoverage: how much code without unwind information has rules made from it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/base/named_count.h"
#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// Of the parts of a file, or of memory, whose tables programs have requested.
struct CodeCoverage {
  std::string build_id;   // lower-case hex; "" for memory
  std::uint32_t pid = 0;  // of the process that has made code in its memory; 0 for a file
  std::uint64_t covered_bytes = 0;
  std::uint64_t bare_bytes = 0;     // without a rule
  std::vector<NamedCount> refused;  // functions without rules, or not everywhere, by reason
};

// Any thread. Owner: TableService. Keeps at most kMaxFiles files, those that came first, and so
// many processes, those that were seen last.
class CodeCoverages {
 public:
  static constexpr std::size_t kMaxFiles = 256;
  static constexpr std::size_t kMaxParts = 4'096;  // of one process

  // Each part counts once. Parts without such code are no news.
  void Add(const std::string& build_id, std::uint64_t begin, const PartRows& part);
  // Of code that a process has made, from `address` on. Takes the place of what was there.
  void AddMemory(std::uint32_t pid, std::uint64_t address, const PartRows& part);
  void ForgetMemory(std::uint32_t pid, std::uint64_t address);
  [[nodiscard]] std::vector<CodeCoverage> All() const;

 private:
  struct Sums {
    std::uint64_t covered_bytes = 0;
    std::uint64_t bare_bytes = 0;
    RefusedFunctions refused{};
    void Add(const Sums& other);
  };
  struct File {
    std::unordered_set<std::uint64_t> parts;  // begins
    Sums sums;
  };
  using Parts = std::map<std::uint64_t, Sums>;  // by address
  [[nodiscard]] static Sums SumsOf(const PartRows& part);
  [[nodiscard]] static CodeCoverage Describe(const Sums& sums);

  mutable std::mutex mutex_;
  std::map<std::string, File> files_;  // by build id
  LruCache<std::uint32_t, Parts> processes_{kMaxFiles};
};

}  // namespace profd::unwind
