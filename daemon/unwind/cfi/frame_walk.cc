#include "daemon/unwind/cfi/frame_walk.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "daemon/unwind/cfi/frame_rule.h"

namespace profd::unwind {
namespace {

struct Free {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};

}  // namespace

std::uint64_t WalkFde(Dwarf_CFI* cfi, std::uint64_t begin, std::uint64_t end, std::uint64_t bytes,
                      std::uint64_t& budget, const RuleVisitor& visit) {
  std::uint64_t vaddr = begin;
  while (vaddr < end && budget >= bytes) {
    budget -= bytes;
    Dwarf_Frame* raw = nullptr;
    if (::dwarf_cfi_addrframe(cfi, vaddr, &raw) != 0) break;
    const std::unique_ptr<Dwarf_Frame, Free> frame(raw);
    Dwarf_Addr row_begin = 0;
    Dwarf_Addr row_end = 0;
    (void)::dwarf_frame_info(frame.get(), &row_begin, &row_end, nullptr);
    if (row_begin > vaddr || row_end <= vaddr) break;
    const std::uint64_t next = std::min<std::uint64_t>(row_end, end);
    visit(vaddr, next, RuleOf(frame.get()));
    vaddr = next;
  }
  return vaddr;
}

}  // namespace profd::unwind
