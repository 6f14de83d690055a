// LockOwner: who holds the mutex that a thread waits for, by the mutex itself.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/process/sample.h"

namespace profd::aggregate {

// The tid, as the thread's own pid namespace has it, in the owner word of the futex that the
// snapshot of a waiting thread has read; 0: none. A priority-inheriting futex holds it itself
// (FUTEX_TID_MASK of linux/futex.h). Of other futexes it is only an owner if the futex is that of a
// mutex of glibc (struct __pthread_mutex_s: __lock, __count, __owner): IsMutexFunction of a frame
// of the waiter says so.
[[nodiscard]] std::uint32_t OwnerWord(const process::Sample& sample);

// Whether a function locks a mutex of glibc, or is the kernel's part of a priority-inheriting one:
// then the owner can be believed. Not a condition variable, a semaphore or a lock inside of malloc.
[[nodiscard]] bool IsMutexFunction(std::string_view name);

}  // namespace profd::aggregate
