// CodeKernels: functions in assembly without unwind information, in the styles that real kernels
// are written in.
#pragma once

#include <cstdint>
#include <span>

namespace profd::test {

// Calls `callback` with `argument`, which is not null, and returns when that does.
using Kernel = void (*)(void (*callback)(void*), void* argument);

struct CodeKernel {
  const char* name;
  Kernel run;
};

[[nodiscard]] std::span<const CodeKernel> CodeKernels();
// Never returns: its frame is aligned, and no register that it uses says where.
void SpinInKernel();
// Between these two addresses lie all of them and nothing else.
[[nodiscard]] std::uint64_t CodeKernelsBegin();
[[nodiscard]] std::uint64_t CodeKernelsEnd();

}  // namespace profd::test
