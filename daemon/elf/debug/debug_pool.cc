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
  used_.Put(used.get(), used, used->file->bytes());
  if (used_.cost() > options_.bytes) {
    used->file->Shrink();
    used_.Charge(used.get(), used->file->bytes());
  }
  PublishBytes();
}

void DebugPool::Close(Entry& entry) {
  DwarfFile::Descriptors descriptors = DwarfFile::Close(std::move(entry.file));
  entry.fd = std::move(descriptors.fd);
  entry.alternate = std::move(descriptors.alternate);
  entry.state = Entry::State::kNew;
}

void DebugPool::PublishBytes() {
  bytes_.Set(used_.cost());
  memory_.Set(used_.cost());
}

void DebugPool::GiveUp() {
  const std::uint64_t requested = memory_.TakeReclaimRequest();
  if (requested == 0) return;
  used_.Shrink(used_.cost() - std::min<std::size_t>(requested, used_.cost()));
  PublishBytes();
}

}  // namespace profd::elf
