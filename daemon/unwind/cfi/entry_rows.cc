#include "daemon/unwind/cfi/entry_rows.h"

#include <algorithm>

namespace profd::unwind {
namespace {

// Entry code is short; what follows it without rules may be anything.
constexpr std::uint64_t kEntryBytes = 256;

profd_unwind_rule EndRule() {
  profd_unwind_rule rule{};
  rule.cfa = PROFD_CFA_END;
  return rule;
}

}  // namespace

void EndAtEntry(std::uint64_t entry, std::uint64_t end, std::vector<Row>& rows) {
  std::vector<Row> with;
  with.reserve(rows.size() + 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t next = i + 1 < rows.size() ? rows[i + 1].offset : end;
    const std::uint64_t from = std::max(rows[i].offset, entry);
    const std::uint64_t to = std::min(next, entry + kEntryBytes);
    if (rows[i].rule.cfa != PROFD_CFA_NONE || from >= to) {
      with.push_back(rows[i]);
      continue;
    }
    if (rows[i].offset < from) with.push_back(rows[i]);
    with.push_back({from, EndRule()});
    if (to < next) with.push_back({to, rows[i].rule});
  }
  rows = std::move(with);
}

}  // namespace profd::unwind
