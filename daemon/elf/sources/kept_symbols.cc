#include "daemon/elf/sources/kept_symbols.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <utility>

namespace profd::elf {

bool WasWrittenAfter(std::uint64_t mapped_ns, const FileStamp& stamp, const Clock& clock) {
  const auto now = static_cast<std::int64_t>(clock.RealtimeNs());
  const auto age = static_cast<std::int64_t>(clock.MonotonicNs() - mapped_ns);
  return mapped_ns != 0 && stamp.modified_ns > now - age && stamp.modified_ns <= now;
}

bool KeptSymbols::IsNew(const FileStamp& stamp) const {
  constexpr std::int64_t kRecentNs = std::chrono::nanoseconds(kRecent).count();
  const auto now = static_cast<std::int64_t>(clock_.RealtimeNs());
  const std::int64_t changed_ns = std::max(stamp.modified_ns, stamp.changed_ns);
  return stamp.bytes <= kMaxFileBytes && changed_ns >= now - kRecentNs;
}

bool KeptSymbols::See(const FileStamp& stamp, const Mapping& mapping, std::uint64_t seen_ns) {
  const std::scoped_lock lock(mutex_);
  if (File* known = files_.Find(stamp); known != nullptr) {
    known->mapping = mapping;
    known->seen_ns = seen_ns;
    return false;
  }
  if (!IsNew(stamp)) return false;
  files_.Put(stamp, {.mapping = mapping, .seen_ns = seen_ns}, sizeof(File));
  return true;
}

void KeptSymbols::Keep(const FileStamp& stamp, std::string contents) {
  const std::scoped_lock lock(mutex_);
  File* const file = files_.Find(stamp);
  if (file == nullptr || contents.size() > kMaxFileBytes) return;
  file->contents = std::move(contents);
  files_.Charge(stamp, sizeof(File) + file->contents.capacity());
  if (const std::uint64_t requested = memory_.TakeReclaimRequest(); requested != 0)
    files_.Shrink(files_.cost() - std::min<std::size_t>(requested, files_.cost()));
  memory_.Set(files_.cost());
}

std::optional<ObjectContents> KeptSymbols::Find(const ObjectId& id) {
  const std::scoped_lock lock(mutex_);
  std::optional<FileStamp> latest;
  files_.ForEach([&](const FileStamp& stamp, const File& file) {
    if (IsOf(id, stamp, file) && (!latest || latest->modified_ns < stamp.modified_ns))
      latest = stamp;
  });
  if (!latest) return std::nullopt;
  auto contents = UnpackContents(files_.Find(*latest)->contents);
  return contents ? std::optional(*std::move(contents)) : std::nullopt;
}

bool KeptSymbols::IsOf(const ObjectId& id, const FileStamp& stamp, const File& file) const {
  // A younger file may have the same number, and any time of modification.
  FileStamp changed = stamp;
  changed.modified_ns = std::max(stamp.modified_ns, stamp.changed_ns);
  // On overlayfs the numbers of a mapping are not those of its file.
  const bool same_file = (stamp.inode == id.inode && major(stamp.device) == id.device_major &&
                          minor(stamp.device) == id.device_minor) ||
                         file.mapping == Mapping{id.pid, id.map_start, id.map_end};
  return same_file && !file.contents.empty() && id.mapped_ns != 0 && file.seen_ns >= id.mapped_ns &&
         !WasWrittenAfter(id.mapped_ns, changed, clock_);
}

}  // namespace profd::elf
