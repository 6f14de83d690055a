#include "daemon/aggregate/waits/lock_owner.h"

#include <asm/unistd_64.h>
#include <gtest/gtest.h>
#include <linux/futex.h>

namespace profd::aggregate {
namespace {

process::Sample Waiter(std::uint64_t operation) {
  process::Sample sample;
  sample.snapshot = true;
  sample.syscall = __NR_futex;
  sample.syscall_args = {0x7f0000001000, operation, 2};
  sample.futex_word = 100 | FUTEX_WAITERS;
  sample.futex_owner = 200;
  return sample;
}

TEST(LockOwner, OfAMutexStandsBehindItsFutex) {
  EXPECT_EQ(OwnerWord(Waiter(FUTEX_WAIT_PRIVATE)), 200u);
  EXPECT_EQ(OwnerWord(Waiter(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME)), 200u);
}

TEST(LockOwner, OfAPriorityInheritingFutexIsTheFutexItself) {
  EXPECT_EQ(OwnerWord(Waiter(FUTEX_LOCK_PI_PRIVATE)), 100u);
  EXPECT_EQ(OwnerWord(Waiter(13 | FUTEX_PRIVATE_FLAG)), 100u);
}

TEST(LockOwner, OtherCallsHaveNone) {
  EXPECT_EQ(OwnerWord(Waiter(FUTEX_WAKE)), 0u);
  process::Sample sleeps = Waiter(FUTEX_WAIT);
  sleeps.syscall = __NR_nanosleep;
  EXPECT_EQ(OwnerWord(sleeps), 0u);
  process::Sample over = Waiter(FUTEX_WAIT);
  over.snapshot = false;
  EXPECT_EQ(OwnerWord(over), 0u);
}

TEST(LockOwner, OnlyMutexesHaveOne) {
  for (const char* name :
       {"pthread_mutex_lock", "___pthread_mutex_lock", "__pthread_mutex_lock_full",
        "pthread_mutex_timedlock@GLIBC_2.34", "__pthread_mutex_cond_lock", "futex_lock_pi"})
    EXPECT_TRUE(IsMutexFunction(name)) << name;
  for (const char* name : {"pthread_cond_wait", "sem_wait", "__lll_lock_wait_private",
                           "pthread_mutex_unlock", "pthread_rwlock_wrlock", "", "___"})
    EXPECT_FALSE(IsMutexFunction(name)) << name;
}

}  // namespace
}  // namespace profd::aggregate
