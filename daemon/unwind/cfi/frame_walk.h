// WalkFde: the rules of one FDE, row by row.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>

#include "bpf/shared/unwind_table.h"

namespace profd::unwind {

// Bytes of instructions that libdw may execute for one request; a compiler's densest 64 KiB take
// 1 % of it. It begins each FDE again for every row.
inline constexpr std::uint64_t kMaxExecutedBytes = 64u << 20;

using RuleVisitor =
    std::function<void(std::uint64_t begin, std::uint64_t end, const profd_unwind_rule& rule)>;

// Hands over the rules of the code [begin, end), which has one FDE, in order. Each row takes
// `bytes`, those of the FDE's instructions, from `budget`. Returns how far it came: libdw may have
// nothing to say of the rest, or the budget is used up. The FDE must have passed CfiCheck.
[[nodiscard]] std::uint64_t WalkFde(Dwarf_CFI* cfi, std::uint64_t begin, std::uint64_t end,
                                    std::uint64_t bytes, std::uint64_t& budget,
                                    const RuleVisitor& visit);

}  // namespace profd::unwind
