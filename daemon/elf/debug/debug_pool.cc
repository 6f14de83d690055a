#include "daemon/elf/debug/debug_pool.h"

#include <utility>

namespace profd::elf {

struct DebugPool::Entry {
  UniqueFd fd;
  UniqueFd alternate;
  std::unique_ptr<DwarfFile> file;  // null: it is closed
  bool failed = false;
};

DebugPool::DebugPool(Options options)
    : options_(std::move(options)),
      used_(options_.files, options_.bytes,
            [](const Entry* /*key*/, const EntryRef& entry) { Close(*entry); }) {}

DebugPool::EntryRef DebugPool::Add(const FileStamp& stamp, UniqueFd fd, UniqueFd alternate) {
  constexpr std::size_t kSweepAt = 4096;
  if (entries_.size() >= kSweepAt)
    std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Entry>& known = entries_[stamp];
  if (EntryRef entry = known.lock(); entry && !entry->failed) return entry;
  auto entry = std::make_shared<Entry>();
  entry->fd = std::move(fd);
  entry->alternate = std::move(alternate);
  known = entry;
  return entry;
}

std::vector<SourceFrame> DebugPool::Find(const EntryRef& entry, std::uint64_t vaddr) {
  if (!entry->file && !entry->failed) Open(*entry);
  if (!entry->file) return {};
  std::vector<SourceFrame> frames = entry->file->Find(vaddr);
  KeepBound(entry);
  return frames;
}

void DebugPool::Open(Entry& entry) const {
  auto file = DwarfFile::Open(std::move(entry.fd), std::move(entry.alternate), options_.limits);
  entry.failed = !file.ok();
  if (file) entry.file = *std::move(file);
}

void DebugPool::KeepBound(const EntryRef& used) {
  used_.Put(used.get(), used, used->file->bytes());
  if (used_.cost() > options_.bytes) {
    used->file->Shrink();
    used_.Charge(used.get(), used->file->bytes());
  }
}

void DebugPool::Close(Entry& entry) {
  DwarfFile::Descriptors descriptors = DwarfFile::Close(std::move(entry.file));
  entry.fd = std::move(descriptors.fd);
  entry.alternate = std::move(descriptors.alternate);
}

}  // namespace profd::elf
