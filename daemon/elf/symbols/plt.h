// Stubs of the procedure linkage table: which function each one jumps to. x86-64.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace profd::elf {

// Where a stub takes its target from.
struct PltJump {
  bool by_index = false;    // the number of its relocation in .rela.plt ...
  std::uint64_t place = 0;  // ... or the address of its entry in the global offset table
  friend bool operator==(const PltJump&, const PltJump&) = default;
};

// `code` is one stub that lies at `vaddr`: lazy and immediate, with and without `endbr64`, `bnd`.
// Nothing for what is no stub, such as the first one, which calls the dynamic linker.
[[nodiscard]] std::optional<PltJump> DecodePltStub(std::string_view code, std::uint64_t vaddr);

}  // namespace profd::elf
