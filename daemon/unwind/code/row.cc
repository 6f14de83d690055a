#include "daemon/unwind/code/row.h"

#include <cstring>

namespace profd::unwind {

bool Same(const profd_unwind_rule& a, const profd_unwind_rule& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

void Append(std::uint64_t offset, const profd_unwind_rule& rule, std::vector<Row>& rows) {
  if (!rows.empty() && rows.back().offset == offset) rows.pop_back();
  if (rows.empty() || !Same(rows.back().rule, rule)) rows.push_back({offset, rule});
}

}  // namespace profd::unwind
