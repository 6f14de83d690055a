// TableStore: which files have tables, and which of their chunks are loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/counter.h"
#include "daemon/base/keys.h"
#include "daemon/base/result.h"
#include "daemon/source/bpf/unwind_maps.h"
#include "daemon/unwind/cfi/cfi_reader.h"
#include "daemon/unwind/tables/table_pool.h"

namespace profd::unwind {

struct FileKeyHash {
  std::size_t operator()(const profd_file_key& key) const {
    const std::uint64_t place =
        MixBits(key.inode ^ MixBits(std::uint64_t{key.device} << 32 | key.generation));
    return MixBits(place ^ MixBits(key.size ^ MixBits(key.mtime_ns)));
  }
};
struct FileKeyEqual {
  bool operator()(const profd_file_key& a, const profd_file_key& b) const;
};

// Written by the store's thread; any thread may read.
struct StoreCounters {
  Counter files;      // known at present, those without tables included
  Counter chunks;     // loaded at present
  Counter rows;       // in them
  Counter bytes;      // of the pool in use
  Counter memory;     // kernel memory of slabs and lists
  Counter evictions;  // chunks given up for others, since the start
  Counter crowded;    // chunks refused: no room even after evictions, since the start
  Counter cut;        // blocks with too many rows, or rules beyond what a file may have
};

// Not an LruCache: the BPF programs use the tables and write the time of use into the shared
// memory, so what was used longest ago is known only when the store looks there. Publishes bytes
// first, then with a release store what leads to them; unpublishes in the opposite order, and
// leaves it to the pool when bytes may be used again. Used by one thread.
class TableStore {
 public:
  // A file's number in unwind_files.
  using FileIndex = std::uint32_t;
  enum class Room {
    kMake,  // by discarding what was used longest ago
    kFree   // only memory that is not in use
  };

  // `cap_bytes`: kernel memory of pool and lists. Both parts must outlive this.
  TableStore(source::PoolMemory& memory, source::FileMaps& maps, std::uint64_t cap_bytes);

  [[nodiscard]] std::optional<FileIndex> Find(const profd_file_key& key) const;
  // A file whose chunks are to be loaded; `flags` of PROFD_FILE_*.
  [[nodiscard]] Result<FileIndex> AddFile(const profd_file_key& key,
                                          const std::vector<TextRange>& text, std::uint32_t flags,
                                          Room room);
  // A file without usable tables.
  [[nodiscard]] Result<FileIndex> AddWithoutTables(const profd_file_key& key);
  // The same file under one more name that the kernel has for it.
  [[nodiscard]] Result<void> AddKey(FileIndex file, const profd_file_key& key);

  // The chunk of this file offset: whether it is one of the file and not loaded yet.
  [[nodiscard]] bool Lacks(FileIndex file, std::uint64_t file_offset) const;
  [[nodiscard]] bool has_tables(FileIndex file) const;
  // Chunks with rules that are loaded.
  [[nodiscard]] std::uint32_t loaded(FileIndex file) const { return files_.at(file).loaded; }
  // The chunk that begins at `begin` takes long to make: it is, when a program requests it.
  void Defer(FileIndex file, std::uint64_t begin) { files_.at(file).deferred.insert(begin); }
  // First file offset of each chunk that is neither loaded nor deferred.
  [[nodiscard]] std::vector<std::uint64_t> MissingChunks(FileIndex file) const;
  // `rows` of the chunk that begins at `begin`. kExhausted: no room.
  [[nodiscard]] Result<void> LoadChunk(FileIndex file, std::uint64_t begin,
                                       std::span<const Row> rows, Room room);

  // Unpublishes a chunk: programs request it again.
  void Drop(FileIndex file, std::uint64_t begin);
  // The tick of the last look-up in a chunk that is loaded, or was found to be without rules.
  [[nodiscard]] std::uint32_t last_used(FileIndex file, std::uint64_t begin) const;

  // Time for last_used; call about once a second.
  void SetTick(std::uint32_t tick);
  [[nodiscard]] std::uint32_t tick() const { return tick_; }
  [[nodiscard]] const StoreCounters& counters() const { return counters_; }
  // Less than half of the memory is in use.
  [[nodiscard]] bool roomy() const { return pool_.used_bytes() * 2 < pool_.max_bytes(); }

 private:
  struct File {
    std::vector<profd_file_key> keys;
    std::uint32_t rule_capacity = 0;   // rules that fit at the place of its rules
    std::uint32_t loaded = 0;          // chunks with bytes
    std::set<std::uint64_t> deferred;  // begins of chunks
  };

  [[nodiscard]] Result<FileIndex> TakeIndex();
  [[nodiscard]] Result<FileIndex> Publish(const profd_file_key& key, profd_unwind_file entry);
  [[nodiscard]] std::optional<Place> Allocate(std::uint64_t bytes, std::uint32_t align_units,
                                              std::uint64_t whole_bytes, Room room);
  [[nodiscard]] bool GrowRules(FileIndex file, std::span<const profd_unwind_rule> rules, Room room);
  // Gives up chunks used longest ago, `bytes` at least, but none of `busy_`.
  [[nodiscard]] bool Evict(std::uint64_t bytes);
  [[nodiscard]] bool EvictFile();
  std::uint64_t DropChunk(FileIndex file, std::uint32_t chunk);
  std::uint64_t RemoveFile(FileIndex file);
  [[nodiscard]] profd_chunk_ref& RefOf(FileIndex file, std::uint32_t chunk) const;
  void Count();

  source::FileMaps& maps_;
  TablePool pool_;
  std::uint32_t tick_ = 1;
  std::optional<FileIndex> busy_;  // must stay while something is loaded into it
  std::unordered_map<profd_file_key, FileIndex, FileKeyHash, FileKeyEqual> by_key_;
  std::unordered_map<FileIndex, File> files_;
  std::vector<FileIndex> free_;     // indexes to take
  std::vector<FileIndex> retired_;  // to be taken again after a wait
  source::PoolMemory& memory_;
  StoreCounters counters_;
};

}  // namespace profd::unwind
