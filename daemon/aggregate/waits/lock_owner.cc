#include "daemon/aggregate/waits/lock_owner.h"

#include <asm/unistd_64.h>
#include <linux/futex.h>

#include <algorithm>

namespace profd::aggregate {

std::uint32_t OwnerWord(const process::Sample& sample) {
  constexpr std::uint64_t kFlags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
  constexpr std::uint64_t kLockPi2 = 13;  // the headers of the oldest build machine lack it
  if (!sample.snapshot || sample.syscall != __NR_futex) return 0;
  switch (sample.syscall_args[1] & ~kFlags) {
    case FUTEX_LOCK_PI:
    case kLockPi2:
      return sample.futex_word & FUTEX_TID_MASK;
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      return sample.futex_owner;
    default:
      return 0;
  }
}

bool IsMutexFunction(std::string_view name) {
  if (name == "futex_lock_pi") return true;
  // "___pthread_mutex_lock", "__pthread_mutex_lock_full", "pthread_mutex_timedlock@GLIBC_2.34"
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return name.starts_with("pthread_mutex_lock") || name.starts_with("pthread_mutex_timedlock") ||
         name.starts_with("pthread_mutex_clocklock") || name.starts_with("pthread_mutex_cond_lock");
}

}  // namespace profd::aggregate
