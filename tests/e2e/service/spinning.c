// Threads that work and spin, and know by their own clocks for how long. Writes the ns of CPU time
// of all its threads that have been spinning and working, and of the whole process.
//   spinning barrier SECONDS  OpenMP: one thread works more than the others before each barrier
//   spinning tasks SECONDS    OpenMP: the work is in tasks, which run in the barrier
//   spinning serial SECONDS   OpenMP: what one thread does alone, then a region with uneven work;
//                             the ns that a worker spins because of the former come last
//   spinning lock SECONDS     two threads at a spin lock of its own
//   spinning blas SECONDS     OpenBLAS: a product of matrices by two threads, then what one does
//   alone;
//                             ends with 3 where the library is not installed
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t kMs = 1000000;
static _Atomic uint64_t spinning_ns;
static _Atomic uint64_t working_ns;
static __thread uint64_t own_work_ns;

static uint64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static uint64_t cpu_ns(void) { return now_ns(CLOCK_THREAD_CPUTIME_ID); }

__attribute__((noinline)) void work(uint64_t ns) {
  const uint64_t begin_ns = cpu_ns();
  uint64_t end_ns;
  do {
    for (volatile int i = 0; i < 20000; ++i) continue;
    end_ns = cpu_ns();
  } while (end_ns < begin_ns + ns);
  own_work_ns += end_ns - begin_ns;
  working_ns += end_ns - begin_ns;
}

// Around a wait: what it has cost, without the work that was done meanwhile.
struct wait {
  uint64_t cpu_ns;
  uint64_t work_ns;
};

static struct wait begin_wait(void) { return (struct wait){cpu_ns(), own_work_ns}; }
static void end_wait(struct wait begin) {
  spinning_ns += cpu_ns() - begin.cpu_ns - (own_work_ns - begin.work_ns);
}

static atomic_flag own_lock = ATOMIC_FLAG_INIT;

__attribute__((noinline)) void own_spin_lock(void) {
  while (atomic_flag_test_and_set_explicit(&own_lock, memory_order_acquire)) __builtin_ia32_pause();
}

static void* use_lock(void* until_ns) {
  while (now_ns(CLOCK_MONOTONIC) < *(uint64_t*)until_ns) {
    const struct wait wait = begin_wait();
    own_spin_lock();
    end_wait(wait);
    work(2 * kMs);
    atomic_flag_clear_explicit(&own_lock, memory_order_release);
    work(kMs);
  }
  return NULL;
}

// The kernel's clock of a thread's CPU time, by its number: its lowest bits say so.
static clockid_t clock_of(long tid) { return (clockid_t)(~(unsigned)tid << 3 | 6); }

// The thread of this process beside the caller; 0: there is none.
static long other_thread(void) {
  DIR* threads = opendir("/proc/self/task");
  long other = 0;
  for (struct dirent* entry; threads != NULL && (entry = readdir(threads)) != NULL;) {
    const long tid = atol(entry->d_name);
    if (tid != 0 && tid != getpid()) other = tid;
  }
  if (threads != NULL) closedir(threads);
  return other;
}

// Small products, so that what threads wait inside of one is little beside what the worker waits
// between two.
static int multiply(uint64_t until_ns) {
  enum { kRows = 96, kRowMajor = 101, kAsIs = 111 };
  static double a[kRows * kRows], b[kRows * kRows], c[kRows * kRows];
  void* library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (library == NULL) return 3;
  void (*set_threads)(int) = (void (*)(int))dlsym(library, "openblas_set_num_threads");
  void (*product)(int, int, int, int, int, int, double, const double*, int, const double*, int,
                  double, double*, int) =
      (void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int,
                double, double*, int))dlsym(library, "cblas_dgemm");
  if (set_threads == NULL || product == NULL) return 3;
  set_threads(2);
  long worker = 0;
  while (now_ns(CLOCK_MONOTONIC) < until_ns) {
    product(kRowMajor, kAsIs, kAsIs, kRows, kRows, kRows, 1, a, kRows, b, kRows, 0, c, kRows);
    if (worker == 0) worker = other_thread();
    if (worker == 0) return 1;
    const uint64_t begin_ns = now_ns(clock_of(worker));
    work(20 * kMs);
    spinning_ns += now_ns(clock_of(worker)) - begin_ns;
  }
  return 0;
}

#ifdef _OPENMP
#include <omp.h>

static void meet(uint64_t until_ns, int tasks) {
  int more = 1;
#pragma omp parallel num_threads(2) shared(more)
  while (more) {
    const int first = omp_get_thread_num() == 0;
    if (!tasks) work((first ? 6 : 1) * kMs);
    if (tasks && first) {
#pragma omp task
      work(4 * kMs);
    }
    const struct wait wait = begin_wait();
#pragma omp barrier
    if (first) more = now_ns(CLOCK_MONOTONIC) < until_ns;
#pragma omp barrier
    end_wait(wait);
  }
}

// The leader reads the clock of the worker where it leaves a region. What the worker spins after
// that, until it works in the next one, is because of what the leader does alone.
static uint64_t alternate(uint64_t until_ns) {
  uint64_t serial_ns = 0;
  uint64_t left_ns = 0;  // clock of the worker
  clockid_t worker = CLOCK_THREAD_CPUTIME_ID;
  struct wait wait;  // of the leader, in a region
  uint64_t worker_done_ns = 0;
  for (int round = 0; now_ns(CLOCK_MONOTONIC) < until_ns; ++round) {
    work(40 * kMs);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
      work((round % 2 != 0 ? 40 : 10) * kMs);
      wait = begin_wait();
    } else {
      if (round == 0) pthread_getcpuclockid(pthread_self(), &worker);
      if (round != 0) serial_ns += cpu_ns() - left_ns;
      work((round % 2 == 0 ? 40 : 10) * kMs);
      worker_done_ns = cpu_ns();
    }
    left_ns = now_ns(worker);
    end_wait(wait);
    spinning_ns += left_ns - worker_done_ns;
  }
  spinning_ns += serial_ns;
  return serial_ns;
}
#endif

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  uint64_t until_ns = now_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[2]) * 1e9);
  uint64_t serial_ns = 0;
  if (strcmp(argv[1], "lock") == 0) {
    pthread_t other;
    if (pthread_create(&other, NULL, use_lock, &until_ns) != 0) return 1;
    use_lock(&until_ns);
    pthread_join(other, NULL);
  } else if (strcmp(argv[1], "blas") == 0) {
    const int failed = multiply(until_ns);
    if (failed != 0) return failed;
  } else {
#ifdef _OPENMP
    if (strcmp(argv[1], "serial") == 0)
      serial_ns = alternate(until_ns);
    else
      meet(until_ns, strcmp(argv[1], "tasks") == 0);
#else
    return 2;
#endif
  }
  printf("%lu %lu %lu %lu\n", (unsigned long)spinning_ns, (unsigned long)working_ns,
         (unsigned long)now_ns(CLOCK_PROCESS_CPUTIME_ID), (unsigned long)serial_ns);
  return 0;
}
