#include "daemon/base/proc/own_usage.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <ctime>
#include <string>
#include <string_view>

#include "daemon/base/proc/proc_stat.h"

namespace profd {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// Fields of stat.
constexpr int kUserTime = 14;
constexpr int kSystemTime = 15;

std::uint64_t ToNs(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

// 0 when there is no such clock.
std::uint64_t Read(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

std::uint64_t OwnCpuNs() {
  rusage children{};
  (void)::getrusage(RUSAGE_CHILDREN, &children);
  return Read(CLOCK_PROCESS_CPUTIME_ID) + ToNs(children.ru_utime) + ToNs(children.ru_stime);
}

std::uint64_t ThreadCpuNs() { return Read(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t ThreadCpuNs(pthread_t thread) {
  clockid_t clock = 0;
  return ::pthread_getcpuclockid(thread, &clock) == 0 ? Read(clock) : 0;
}

std::map<std::string, std::uint64_t> OwnThreadCpuNs(const ProcFs& proc) {
  std::map<std::string, std::uint64_t> threads;
  const auto tids = proc.ListNumbers("self/task");
  if (!tids) return threads;
  const auto tick_ns = kNsPerSecond / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  for (const auto tid : *tids) {
    const auto stat = proc.Read("self/task/" + std::to_string(tid) + "/stat", 4096);
    if (!stat) continue;  // it has ended
    const auto begin = stat->find('(');
    const auto end = stat->rfind(')');
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    const auto ticks =
        StatField(*stat, kUserTime).value_or(0) + StatField(*stat, kSystemTime).value_or(0);
    threads[stat->substr(begin + 1, end - begin - 1)] += ticks * tick_ns;
  }
  return threads;
}

std::uint64_t OwnResidentBytes(const ProcFs& proc) { return OwnResident(proc).Bytes(); }

OwnResident::OwnResident(const ProcFs& proc)
    : statm_(::open(proc.Path("self/statm").c_str(), O_RDONLY | O_CLOEXEC)) {}

std::uint64_t OwnResident::Bytes() const {
  std::array<char, 256> text;  // "size resident shared ...", in pages
  const ssize_t length = ::pread(statm_.get(), text.data(), text.size(), 0);
  if (length <= 0) return 0;
  const std::string_view statm(text.data(), static_cast<std::size_t>(length));
  const auto space = statm.find(' ');
  if (space == std::string_view::npos) return 0;
  std::uint64_t pages = 0;
  std::from_chars(statm.data() + space + 1, statm.data() + statm.size(), pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

HeapBytes OwnHeapBytes() {
  const auto heap = ::mallinfo2();
  return {.used = heap.uordblks + heap.hblkhd, .free = heap.fordblks};
}

std::uint64_t ThreadsOnHost(const ProcFs& proc) {
  const auto loads = proc.Read("loadavg", 256);  // "0.25 0.57 0.65 2/1234 5678"
  if (!loads) return 0;
  const auto slash = loads->find('/');
  if (slash == std::string::npos) return 0;
  std::uint64_t threads = 0;
  std::from_chars(loads->data() + slash + 1, loads->data() + loads->size(), threads);
  return threads;
}

}  // namespace profd
