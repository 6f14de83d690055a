// standing: threads that stand in known functions and wait for known things, for as long as the
// program runs; one computes:  standing [MORE], with so many more that sleep.
// Says who is where when all of them wait, and ends with its input.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/raw_syscall.h"

namespace standing {

using profd::testprog::FutexGate;
using profd::testprog::RawRead;
using profd::testprog::RawSleep;
using profd::testprog::RawSyscall;

struct World {
  FutexGate gate;
  std::array<int, 2> pipe{-1, -1};
  std::array<int, 2> sockets{-1, -1};
  int locked_file = -1;
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
    {"standing::SleepsAnHour", SleepsAnHour, "sleep"},
    {"standing::WaitsForALock", WaitsForALock, "lock"},
    {"standing::ReadsAPipe", ReadsAPipe, "pipe"},
    {"standing::ReadsASocket", ReadsASocket, "net"},
    {"standing::LocksAFile", LocksAFile, "lock"},
    {"standing::PollsForever", PollsForever, "poll"},
    {"standing::Computes", Computes, ""},
};

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

  nlohmann::json threads = nlohmann::json::array();
  threads.push_back({{"tid", ::getpid()}, {"function", ""}, {"wait", "pipe"}});
  for (int i = 0; i < more; ++i) threads.push_back(Stand(kPlaces[0], world));
  for (const Place& place : kPlaces) threads.push_back(Stand(place, world));
  std::cout << nlohmann::json{{"threads", threads}} << std::endl;
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  ::_exit(0);
}

}  // namespace standing

int main(int argc, char** argv) { return standing::Run(argc > 1 ? std::atoi(argv[1]) : 0); }
