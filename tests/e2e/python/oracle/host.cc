// Programs that are no Python: they load interpreters, of any name, once they run.
//
//   host embed TIMES SCRIPT LIBRARY    initialise, run, finalise, TIMES times
//   host two SCRIPT LIBRARY ANOTHER    the same, once; a thread that the script starts has another
//                                      library's interpreter run what it says
//   host spin MS                       C alone
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <thread>

#define MARK extern "C" __attribute__((noinline, visibility("default")))

namespace {

bool Embed(const char* library, int flags, int times, const char* script) {
  void* handle = dlopen(library, RTLD_NOW | flags);
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

// Extension modules find the interpreter's symbols where all do; those of a second interpreter
// are its own.
constexpr int kForAll = RTLD_GLOBAL;
constexpr int kForItself = RTLD_LOCAL | RTLD_DEEPBIND;

struct Second {
  const char* library = nullptr;
  std::string script;
  bool succeeded = true;
  std::thread thread;
};

Second& TheSecond() {
  static Second second;
  return second;
}

}  // namespace

// The script of the first one calls these.
MARK void oracle_start_second(const char* script) {
  TheSecond().script = script;
  TheSecond().thread = std::thread([] {
    prctl(PR_SET_NAME, "second");
    TheSecond().succeeded = Embed(TheSecond().library, kForItself, 1, TheSecond().script.c_str());
  });
}
MARK void oracle_await_second() { TheSecond().thread.join(); }

MARK void oracle_only_c(std::int64_t ms) {
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
  if (argc == 5 && strcmp(argv[1], "embed") == 0)
    return Embed(argv[4], kForAll, atoi(argv[2]), argv[3]) ? 0 : 1;
  if (argc != 5 || strcmp(argv[1], "two") != 0) return 2;
  TheSecond().library = argv[4];
  return Embed(argv[3], kForAll, 1, argv[2]) && TheSecond().succeeded ? 0 : 1;
}
