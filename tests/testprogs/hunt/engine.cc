#include "tests/testprogs/hunt/engine.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tests/testprogs/named_function.h"

namespace engine {
namespace {

constexpr timespec kDeviceAnswers{.tv_sec = 0, .tv_nsec = 4'000'000};

std::int64_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

int OpenDevice(const std::string& path) {
  // Each process has its own open file: flock distinguishes open files.
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
  return fd;
}

}  // namespace

// As a driver does that serves one caller after the other.
static PROFD_NAMED void device_ioctl(int device, Visit& visit) {
  while (::flock(device, LOCK_EX) != 0 && errno == EINTR) {
  }
  visit.locked = Now();
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kDeviceAnswers, nullptr);
  visit.answered = Now();
  ::flock(device, LOCK_UN);
}

static PROFD_NAMED std::size_t get_device_properties(int device, Visit& visit) {
  device_ioctl(device, visit);
  return 1024;  // threads of a block
}

static PROFD_NAMED void sort_blocks(Scores& scores, std::size_t block) {
  for (std::size_t begin = 0; begin < scores.size(); begin += block) {
    const std::size_t end = std::min(begin + block, scores.size());
    std::sort(scores.begin() + static_cast<std::ptrdiff_t>(begin),
              scores.begin() + static_cast<std::ptrdiff_t>(end), std::greater<>{});
  }
}

// Asks for the same properties each time: what there is to be found.
static PROFD_NAMED Scores topk(int device, Scores scores, std::size_t k,
                               std::vector<Visit>& visits) {
  Visit visit{.begin = Now()};
  const std::size_t block = get_device_properties(device, visit);
  visit.end = Now();
  visits.push_back(visit);
  sort_blocks(scores, block);
  k = std::min(k, scores.size());
  std::partial_sort(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(k), scores.end(),
                    std::greater<>{});
  scores.resize(k);
  return scores;
}

Engine::Engine(const std::string& device) : device_(OpenDevice(device)) {
  worker_ = std::thread([this] { Run(); });
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return worker_tid_ != 0; });
}

Engine::~Engine() {
  Stop();
  ::close(device_);
}

std::uint64_t Engine::Push(Scores scores, std::size_t k) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({++last_handle_, std::move(scores), k});
  pushed_.notify_one();
  return last_handle_;
}

Scores Engine::Wait(std::uint64_t handle) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return results_.contains(handle); });
  auto result = results_.extract(handle);
  return std::move(result.mapped());
}

const std::vector<Visit>& Engine::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    pushed_.notify_one();
  }
  if (worker_.joinable()) worker_.join();
  return visits_;
}

Engine::Operation Engine::TakeOperation() {
  std::unique_lock lock(mutex_);
  pushed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (queue_.empty()) return {};
  Operation operation = std::move(queue_.front());
  queue_.pop_front();
  return operation;
}

void Engine::Run() {
  ::pthread_setname_np(::pthread_self(), "engine-worker");
  {
    const std::lock_guard lock(mutex_);
    worker_tid_ = static_cast<int>(::syscall(SYS_gettid));
    done_.notify_all();
  }
  while (true) {
    Operation operation = TakeOperation();
    if (operation.handle == 0) return;
    Scores result = topk(device_, std::move(operation.scores), operation.k, visits_);
    const std::lock_guard lock(mutex_);
    results_.emplace(operation.handle, std::move(result));
    done_.notify_all();
  }
}

}  // namespace engine
