// deadlock: threads that wait for mutexes that others hold. Two of them wait for each other, one
// waits for these, one for a thread that sleeps with a priority-inheriting mutex, and one for a
// condition, which has no owner. Says who waits for whom when all of them wait, and ends with its
// input.
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/testprogs/raw_syscall.h"

namespace deadlock {

using profd::testprog::RawSleep;

struct World {
  std::mutex left;
  std::mutex right;
  pthread_mutex_t inheriting{};
  std::mutex guard;
  std::condition_variable never;
  std::atomic<int> holding{0};
};

std::uint32_t OwnTid() { return static_cast<std::uint32_t>(::gettid()); }

// Until the other one holds its mutex, too.
void AwaitHolders(const World& world, int count) {
  while (world.holding < count) std::this_thread::yield();
}

void LockBoth(World& world, std::mutex& first, std::mutex& second) {
  first.lock();
  ++world.holding;
  AwaitHolders(world, 3);
  second.lock();
}

bool IsWaiting(std::uint32_t tid) {
  std::ifstream in("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string text;
  std::getline(in, text);
  const auto end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] == 'S';
}

}  // namespace deadlock

int main() {
  using deadlock::World;
  static World world;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&world.inheriting, &attributes);

  constexpr int kHolder = 2;
  std::array<std::atomic<std::uint32_t>, 6> tids{};
  const std::array<std::pair<const char*, std::function<void()>>, 6> bodies{{
      {"left", [] { deadlock::LockBoth(world, world.left, world.right); }},
      {"right", [] { deadlock::LockBoth(world, world.right, world.left); }},
      {"sleeper",
       [] {
         pthread_mutex_lock(&world.inheriting);
         ++world.holding;
         while (true) deadlock::RawSleep(1'000'000'000);
       }},
      {"behind",
       [] {
         deadlock::AwaitHolders(world, 3);
         world.left.lock();
       }},
      {"inherits",
       [] {
         deadlock::AwaitHolders(world, 3);
         pthread_mutex_lock(&world.inheriting);
       }},
      {"condition",
       [] {
         std::unique_lock lock(world.guard);
         world.never.wait(lock, [] { return false; });
       }},
  }};
  for (std::size_t i = 0; i < bodies.size(); ++i)
    std::thread([&tids, &bodies, i] {
      ::prctl(PR_SET_NAME, bodies[i].first);
      tids[i] = deadlock::OwnTid();
      bodies[i].second();
    }).detach();
  for (const auto& tid : tids) {
    while (tid == 0 || !deadlock::IsWaiting(tid)) std::this_thread::yield();
  }
  const std::array<int, 6> owners{1, 0, -1, 0, kHolder, -1};
  nlohmann::json threads = nlohmann::json::array();
  for (std::size_t i = 0; i < owners.size(); ++i)
    threads.push_back(
        {{"tid", tids[i].load()},
         {"name", bodies[i].first},
         {"owner", owners[i] < 0 ? 0u : tids[static_cast<std::size_t>(owners[i])].load()}});
  std::cout << nlohmann::json{{"threads", threads}}.dump() << std::endl;
  std::cin.get();
  ::_exit(0);
}
