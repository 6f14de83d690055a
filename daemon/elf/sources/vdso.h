// The vdso: an ELF object that the kernel maps into every process; read from profd's own memory.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/elf/file/object.h"

namespace profd::elf {

inline constexpr std::string_view kVdsoPath = "[vdso]";

// Where it lies in profd's own memory, for as long as profd runs. kNotFound as below.
[[nodiscard]] Result<std::span<const std::byte>> OwnVdsoBytes();

// The same for every 64-bit process of a running kernel. kNotFound when booted with vdso=0.
[[nodiscard]] Result<ObjectRef> ReadOwnVdso();

}  // namespace profd::elf
