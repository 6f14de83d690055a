// The vdso: an ELF object that the kernel maps into every process; read from profd's own memory.
#pragma once

#include <string_view>

#include "daemon/base/result.h"
#include "daemon/elf/object.h"

namespace profd::elf {

inline constexpr std::string_view kVdsoPath = "[vdso]";

// The same for every 64-bit process of a running kernel. kNotFound when booted with vdso=0.
[[nodiscard]] Result<ObjectRef> ReadOwnVdso();

}  // namespace profd::elf
