#include "daemon/elf/debug/debug_pool.h"

#include <algorithm>
#include <utility>

namespace profd::elf {

struct DebugPool::Entry {
  enum class State { kNew, kOpening, kOpen, kFailed };

  UniqueFd fd;
  UniqueFd alternate;
  std::atomic<State> state = State::kNew;
  std::unique_ptr<DwarfFile> file;  // the opening thread's until the state is kOpen
  std::size_t bytes = 0;            // as they were counted
  bool listed = false;              // in used_
  std::list<EntryRef>::iterator place;
};

DebugPool::~DebugPool() {
  if (server_.joinable()) server_.request_stop();
}

DebugPool::EntryRef DebugPool::Add(const FileStamp& stamp, UniqueFd fd, UniqueFd alternate) {
  constexpr std::size_t kSweepAt = 4096;
  if (entries_.size() >= kSweepAt)
    std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Entry>& known = entries_[stamp];
  if (EntryRef entry = known.lock(); entry && entry->state.load() != Entry::State::kFailed)
    return entry;
  auto entry = std::make_shared<Entry>();
  entry->fd = std::move(fd);
  entry->alternate = std::move(alternate);
  known = entry;
  return entry;
}

std::vector<SourceFrame> DebugPool::Find(const EntryRef& entry, std::uint64_t vaddr) {
  if (entry->state.load() == Entry::State::kNew) {
    const auto bytes = DwarfFile::UnpackedBytes(entry->fd.get(), options_.limits);
    if (!bytes) {
      entry->state = Entry::State::kFailed;
    } else if (!Fits(*bytes)) {
      return {};
    } else if (*bytes <= options_.prompt_bytes) {
      Open(*entry);
    } else {
      OpenLater(entry);
    }
  }
  if (entry->state.load() != Entry::State::kOpen) return {};
  std::vector<SourceFrame> frames = entry->file->Find(vaddr);
  KeepBound(entry);
  return frames;
}

bool DebugPool::Fits(std::uint64_t bytes) const {
  // As much again is what libdw and the lists of units come to.
  return options_.memory == nullptr ||
         options_.memory->TakeRoom(2 * std::min(bytes, options_.limits.eager_bytes));
}

void DebugPool::Open(Entry& entry) const {
  auto file = DwarfFile::Open(std::move(entry.fd), std::move(entry.alternate), options_.limits);
  const bool opened = file.ok();
  if (opened) entry.file = *std::move(file);
  entry.state = opened ? Entry::State::kOpen : Entry::State::kFailed;
}

void DebugPool::OpenLater(const EntryRef& entry) {
  entry->state = Entry::State::kOpening;
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(entry);
  }
  wake_.notify_one();
  if (!server_.joinable())
    server_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
}

void DebugPool::Serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    EntryRef entry;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
      entry = std::move(queue_.front());
      queue_.pop_front();
    }
    Open(*entry);
    if (entry->state.load() == Entry::State::kOpen) improvements_.Add();
  }
}

void DebugPool::KeepBound(const EntryRef& used) {
  if (used->listed) {
    used_.splice(used_.begin(), used_, used->place);
  } else {
    used_.push_front(used);
    used->place = used_.begin();
    used->listed = true;
  }
  const std::size_t others = bytes_.value() - used->bytes;
  used->bytes = used->file->bytes();
  bytes_.Set(others + used->bytes);
  while (used_.size() > 1 && (bytes_.value() > options_.bytes || used_.size() > options_.files))
    CloseOldest();
  if (bytes_.value() > options_.bytes) Shrink(*used);
  memory_.Set(bytes_.value());
}

void DebugPool::CloseOldest() {
  const EntryRef oldest = used_.back();
  used_.pop_back();
  oldest->listed = false;
  bytes_.Set(bytes_.value() - std::exchange(oldest->bytes, 0));
  DwarfFile::Descriptors descriptors = DwarfFile::Close(std::move(oldest->file));
  oldest->fd = std::move(descriptors.fd);
  oldest->alternate = std::move(descriptors.alternate);
  oldest->state = Entry::State::kNew;
}

void DebugPool::Shrink(Entry& entry) {
  entry.file->Shrink();
  const std::size_t others = bytes_.value() - entry.bytes;
  entry.bytes = entry.file->bytes();
  bytes_.Set(others + entry.bytes);
}

void DebugPool::GiveUp() {
  const std::uint64_t requested = memory_.TakeReclaimRequest();
  if (requested == 0) return;
  const std::size_t keep = bytes_.value() - std::min<std::size_t>(requested, bytes_.value());
  while (!used_.empty() && bytes_.value() > keep) CloseOldest();
  memory_.Set(bytes_.value());
}

}  // namespace profd::elf
