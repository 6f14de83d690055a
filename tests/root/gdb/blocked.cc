// Threads that block for ever, each at the end of another kind of stack. Says how many, and waits.
#include <alloca.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline))

namespace {

int never_ends[2];  // a pipe without a writer

// Not a leaf that may be left out: something happens after it.
KEPT long Block() {
  char byte = 0;
  long got = read(never_ends[0], &byte, 1);
  return got + byte;
}

// Frames of several sizes, with registers that callers restore.
KEPT long Nested(int depth, long a, long b, long c) {
  volatile char kept[40] = {static_cast<char>(depth)};
  long below = depth == 0 ? Block() : Nested(depth - 1, b + depth, c * 3, a ^ b);
  kept[depth % 40] = static_cast<char>(below);
  return below + a * 5 + b * 7 + c * 11 + kept[0];
}
void* NestedFrames(void*) { return reinterpret_cast<void*>(Nested(20, 1, 2, 3)); }
void* DeepRecursion(void*) { return reinterpret_cast<void*>(Nested(300, 1, 2, 3)); }
void* DeeperThanWhatIsKept(void*) { return reinterpret_cast<void*>(Nested(700, 1, 2, 3)); }

KEPT long WithAlloca(size_t bytes) {
  auto* room = static_cast<volatile char*>(alloca(bytes));
  room[bytes - 1] = 1;
  long below = bytes > 1000 ? Block() : WithAlloca(bytes * 2 + 3);
  return below + room[bytes - 1];
}
void* VariableFrames(void*) { return reinterpret_cast<void*>(WithAlloca(17)); }

KEPT long Aligned(int depth) {
  alignas(64) volatile char wide[192];
  wide[depth] = 1;
  long below = depth == 0 ? Block() : Aligned(depth - 1);
  return below + wide[depth];
}
KEPT long AlignedAndVariable(size_t bytes) {
  alignas(64) volatile char wide[128];
  auto* room = static_cast<volatile char*>(alloca(bytes));
  wide[bytes % 128] = room[bytes / 2] = 1;
  return Aligned(5) + wide[0] + room[0];
}
void* AlignedFrames(void*) { return reinterpret_cast<void*>(AlignedAndVariable(99)); }

KEPT long LargeFrame(int value) {
  volatile char room[3 << 20];
  room[value] = 1;
  long below = Block();
  return below + room[value + 1];
}
void* LargeFrames(void*) { return reinterpret_cast<void*>(LargeFrame(5)); }

[[noreturn]] KEPT void NeverReturns(volatile long* value) {
  for (;;) *value = Block();
}
// The call is the last instruction: its return address lies in the next function.
[[noreturn]] KEPT void NoreturnTail(long value) {
  volatile long kept = value * 3;
  NeverReturns(&kept);
}
KEPT long MayNotReturn(long value) {
  if (value > 0) NoreturnTail(value);
  return Block();
}
void* NoreturnTails(void*) { return reinterpret_cast<void*>(MayNotReturn(7)); }

int CompareOnce(const void* a, const void* b) {
  if (*static_cast<const int*>(a) == 3) return static_cast<int>(Nested(2, 1, 2, 3));
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
void* QsortCallback(void*) {
  int values[] = {9, 8, 3, 1, 4};
  qsort(values, 5, sizeof values[0], CompareOnce);
  return reinterpret_cast<void*>(static_cast<intptr_t>(values[0]));
}

void OnSignal(int) { Nested(3, 1, 2, 3); }
void UseAlternateStack() {
  constexpr size_t kBytes = 1 << 20;
  stack_t stack{};
  stack.ss_size = kBytes;
  stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sigaltstack(&stack, nullptr);
}
KEPT long Signalled(int number) {
  raise(number);
  return Block();
}
void* SignalOnAlternateStack(void*) {
  UseAlternateStack();
  return reinterpret_cast<void*>(Signalled(SIGUSR1));
}
void* SignalOnOwnStack(void*) { return reinterpret_cast<void*>(Signalled(SIGUSR2)); }

// A leaf that is interrupted between two of its instructions, and has no frame.
KEPT long Faults(volatile long* at) { return *at + 1; }
void* FaultInALeaf(void*) {
  UseAlternateStack();
  auto* nowhere = static_cast<volatile long*>(
      mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  return reinterpret_cast<void*>(Faults(nowhere));
}

#ifndef PROFD_NO_EXCEPTIONS
struct BlocksAtItsEnd {
  ~BlocksAtItsEnd() { Nested(2, 1, 2, 3); }
};
[[noreturn]] KEPT void Throw() { throw 7; }
KEPT long WithCleanup() {
  const BlocksAtItsEnd cleanup;
  Throw();
}
void* DestructorOfAnException(void*) {
  try {
    return reinterpret_cast<void*>(WithCleanup());
  } catch (int) {
    return nullptr;
  }
}
#endif

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
sem_t semaphore;

void* ConditionVariable(void*) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&condition, &mutex);
}
void* Semaphore(void*) {
  while (sem_wait(&semaphore) != 0) {
  }
  return nullptr;
}
void* Sleep(void*) {
  for (;;) {
    const timespec day{86'400, 0};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &day, nullptr);
  }
}
void* Poll(void*) {
  for (;;) {
    pollfd wait{never_ends[0], POLLIN, 0};
    poll(&wait, 1, -1);
  }
}
pthread_once_t once = PTHREAD_ONCE_INIT;
void* Once(void*) {
  pthread_once(&once, [] { Block(); });
  return nullptr;
}

#ifdef PROFD_LAZY_LIBRARY
// The first call through a PLT entry resolves its symbol, here with a resolver that blocks.
void* LazyBinding(void*) {
  void* library = dlopen(PROFD_LAZY_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) abort();
  auto call = reinterpret_cast<int (*)(long (*)())>(dlsym(library, "profd_call_lazily"));
  return reinterpret_cast<void*>(static_cast<intptr_t>(call(Block)));
}
#endif

using Body = void* (*)(void*);
constexpr Body kBodies[] = {
    NestedFrames,
    DeepRecursion,
    DeeperThanWhatIsKept,
    VariableFrames,
    AlignedFrames,
    LargeFrames,
    NoreturnTails,
    QsortCallback,
    SignalOnAlternateStack,
    SignalOnOwnStack,
    FaultInALeaf,
#ifndef PROFD_NO_EXCEPTIONS
    DestructorOfAnException,
#endif
    ConditionVariable,
    Semaphore,
    Sleep,
    Poll,
    Once,
#ifdef PROFD_LAZY_LIBRARY
    LazyBinding,
#endif
};

void Catch(int number, int flags) {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

}  // namespace

int main() {
  if (pipe(never_ends) != 0 || sem_init(&semaphore, 0, 0) != 0) return 1;
  Catch(SIGUSR1, SA_ONSTACK);
  Catch(SIGUSR2, 0);
  Catch(SIGSEGV, SA_ONSTACK);
  pthread_t thread{};
  for (Body body : kBodies)
    if (pthread_create(&thread, nullptr, body, nullptr) != 0) return 1;
  printf("%zu\n", sizeof kBodies / sizeof kBodies[0] + 1);
  fflush(stdout);
  pthread_join(thread, nullptr);
}
