// Programs that are no Python: they load interpreters, of any name, once they run.
//
//   host embed TIMES SCRIPT LIBRARY        initialise, run, finalise, TIMES times
//   host two SCRIPT LIBRARY ANOTHER HOME   the same, once; the script starts a thread in which
//                                          another library's interpreter, whose home that is, runs
//                                          what it says, and calls that interpreter
//   host spin MS                           C alone
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

struct Object;  // of Python

namespace {

// Keeps calls from being the last thing a function does: its frame would be gone.
inline void StayOnStack() { asm volatile("" ::: "memory"); }

class Library {
 public:
  bool Load(const char* path, int flags) {
    handle_ = dlopen(path, RTLD_NOW | flags);
    if (handle_ == nullptr) fprintf(stderr, "%s\n", dlerror());
    return handle_ != nullptr;
  }
  template <typename Function>
  [[nodiscard]] Function* Find(const char* name) const {
    void* found = dlsym(handle_, name);
    if (found == nullptr) {
      fprintf(stderr, "no %s\n", name);
      abort();
    }
    return reinterpret_cast<Function*>(found);
  }
  void Initialize() const { Find<void(int)>("Py_InitializeEx")(0); }
  [[nodiscard]] bool Run(const char* script) const {
    return Find<int(const char*)>("PyRun_SimpleString")(script) == 0;
  }
  void Finalize() const { Find<int()>("Py_FinalizeEx")(); }

 private:
  void* handle_ = nullptr;
};

// Extension modules find the interpreter's symbols where all do; those of a second interpreter
// are its own.
constexpr int kForAll = RTLD_GLOBAL;
constexpr int kForItself = RTLD_LOCAL | RTLD_DEEPBIND;

bool Embed(const char* path, int times, const char* script) {
  Library library;
  if (!library.Load(path, kForAll)) return false;
  for (int i = 0; i < times; ++i) {
    library.Initialize();
    if (!library.Run(script)) return false;
    library.Finalize();
  }
  return true;
}

// PyMethodDef.
struct Method {
  const char* name;
  Object* (*function)(Object*, Object*);
  int flags;
  const char* about;
};
constexpr int kOneArgument = 8;

struct Second {
  const char* path = nullptr;
  const char* home = nullptr;
  Library library;
  std::string script;
  void (*back)(const char*) = nullptr;  // into the first one
  bool succeeded = false;
  std::thread thread;
};

Second& TheSecond() {
  static Second second;
  return second;
}

}  // namespace

// The second one calls this as sys.oracle_back(text), and it calls the first one.
MARK Object* oracle_back(Object*, Object* text) {
  const Library& library = TheSecond().library;
  TheSecond().back(library.Find<const char*(Object*)>("PyUnicode_AsUTF8")(text));
  StayOnStack();
  return library.Find<Object*(const char*, ...)>("Py_BuildValue")("");
}

namespace {

void RunSecond() {
  static Method back{"oracle_back", oracle_back, kOneArgument, nullptr};
  Second& second = TheSecond();
  prctl(PR_SET_NAME, "second");
  setenv("PYTHONHOME", second.home, 1);
  if (!second.library.Load(second.path, kForItself)) return;
  second.library.Initialize();
  using MakeFunction = Object*(Method*, Object*, Object*);
  Object* function =
      second.library.Find<MakeFunction>("PyCFunction_NewEx")(&back, nullptr, nullptr);
  second.library.Find<int(const char*, Object*)>("PySys_SetObject")("oracle_back", function);
  second.succeeded = second.library.Run(second.script.c_str());
  second.library.Finalize();
}

}  // namespace

// The script of the first one calls these.
MARK void oracle_start_second(const char* script, void (*back)(const char*)) {
  TheSecond().script = script;
  TheSecond().back = back;
  TheSecond().thread = std::thread(RunSecond);
}
MARK void oracle_await_second() { TheSecond().thread.join(); }
MARK void oracle_run_second(const char* script) {
  const Library& library = TheSecond().library;
  const int state = library.Find<int()>("PyGILState_Ensure")();
  if (!library.Run(script)) abort();
  library.Find<void(int)>("PyGILState_Release")(state);
}

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
    return Embed(argv[4], atoi(argv[2]), argv[3]) ? 0 : 1;
  if (argc != 6 || strcmp(argv[1], "two") != 0) return 2;
  TheSecond().path = argv[4];
  TheSecond().home = argv[5];
  return Embed(argv[3], 1, argv[2]) && TheSecond().succeeded ? 0 : 1;
}
