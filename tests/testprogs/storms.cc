// storms VERB ...: what an unprivileged program can do without end to use up what all share. Says
// "ready" when it begins; ends with a signal.
//   mappings FILE      maps FILE executable and unmaps it
//   dlopen LIBRARY     loads copies of LIBRARY under ever new names and unloads them
//   programs           runs ever new copies of itself, each with a build id of its own
//   execs              runs itself
//   forks              makes processes that end at once
//   threads            makes threads that end at once
//   renames            gives its thread ever new names
//   crowd N            N threads, which all wake up once a second
//   perf_map           runs code that was made at run time, with ever more names in a perf map
//   perf_maps          runs such code, with a perf map that is replaced all the time
//   stacks             computes under ever different stacks
// Files are made in the working directory, and in /tmp for `perf_map` and `perf_maps`.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/testprogs/numbered_stack.h"

extern char** environ;

namespace storms {

namespace testprog = profd::testprog;

constexpr std::size_t kMappedBytes = 65'536;

void Ready() {
  std::puts("ready");
  std::fflush(stdout);
}

std::string ReadWhole(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  return file.good();
}

int Mappings(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;
  Ready();
  while (true) {
    void* at = mmap(nullptr, kMappedBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED || munmap(at, kMappedBytes) != 0) return 1;
  }
}

int Dlopen(const char* path) {
  const std::string library = ReadWhole(path);
  if (library.empty()) return 1;
  Ready();
  for (std::uint64_t i = 0;; ++i) {
    const std::string copy = "./copy" + std::to_string(i) + ".so";
    if (!Write(copy, library)) return 1;
    void* loaded = dlopen(copy.c_str(), RTLD_NOW);
    if (loaded == nullptr || dlclose(loaded) != 0) return 1;
    unlink(copy.c_str());
  }
}

// Runs `arguments`, whose last is null, and waits for its end.
bool Run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environ) != 0)
    return false;
  int status = 0;
  return waitpid(child, &status, 0) == child;
}

// Where the build id of this program lies in its file; 0: nowhere.
std::size_t FindBuildId(const std::string& program) {
  Elf64_Ehdr header{};
  if (program.size() < sizeof(header)) return 0;
  std::memcpy(&header, program.data(), sizeof(header));
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, &program[header.e_phoff + i * header.e_phentsize], sizeof(segment));
    if (segment.p_type != PT_NOTE) continue;
    for (std::size_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz;) {
      Elf64_Nhdr note{};
      std::memcpy(&note, &program[at], sizeof(note));
      const std::size_t name = at + sizeof(note);
      const std::size_t description = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && program.compare(name, 4, "GNU\0", 4) == 0)
        return description;
      at = description + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 0;
}

int Programs() {
  std::string program = ReadWhole("/proc/self/exe");
  const std::size_t build_id = FindBuildId(program);
  if (build_id == 0) {
    std::fputs("storms: this program has no build id\n", stderr);
    return 1;
  }
  Ready();
  for (std::uint64_t i = 0;; ++i) {
    std::memcpy(&program[build_id], &i, sizeof(i));
    const std::string copy = "./program" + std::to_string(i);
    if (!Write(copy, program) || chmod(copy.c_str(), 0700) != 0) return 1;
    if (!Run({copy, "spin"})) return 1;
    unlink(copy.c_str());
  }
}

int Execs() {
  Ready();
  while (Run({"/proc/self/exe", "end"})) continue;
  return 1;
}

int Forks() {
  Ready();
  while (true) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, nullptr, 0) != child) return 1;
  }
}

int Threads() {
  Ready();
  while (true) {
    pthread_t thread{};
    const auto end = [](void*) -> void* { return nullptr; };
    if (pthread_create(&thread, nullptr, end, nullptr) != 0) return 1;
    pthread_join(thread, nullptr);
  }
}

int Renames() {
  Ready();
  for (std::uint64_t i = 0;; ++i) {
    const std::string name = "name" + std::to_string(i);
    if (prctl(PR_SET_NAME, name.c_str()) != 0) return 1;
  }
}

void* WakeUpOnceASecond(void* /*unused*/) {
  while (true) sleep(1);
}

