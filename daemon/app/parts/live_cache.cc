#include "daemon/app/parts/live_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/base/files.h"
#include "daemon/reader/message.h"

namespace profd::app {
namespace {

// Which profd this is: another one may read files differently.
std::string OwnBuild() {
  struct stat own {};
  if (::stat("/proc/self/exe", &own) != 0) return PROFD_VERSION;
  return reader::Packer()
      .Text(PROFD_VERSION)
      .Number(static_cast<std::uint64_t>(own.st_dev))
      .Number(static_cast<std::uint64_t>(own.st_ino))
      .Number(static_cast<std::int64_t>(own.st_mtim.tv_sec))
      .Number(static_cast<std::int64_t>(own.st_mtim.tv_nsec))
      .Take();
}

}  // namespace

std::unique_ptr<reader::AnswerCache> MakeCache(const config::Options& options) {
  const std::string directory =
      config::CacheDirectory(options, std::getenv("CACHE_DIRECTORY"), ::geteuid() == 0);
  if (directory.empty()) return nullptr;
  static_cast<void>(::mkdir(directory.c_str(), S_IRWXU));  // the cache says what is wrong
  constexpr std::size_t kMaxBootId = 64;
  auto boot = ReadFile("/proc/sys/kernel/random/boot_id", kMaxBootId);
  return std::make_unique<reader::AnswerCache>(
      reader::AnswerCacheSettings{.path = directory + "/files.db",
                                  .max_bytes = options.cache_max_size.count,
                                  .program = OwnBuild(),
                                  .boot = boot ? *std::move(boot) : ""});
}

Diagnostics Describe(const reader::AnswerCache& cache) {
  const reader::AnswerCache::Counters& counters = cache.counters();
  Diagnostics described;
  described.counters = {
      {"file_cache_found", "answers about files that an earlier profd has read",
       counters.found.value()},
      {"file_cache_missing", "answers about files that were not in the cache",
       counters.missing.value()},
      {"file_cache_kept", "answers about files that were put into the cache",
       counters.kept.value()},
      {"file_cache_dropped", "answers about files for which the cache had no room or no time",
       counters.dropped.value()}};
  return described;
}

}  // namespace profd::app
