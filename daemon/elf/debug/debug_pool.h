// DebugPool: the debug information in use, within one bound of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/debug/dwarf_file.h"
#include "daemon/elf/file/object.h"
#include "daemon/elf/file/regular_file.h"

namespace profd::elf {

// The first look-up in a file opens it: unpacks it, lists its units. That takes seconds if it is
// large. The pool closes the files that were used longest ago, and opens them again at the next
// look-up. It shrinks the file in use when that alone is beyond the bound. Owned by an ObjectReader
// and used by its thread.
class DebugPool {
 public:
  struct Options {
    std::size_t bytes = 96u << 20;
    std::size_t files = 128;
    DebugLimits limits;
  };
  struct Entry;  // one file
  using EntryRef = std::shared_ptr<Entry>;

  DebugPool() : DebugPool(Options{}) {}
  explicit DebugPool(Options options);
  DebugPool(const DebugPool&) = delete;
  DebugPool& operator=(const DebugPool&) = delete;
  ~DebugPool() = default;

  // The entry of the file with this stamp; owns the descriptors. Nothing is read yet.
  [[nodiscard]] EntryRef Add(const FileStamp& stamp, UniqueFd fd, UniqueFd alternate);
  // As Object::FindSource; empty also if the file cannot be opened.
  [[nodiscard]] std::vector<SourceFrame> Find(const EntryRef& entry, std::uint64_t vaddr);

 private:
  void Open(Entry& entry) const;
  void KeepBound(const EntryRef& used);
  // It can be opened again.
  static void Close(Entry& entry);

  const Options options_;
  LruCache<const Entry*, EntryRef> used_;  // those that are open
  std::unordered_map<FileStamp, std::weak_ptr<Entry>> entries_;
};

}  // namespace profd::elf