// Stacks lie in one mapping: two for each thread are more than a process may have.
int Crowd(std::size_t count) {
  const auto stack = static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN)) + 4096;
  void* stacks = mmap(nullptr, count * stack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) return 1;
  for (std::size_t i = 0; i < count; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, static_cast<char*>(stacks) + i * stack, stack);
    pthread_t thread{};
    if (const int error = pthread_create(&thread, &attributes, WakeUpOnceASecond, nullptr);
        error != 0) {
      std::fprintf(stderr, "storms: thread %zu: %s\n", i, std::strerror(error));
      return 1;
    }
  }
  Ready();
  while (true) pause();
}

int PerfMap() {
#if defined(__x86_64__)
  constexpr std::array<unsigned char, 1> kReturn{0xc3};
#elif defined(__aarch64__)
  constexpr std::array<unsigned char, 4> kReturn{0xc0, 0x03, 0x5f, 0xd6};
#endif
  void* code = mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  std::memcpy(code, kReturn.data(), kReturn.size());
  __builtin___clear_cache(static_cast<char*>(code), static_cast<char*>(code) + kReturn.size());
  void (*run)() = nullptr;
  std::memcpy(&run, &code, sizeof(run));
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ofstream map(path);
  const auto start = reinterpret_cast<std::uintptr_t>(code);
  constexpr std::uint64_t kMost = 4'000'000;  // some 250 MB
  Ready();
  for (std::uint64_t i = 0;; ++i) {
    if (i < kMost)
      map << std::hex << start + i % kMappedBytes << " 1 made_at_run_time_" << std::dec << i
          << '\n';
    for (int times = 0; times < 100; ++times) run();
  }
}

// A list of code made at run time, replaced by another one all the time; every sample is at an
// address of its own, so that names are looked for.
int PerfMaps() {
#if defined(__x86_64__)
  // mov $65536, %ecx; 1: dec %ecx; jnz 1b; ret
  constexpr std::array<unsigned char, 10> kSpin{0xb9, 0, 0, 1, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
  // mov w0, #65536; 1: subs w0, w0, #1; b.ne 1b; ret
  constexpr std::array<std::uint32_t, 4> kSpin{0x52a00020, 0x71000400, 0x54ffffe1, 0xd65f03c0};
#endif
  constexpr std::size_t kSlot = 64;
  constexpr std::size_t kSlots = 262'144;
  void* code = mmap(nullptr, kSlots * kSlot, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  auto* const begin = static_cast<char*>(code);
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    std::memcpy(begin + slot * kSlot, kSpin.data(), sizeof kSpin);
  __builtin___clear_cache(begin, begin + kSlots * kSlot);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const std::string next = path + ".next";
  std::ofstream list("list");
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    list << std::hex << reinterpret_cast<std::uintptr_t>(begin + slot * kSlot) << ' ' << kSlot
         << " made_at_run_time_" << std::dec << slot << '\n';
  list.close();
  std::filesystem::copy_file("list", "other");
  Ready();
  for (std::size_t i = 0;; ++i) {
    // Two files, so that it is never the same one.
    if (i % 16 == 0) {
      (void)::link(i % 32 == 0 ? "list" : "other", next.c_str());
      (void)::rename(next.c_str(), path.c_str());
    }
    void (*run)() = nullptr;
    void* at = begin + i * 4'099 % kSlots * kSlot;
    std::memcpy(&run, &at, sizeof(run));
    run();
  }
}

int Stacks() {
  Ready();
  for (std::uint64_t path = 0;; ++path)
    testprog::RunNumberedStack(path * 0x9e3779b97f4a7c15ull, 40);
}

// Long enough to be sampled.
int Spin() {
  const auto now_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  while (now_ns() < 20'000'000) continue;
  return 0;
}

int Main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "mappings" && argc > 2) return Mappings(argv[2]);
  if (verb == "dlopen" && argc > 2) return Dlopen(argv[2]);
  if (verb == "programs") return Programs();
  if (verb == "spin") return Spin();
  if (verb == "execs") return Execs();
  if (verb == "end") return 0;
  if (verb == "forks") return Forks();
  if (verb == "threads") return Threads();
  if (verb == "renames") return Renames();
  if (verb == "crowd" && argc > 2) return Crowd(std::strtoul(argv[2], nullptr, 10));
  if (verb == "perf_map") return PerfMap();
  if (verb == "perf_maps") return PerfMaps();
  if (verb == "stacks") return Stacks();
  std::fputs(
      "usage: storms mappings|dlopen|programs|execs|forks|threads|renames|crowd|perf_map|perf_maps|"
      "stacks ...\n",
      stderr);
  return 2;
}

}  // namespace storms

int main(int argc, char** argv) { return storms::Main(argc, argv); }
