// parked: threads that stand in known functions and wait for known things, for as long as the
// program runs; one computes:  parked [MORE], with so many more that sleep.
// Says who is where when all of them wait, and ends with its input.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"

namespace parked {

using profd::testprog::FutexGate;
using profd::testprog::RawRead;
using profd::testprog::RawSleep;
using profd::testprog::RawSyscall;

struct World {
  FutexGate gate;
  std::array<int, 2> pipe{-1, -1};
  std::array<int, 2> sockets{-1, -1};
  int locked_file = -1;
  int epoll = -1;
  pid_t child = -1;
  volatile char* page = nullptr;  // that is never filled; null: the kernel has no userfaultfd
  std::atomic<std::uint64_t> work{0};
};

PROFD_NAMED void SleepsAnHour(World&) { RawSleep(3'600'000'000'000); }
PROFD_NAMED void WaitsForALock(World& world) { world.gate.WaitBeyond(0); }
PROFD_NAMED void ReadsAPipe(World& world) { RawRead(world.pipe[0]); }
PROFD_NAMED void ReadsASocket(World& world) { RawRead(world.sockets[0]); }
PROFD_NAMED void LocksAFile(World& world) { RawSyscall(SYS_flock, world.locked_file, LOCK_EX); }
PROFD_NAMED void PollsForever(World& world) {
  pollfd wanted{world.sockets[0], POLLPRI, 0};
  RawSyscall(SYS_poll, reinterpret_cast<long>(&wanted), 1, -1);
}
PROFD_NAMED void SelectsForever(World& world) {
  fd_set wanted;
  FD_ZERO(&wanted);
  FD_SET(world.sockets[0], &wanted);
  RawSyscall(SYS_pselect6, world.sockets[0] + 1, 0, 0, reinterpret_cast<long>(&wanted));
}
PROFD_NAMED void WaitsAtAnEpoll(World& world) {
  epoll_event event{};
  RawSyscall(SYS_epoll_pwait, world.epoll, reinterpret_cast<long>(&event), 1, -1);
}
PROFD_NAMED void WaitsForAChild(World& world) { RawSyscall(SYS_wait4, world.child, 0, 0, 0); }
PROFD_NAMED void TouchesAPage(World& world) { *world.page = 1; }
PROFD_NAMED void Computes(World& world) {
  while (true) world.work.fetch_add(1, std::memory_order_relaxed);
}

using Function = void (*)(World&);

// The caller of all of them.
PROFD_NAMED void Enters(Function function, World& world) { function(world); }

struct Place {
  const char* function;
  Function enter;
  const char* wait;  // the word for the wait reason; "" computes
};

constexpr Place kPlaces[] = {
    {"parked::SleepsAnHour", SleepsAnHour, "sleep"},
    {"parked::WaitsForALock", WaitsForALock, "lock"},
    {"parked::ReadsAPipe", ReadsAPipe, "pipe"},
    {"parked::ReadsASocket", ReadsASocket, "net"},
    {"parked::LocksAFile", LocksAFile, "lock"},
    {"parked::PollsForever", PollsForever, "poll"},
    {"parked::SelectsForever", SelectsForever, "poll"},
    {"parked::WaitsAtAnEpoll", WaitsAtAnEpoll, "poll"},
    {"parked::WaitsForAChild", WaitsForAChild, "child"},
    {"parked::TouchesAPage", TouchesAPage, "fault"},
    {"parked::Computes", Computes, ""},
};

// A page whose faults wait for ever; null: the kernel has no userfaultfd.
volatile char* UnfilledPage() {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
  uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
  if (fd < 0 || ::ioctl(fd, UFFDIO_API, &api) != 0) return nullptr;
  void* page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  uffdio_register range{.range = {.start = reinterpret_cast<std::uintptr_t>(page), .len = bytes},
                        .mode = UFFDIO_REGISTER_MODE_MISSING,
                        .ioctls = 0};
  if (::ioctl(fd, UFFDIO_REGISTER, &range) != 0) return nullptr;
  return static_cast<volatile char*>(page);
}

// Ends with this program, also when that has ended before the child could ask for it.
pid_t SleepingChild() {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  while (true) ::pause();
  ::_exit(0);
}

// As the kernel says: 'S' sleeps.
char StateOf(pid_t tid) {
  std::ifstream in("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string text;
  std::getline(in, text);
  const auto name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? '?' : text[name_end + 2];
}

nlohmann::json Stand(const Place& place, World& world) {
  std::atomic<pid_t> tid{0};
  std::thread([&tid, &world, &place] {
    tid = ::gettid();
    Enters(place.enter, world);
  }).detach();
  while (tid == 0) std::this_thread::yield();
  while (*place.wait != '\0' && StateOf(tid) != 'S') std::this_thread::yield();
  return {{"tid", tid.load()}, {"function", place.function}, {"wait", place.wait}};
}

int Run(int more) {
  World world;
  const std::string path = "/proc/self/exe";
  const int holder = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  world.locked_file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (holder < 0 || world.locked_file < 0 || ::flock(holder, LOCK_EX) != 0 ||
      ::pipe2(world.pipe.data(), O_CLOEXEC) != 0 ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, world.sockets.data()) != 0)
    return 1;
  world.epoll = ::epoll_create1(EPOLL_CLOEXEC);
  world.child = SleepingChild();
  world.page = UnfilledPage();
  if (world.epoll < 0 || world.child < 0) return 1;

  nlohmann::json threads = nlohmann::json::array();
  threads.push_back({{"tid", ::getpid()}, {"function", ""}, {"wait", "pipe"}});
  for (int i = 0; i < more; ++i) threads.push_back(Stand(kPlaces[0], world));
  for (const Place& place : kPlaces) {
    if (place.enter == TouchesAPage && world.page == nullptr) continue;
    threads.push_back(Stand(place, world));
  }
  std::cout << nlohmann::json{{"threads", threads}} << std::endl;
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  ::_exit(0);
}

}  // namespace parked

int main(int argc, char** argv) { return parked::Run(argc > 1 ? std::atoi(argv[1]) : 0); }
