// Programs that are no Python: they load interpreters, of any name, once they run.
//
//   host embed TIMES SCRIPT LIBRARY   initialise, run, finalise, TIMES times
//   host spin MS                      C alone
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstdint>

namespace {

bool Embed(const char* library, int times, const char* script) {
  // Extension modules find the interpreter's symbols where all do.
  void* handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  const auto initialize = reinterpret_cast<void (*)(int)>(dlsym(handle, "Py_InitializeEx"));
  const auto run = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "PyRun_SimpleString"));
  const auto finalize = reinterpret_cast<int (*)()>(dlsym(handle, "Py_FinalizeEx"));
  if (initialize == nullptr || run == nullptr || finalize == nullptr) return false;
  for (int i = 0; i < times; ++i) {
    initialize(0);
    if (run(script) != 0) return false;
    finalize();
  }
  return true;
}

}  // namespace

extern "C" __attribute__((noinline, visibility("default"))) void oracle_only_c(std::int64_t ms) {
  timespec begin{};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1'000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 < ms);
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "spin") == 0) {
    prctl(PR_SET_NAME, "c-alone");
    oracle_only_c(atoi(argv[2]));
    return 0;
  }
  if (argc != 5 || strcmp(argv[1], "embed") != 0) return 2;
  return Embed(argv[4], atoi(argv[2]), argv[3]) ? 0 : 1;
}
