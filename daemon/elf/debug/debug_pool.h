// DebugPool: the debug information in use, within one bound of memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/base/lru_cache.h"
#include "daemon/base/unique_fd.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/elf/debug/dwarf_file.h"
#include "daemon/elf/file/file_finder.h"
#include "daemon/elf/file/object.h"

namespace profd::elf {

// Used by the thread of its ObjectSource. A thread of the pool opens large files (unpacks them,
// lists their units), so that no look-up waits. Until then they have no answers; improvements()
// grows when they have. The pool closes the files that were used longest ago, and opens them again
// at the next look-up. It shrinks the file in use when that alone is beyond the bound.
class DebugPool {
 public:
  struct Options {
    std::size_t bytes = 96u << 20;
    std::size_t files = 128;
    std::uint64_t prompt_bytes = 32u << 20;  // debugging sections up to here are opened at once
    DebugLimits limits;
    budget::MemoryBudget* memory =
        nullptr;  // what does not fit is not opened for now; null: all fits
  };
  struct Entry;  // one file
  using EntryRef = std::shared_ptr<Entry>;

  DebugPool() : DebugPool(Options{}) {}
  explicit DebugPool(const Options& options)
      : options_(options),
        used_(options.files, options.bytes,
              [](const Entry* /*key*/, const EntryRef& entry) { Close(*entry); }) {}
  DebugPool(const DebugPool&) = delete;
  DebugPool& operator=(const DebugPool&) = delete;
  ~DebugPool();

  // The entry of the file with this stamp; owns the descriptors. Nothing is read yet.
  [[nodiscard]] EntryRef Add(const FileStamp& stamp, UniqueFd fd, UniqueFd alternate);
  // As Object::FindSource; empty also while the file is being opened, or cannot be.
  [[nodiscard]] std::vector<SourceFrame> Find(const EntryRef& entry, std::uint64_t vaddr);
  // Closes files until what the memory budget requests is free, the least recently used first.
  void GiveUp();
  [[nodiscard]] budget::MemoryAccount& memory() { return memory_; }
  // How often an entry has got answers after it had none. Any thread.
  [[nodiscard]] std::uint64_t improvements() const { return improvements_.value(); }
  // Memory held now. Any thread.
  [[nodiscard]] std::size_t bytes() const { return bytes_.value(); }

 private:
  [[nodiscard]] bool Fits(std::uint64_t bytes) const;
  void Open(Entry& entry) const;
  void OpenLater(const EntryRef& entry);
  void Serve(const std::stop_token& stop);
  void KeepBound(const EntryRef& used);
  // It can be opened again.
  static void Close(Entry& entry);
  void PublishBytes();

  const Options options_;
  LruCache<const Entry*, EntryRef> used_;  // those that are open
  std::unordered_map<FileStamp, std::weak_ptr<Entry>> entries_;
  Counter bytes_;
  budget::MemoryAccount memory_{"debug information"};
  Counter improvements_;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<EntryRef> queue_;
  std::jthread server_;  // started when there is something to do
};

}  // namespace profd::elf
