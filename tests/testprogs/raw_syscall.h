// System calls made by the function that is to be seen.
//
// libc's wrappers keep no frame pointer: while one of them waits in the kernel, the frame pointer
// is still its caller's, so a walk finds that caller's caller next and the function we named is
// missing. Inlined here, the instruction pointer of a waiting thread lies in the named function
// itself.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#define PROFD_INLINE [[gnu::always_inline]] inline

namespace profd::testprog {

// -errno on failure, as the kernel returns it.
PROFD_INLINE long RawSyscall(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0,
                             long f = 0) {
#if defined(__x86_64__)
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
#error "no raw system call for this architecture"
#endif
}

PROFD_INLINE void RawSleep(std::int64_t ns) {
  timespec left{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  const long address = reinterpret_cast<long>(&left);
  while (RawSyscall(SYS_nanosleep, address, address) == -4) {  // EINTR: `left` is what is left
  }
}

// Until CLOCK_MONOTONIC reads `deadline_ns`.
PROFD_INLINE void RawSleepUntil(std::int64_t deadline_ns) {
  const timespec deadline{.tv_sec = deadline_ns / 1'000'000'000,
                          .tv_nsec = deadline_ns % 1'000'000'000};
  while (RawSyscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME,
                    reinterpret_cast<long>(&deadline)) == -4) {
  }
}

PROFD_INLINE void RawFutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  RawSyscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, value);
}

PROFD_INLINE void RawFutexWake(const std::atomic<std::uint32_t>& word, long count) {
  RawSyscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, count);
}

// The same for words that lie in memory of several processes.
PROFD_INLINE void RawSharedFutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  RawSyscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT, value);
}

PROFD_INLINE void RawSharedFutexWake(const std::atomic<std::uint32_t>& word, long count) {
  RawSyscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE, count);
}

// A byte through a pipe; whether it went.
PROFD_INLINE bool RawRead(int fd) {
  char byte = 0;
  return RawSyscall(SYS_read, fd, reinterpret_cast<long>(&byte), 1) == 1;
}

PROFD_INLINE bool RawWrite(int fd) {
  const char byte = 1;
  return RawSyscall(SYS_write, fd, reinterpret_cast<long>(&byte), 1) == 1;
}

// A mutex whose wait is inlined where it waits (Drepper, "Futexes Are Tricky": 0 free, 1 held,
// 2 held and waited for).
class FutexLock {
 public:
  PROFD_INLINE void Lock() {
    std::uint32_t seen = 0;
    if (word_.compare_exchange_strong(seen, 1)) return;
    if (seen != 2) seen = word_.exchange(2);
    while (seen != 0) {
      RawFutexWait(word_, 2);
      seen = word_.exchange(2);
    }
  }
  PROFD_INLINE void Unlock() {
    if (word_.exchange(0) == 2) RawFutexWake(word_, 1);
  }
  // Unlocks it for another thread, which holds it from then on: those who wait are woken in vain.
  // `give` lets that thread know.
  template <typename Give>
  PROFD_INLINE void Pass(const Give& give) {
    const std::uint32_t seen = word_.exchange(1);
    give();
    if (seen == 2) RawFutexWake(word_, 1);
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

// A count that one side raises and the other waits for.
class FutexGate {
 public:
  PROFD_INLINE void Open() {
    count_.fetch_add(1);
    RawFutexWake(count_, 1 << 30);
  }
  PROFD_INLINE void WaitBeyond(std::uint32_t passed) const {
    for (std::uint32_t now = count_.load(); now <= passed; now = count_.load()) {
      RawFutexWait(count_, now);
    }
  }

 private:
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace profd::testprog
