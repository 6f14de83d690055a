#include "daemon/health/own_usage.h"

#include <unistd.h>

#include <charconv>
#include <ctime>
#include <string>

namespace profd::health {

std::uint64_t OwnCpuNs() {
  timespec now{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return 0;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t OwnResidentBytes(const ProcFs& proc) {
  const auto statm = proc.Read("self/statm", 4096);  // "size resident shared ...", in pages
  if (!statm) return 0;
  const auto space = statm->find(' ');
  if (space == std::string::npos) return 0;
  std::uint64_t pages = 0;
  std::from_chars(statm->data() + space + 1, statm->data() + statm->size(), pages);
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace profd::health
