// Processes and threads that live for milliseconds. Each writes a line with its own account: the ns
// of CPU time that it has spent in parse_source and in emit_code, and in all.
//   short_lived work US           this process
//   short_lived fork LIVES US     children that do not execute a program, two at a time
//   short_lived threads LIVES US  one thread a request, two at a time
// US: of CPU time of each, of which 31.5 % are in parse_source.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// The clock is read by a system call, so it is read rarely.
#define SPIN_UNTIL(end)                                \
  do {                                                 \
    for (volatile int i = 0; i < 20000; ++i) continue; \
  } while (cpu_ns() < (end))

__attribute__((noinline)) void parse_source(uint64_t end_ns) { SPIN_UNTIL(end_ns); }
__attribute__((noinline)) void emit_code(uint64_t end_ns) { SPIN_UNTIL(end_ns); }

__attribute__((noinline)) static void work(uint64_t us) {
  const uint64_t begin_ns = cpu_ns();
  parse_source(begin_ns + us * 315);
  const uint64_t parsed_ns = cpu_ns();
  emit_code(parsed_ns + us * 685);
  const uint64_t end_ns = cpu_ns();
  char line[100];
  const int length =
      snprintf(line, sizeof line, "%llu %llu %llu\n", (unsigned long long)(parsed_ns - begin_ns),
               (unsigned long long)(end_ns - parsed_ns), (unsigned long long)end_ns);
  // Standard output is a file to which others append, too.
  if (write(STDOUT_FILENO, line, (size_t)length) != length) abort();
}

static void* request(void* us) {
  prctl(PR_SET_NAME, "request");
  work((uint64_t)(uintptr_t)us);
  return NULL;
}

static void serve_threads(int lives, uint64_t us) {
  pthread_t before;
  for (int i = 0; i < lives; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, request, (void*)(uintptr_t)us) != 0) abort();
    if (i != 0) pthread_join(before, NULL);
    before = thread;
  }
  pthread_join(before, NULL);
}

static void serve_forks(int lives, uint64_t us) {
  for (int i = 0; i < lives; ++i) {
    if (i > 1) wait(NULL);
    const pid_t child = fork();
    if (child < 0) abort();
    if (child != 0) continue;
    prctl(PR_SET_NAME, "request");
    work(us);
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
}

int main(int argc, char** argv) {
  const char* how = argc > 2 ? argv[1] : "";
  const uint64_t us = strtoull(argv[argc - 1], NULL, 10);
  if (strcmp(how, "work") == 0) {
    work(us);
  } else if (strcmp(how, "fork") == 0 && argc == 4) {
    serve_forks(atoi(argv[2]), us);
  } else if (strcmp(how, "threads") == 0 && argc == 4) {
    serve_threads(atoi(argv[2]), us);
  } else {
    return 2;
  }
  return 0;
}
