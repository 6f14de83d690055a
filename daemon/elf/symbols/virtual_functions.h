// VirtualFunctions: names for functions without a symbol, by the types that C++ keeps at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/symbols/function_extents.h"

namespace profd::elf {

struct VirtualFunction {
  std::uint64_t begin = 0;
  std::uint32_t name = 0;  // where it begins in the names: VirtualName
};

// A stripped library keeps the names of its polymorphic types and their vtables. A function that is
// in one of them is called by the class and its place there. In several:
// - If one of the classes is a base of all others, and it is at the same place in each, they
// inherit
//   it from that one.
// - If all have it at the same place of the vtable that they share with a common base, the one that
//   has added this place has the name: the linker has folded functions that are equal.
// - Else it has no name of this kind.
// The result ascends by begin; its names are added to `names`, which grows to limits.string_bytes
// at most. None for files that are not 64-bit x86, that have no sections, or too much data. After
// ReadSections.
[[nodiscard]] std::vector<VirtualFunction> FindVirtualFunctions(
    const ElfFile& file, std::span<const FunctionExtent> functions, std::string& names);

// "_ZTS4Base::(virtual 2)": the type's mangled name, then the place. In the vtable of a further
// base, which lies 16 bytes into the class: "_ZTS4Base::(virtual 2 at +16)".
// In its own vtable also the bases that this begins with, the first one first, each behind
// kVirtualBase: "_ZTS4Heir::(virtual 2) of _ZTS9Interface of _ZTS4Base". The function is at this
// place of each of them that has it.
inline constexpr std::string_view kVirtualPlace = "::(virtual ";
inline constexpr std::string_view kVirtualBase = " of ";

}  // namespace profd::elf
