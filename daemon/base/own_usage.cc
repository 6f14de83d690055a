#include "daemon/base/own_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <ctime>
#include <string>

namespace profd {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

std::uint64_t ToNs(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

}  // namespace

std::uint64_t OwnCpuNs() {
  timespec own{};
  rusage children{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) != 0) return 0;
  (void)::getrusage(RUSAGE_CHILDREN, &children);
  return static_cast<std::uint64_t>(own.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(own.tv_nsec) + ToNs(children.ru_utime) +
         ToNs(children.ru_stime);
}

std::uint64_t OwnResidentBytes(const ProcFs& proc) {
  const auto statm = proc.Read("self/statm", 4096);  // "size resident shared ...", in pages
  if (!statm) return 0;
  const auto space = statm->find(' ');
  if (space == std::string::npos) return 0;
  std::uint64_t pages = 0;
  std::from_chars(statm->data() + space + 1, statm->data() + statm->size(), pages);
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace profd
