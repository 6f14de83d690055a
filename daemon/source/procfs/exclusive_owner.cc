#include "daemon/source/procfs/exclusive_owner.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

#include "daemon/base/proc/proc_stat.h"

namespace profd::source {
namespace {

std::vector<std::uint64_t> Numbers(std::string_view text, int base) {
  std::vector<std::uint64_t> numbers;
  while (true) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return numbers;
    text.remove_prefix(begin);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc{}) return {};
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

// In a user namespace of its own, it has rights over that alone.
bool HasRightsOverHost(const std::string& directory, std::string_view status, const ProcFs& proc) {
  const auto permitted = Numbers(StatusLine(status, "CapPrm:"), 16);
  if (permitted.size() == 1 && permitted[0] == 0) return false;
  const auto its = proc.ReadLink(directory + "/ns/user");
  const auto ours = proc.ReadLink("self/ns/user");
  return !its || !ours || *its == *ours;
}

}  // namespace

ExclusiveOwner SoleOwnerOf(const std::string& directory, std::string_view status,
                           const ProcFs& proc) {
  constexpr std::size_t kUids = 4;  // real, effective, saved, of the file system
  // The kernel gives the files of a process that is not dumpable to root.
  struct stat info {};
  if (::stat(proc.Path(directory).c_str(), &info) != 0) return std::nullopt;
  const auto uids = Numbers(StatusLine(status, "Uid:"), 10);
  const bool sole = uids.size() == kUids && std::ranges::count(uids, info.st_uid) == kUids &&
                    !HasRightsOverHost(directory, status, proc);
  return sole ? ExclusiveOwner(info.st_uid) : std::nullopt;
}

}  // namespace profd::source
