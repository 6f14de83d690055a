// RuleTable: the rules of one file while rows are made from it; each different one is kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "bpf/shared/unwind_table.h"

namespace profd::unwind {

// Rules are only appended, so indexes stay valid. Index 0 is the rule of unknown code. Used by one
// thread.
class RuleTable {
 public:
  static constexpr std::size_t kMaxRules = 65'536;

  // `published`: the rules that the file has already; may be empty.
  explicit RuleTable(std::span<const profd_unwind_rule> published);

  // 0, and counted, when the table is full.
  [[nodiscard]] std::uint16_t IndexOf(const profd_unwind_rule& rule);
  [[nodiscard]] const std::vector<profd_unwind_rule>& rules() const { return rules_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Hash {
    std::size_t operator()(const profd_unwind_rule& rule) const;
  };
  struct Equal {
    bool operator()(const profd_unwind_rule& a, const profd_unwind_rule& b) const;
  };

  std::vector<profd_unwind_rule> rules_;
  std::unordered_map<profd_unwind_rule, std::uint16_t, Hash, Equal> indexes_;
  std::uint64_t refused_ = 0;
};

}  // namespace profd::unwind
