// What a thread asked of the kernel that it waits for.
#pragma once

#include <cstdint>
#include <string>

#include "profd/v1/dump.pb.h"

namespace profd::client {

// "futex 0x7f12a0", "ioctl fd 7", "wait4 pid 12", "syscall 449"; "" for a thread in none. Numbers
// are those of x86-64.
[[nodiscard]] std::string SyscallText(const v1::DumpThread& thread);
// "futex"; "" for one that has no name here.
[[nodiscard]] std::string SyscallName(std::uint32_t number);

}  // namespace profd::client
