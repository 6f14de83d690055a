// FileObjectSource: objects from the files of this machine, while processes map them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/base/counter.h"
#include "daemon/base/proc_fs.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/elf/debug/debug_download.h"
#include "daemon/elf/debug/debug_finder.h"
#include "daemon/elf/debug/debug_pool.h"
#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/file/elf_reader.h"
#include "daemon/elf/file/file_finder.h"
#include "daemon/elf/file/object_source.h"

namespace profd::elf {

// Owned by the composition root, used by the symbolizer thread; any thread may read the counters.
// Load opens the file each time, so that it notices one that is replaced or rewritten. It reads the
// file only if no object of it is held: all processes that map a file, also in containers, share
// its object. The callers decide how long they hold objects. Reading may wait for the disk.
class FileObjectSource : public ObjectSource {
 public:
  struct Counters {
    Counter loads;       // calls of Load
    Counter files_read;  // those that read symbols from a file
    Counter failures;    // those without an answer
  };

  // Where names come from beside the mapped files themselves.
  struct DebugSearch {
    bool inlined = true;    // inlined functions and lines too, not only symbols
    bool download = false;  // from the servers of DEBUGINFOD_URLS, for later look-ups
    DebugPool::Options pool;
    budget::MemoryBudget* memory = nullptr;  // files that do not fit are refused; null: all fit
  };

  // The mapped files' own symbols alone.
  explicit FileObjectSource(ProcFs proc, ElfLimits limits = {})
      : finder_(std::move(proc)), limits_(limits) {}
  FileObjectSource(ProcFs proc, ElfLimits limits, const DebugSearch& search)
      : finder_(proc),
        limits_(limits),
        debug_finder_(std::in_place, std::move(proc)),
        download_(search.download ? std::make_unique<DebugDownload>() : nullptr),
        pool_(search.inlined ? std::make_unique<DebugPool>(search.pool) : nullptr),
        memory_(search.memory) {}

  [[nodiscard]] Result<ObjectRef> Load(const ObjectId& id) override;
  [[nodiscard]] std::uint64_t improvements() const override {
    return (pool_ ? pool_->improvements() : 0) + (download_ ? download_->improvements() : 0);
  }
  // Of debug information; null where there is none.
  [[nodiscard]] DebugPool* pool() { return pool_.get(); }
  // Memory of debug information; any thread.
  [[nodiscard]] std::size_t debug_bytes() const { return pool_ ? pool_->bytes() : 0; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  // Whether there is room for what reading a file of this length may take.
  [[nodiscard]] bool Fits(std::uint64_t file_bytes) const;
  Result<ObjectRef> LoadFile(const ObjectId& id);
  // Nothing: contents.info.debug_missing says what was tried.
  [[nodiscard]] std::optional<FoundDebugFile> FindDebugFile(const ObjectId& id,
                                                            ElfContents& contents) const;
  // Symbols of a separate file, or packed ones, in the place of `contents`' own.
  void AddDebugSymbols(ElfContents& contents, const FoundDebugFile* found) const;
  [[nodiscard]] DebugPool::EntryRef DebugEntry(const ObjectId& id, FoundFile& file,
                                               ElfContents& contents, FoundDebugFile* found);
  Result<ObjectRef> LoadVdso(const ObjectId& id);

  const FileFinder finder_;
  const ElfLimits limits_;
  const std::optional<DebugFinder> debug_finder_;
  const std::unique_ptr<DebugDownload> download_;
  const std::unique_ptr<DebugPool> pool_;
  budget::MemoryBudget* const memory_ = nullptr;
  std::unordered_map<FileStamp, std::weak_ptr<const Object>> held_;
  std::size_t sweep_at_ =
      64;  // when `held_` grows to this, objects that are no longer held are forgotten
  ObjectRef vdso_;
  Counters counters_;
};

}  // namespace profd::elf
