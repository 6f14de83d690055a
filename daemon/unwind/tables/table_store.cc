#include "daemon/unwind/tables/table_store.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>
#include <tuple>

#include "daemon/unwind/tables/chunk_builder.h"
#include "daemon/unwind/tables/rule_table.h"

namespace profd::unwind {
namespace {

constexpr std::uint32_t kRuleUnits = sizeof(profd_unwind_rule) / PROFD_PLACE_UNIT;
constexpr std::size_t kMaxKeys = 16;
// Discarded at once, so that one wait for the programs serves many chunks.
constexpr std::uint64_t kEvictionBytes = 2u << 20;

Error Crowded(const char* what) { return Error{ErrorCode::kExhausted, what, ""}; }

std::uint32_t LastUsed(__u32& last_used) {
  return std::atomic_ref(last_used).load(std::memory_order_relaxed);
}

void StorePlace(__u32& where, std::uint32_t place) {
  std::atomic_ref(where).store(place, std::memory_order_release);
}

// The programs read `rules` and `rule_count` as one word.
void StoreRules(profd_unwind_file& file, std::uint32_t place, std::uint32_t count) {
  using RulesWord [[gnu::may_alias]] = std::uint64_t;
  static_assert(offsetof(profd_unwind_file, rules) % sizeof(RulesWord) == 0);
  // The array begins at a page, and clang does not know that.
  auto* word = static_cast<RulesWord*>(__builtin_assume_aligned(&file.rules, sizeof(RulesWord)));
  __atomic_store_n(word, std::uint64_t{count} << 32 | place, __ATOMIC_RELEASE);
}

std::uint64_t ChunkBytes(std::uint64_t rows) {
  return sizeof(profd_chunk) + rows * sizeof(profd_unwind_row);
}

}  // namespace

bool FileKeyEqual::operator()(const profd_file_key& a, const profd_file_key& b) const {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TableStore::TableStore(source::PoolMemory& memory, source::FileMaps& maps, std::uint64_t cap_bytes)
    : maps_(maps), pool_(memory, cap_bytes - std::min(cap_bytes, maps.bytes())), memory_(memory) {
  for (FileIndex i = PROFD_MAX_UNWIND_FILES; i > 0; --i) free_.push_back(i - 1);
  Count();
}

std::optional<TableStore::FileIndex> TableStore::Find(const profd_file_key& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

Result<TableStore::FileIndex> TableStore::TakeIndex() {
  if (free_.empty() && retired_.empty() && !EvictFile()) return Crowded("too many files");
  if (free_.empty()) {
    PROFD_TRY(memory_.Synchronize());
    free_.swap(retired_);
  }
  const FileIndex index = free_.back();
  free_.pop_back();
  return index;
}

Result<TableStore::FileIndex> TableStore::Publish(const profd_file_key& key,
                                                  profd_unwind_file entry) {
  auto index = TakeIndex();
  if (!index) return index.error();
  const std::uint32_t flags = entry.flags | PROFD_FILE_PRESENT;
  entry.flags = 0;
  entry.last_used = tick_;
  profd_unwind_file& file = maps_.files()[*index];
  std::memcpy(&file, &entry, sizeof file);
  StorePlace(file.flags, flags);
  files_.try_emplace(*index);
  if (const auto added = AddKey(*index, key); !added) {
    RemoveFile(*index);
    return added.error();
  }
  Count();
  return index;
}

Result<TableStore::FileIndex> TableStore::AddWithoutTables(const profd_file_key& key) {
  profd_unwind_file entry{};
  entry.flags = PROFD_FILE_NO_TABLES;
  return Publish(key, entry);
}

Result<TableStore::FileIndex> TableStore::AddFile(const profd_file_key& key,
                                                  const std::vector<TextRange>& text,
                                                  std::uint32_t flags, Room room) {
  profd_unwind_file entry{};
  entry.flags = flags;
  entry.first_chunk = static_cast<__u32>(text.front().begin >> PROFD_CHUNK_SHIFT);
  entry.chunks =
      static_cast<__u32>(((text.back().end - 1) >> PROFD_CHUNK_SHIFT) + 1) - entry.first_chunk;
  const std::uint64_t bytes = std::uint64_t{entry.chunks} * sizeof(profd_chunk_ref);
  const auto index = Allocate(bytes, 1, sizeof(profd_chunk_ref), room);
  if (!index) return Crowded("no room for the file's index");
  std::memset(pool_.At<std::byte>(*index), 0, bytes);
  entry.index = *index;
  auto published = Publish(key, entry);
  if (!published) pool_.Free(*index, bytes);
  return published;
}

Result<void> TableStore::AddKey(FileIndex file, const profd_file_key& key) {
  File& known = files_.at(file);
  if (known.keys.size() == kMaxKeys) return Crowded("too many names for one file");
  while (by_key_.size() >= PROFD_MAX_UNWIND_FILES) {
    busy_ = file;
    const bool evicted = EvictFile();
    busy_.reset();
    if (!evicted) return Crowded("too many names of files");
  }
  PROFD_TRY(maps_.Insert(key, file));
  by_key_[key] = file;
  known.keys.push_back(key);
  return {};
}

profd_chunk_ref& TableStore::RefOf(FileIndex file, std::uint32_t chunk) const {
  return pool_.At<profd_chunk_ref>(maps_.files()[file].index)[chunk];
}

bool TableStore::has_tables(FileIndex file) const {
  return (maps_.files()[file].flags & PROFD_FILE_NO_TABLES) == 0;
}

bool TableStore::Lacks(FileIndex file, std::uint64_t file_offset) const {
  const profd_unwind_file& entry = maps_.files()[file];
  const std::uint64_t chunk = (file_offset >> PROFD_CHUNK_SHIFT) - entry.first_chunk;
  return has_tables(file) && chunk < entry.chunks &&
         RefOf(file, static_cast<std::uint32_t>(chunk)).place == 0;
}

std::vector<std::uint64_t> TableStore::MissingChunks(FileIndex file) const {
  std::vector<std::uint64_t> begins;
  const profd_unwind_file& entry = maps_.files()[file];
  for (std::uint64_t i = 0; i < entry.chunks; ++i) {
    const std::uint64_t begin = (entry.first_chunk + i) << PROFD_CHUNK_SHIFT;
    if (Lacks(file, begin) && !files_.at(file).deferred.contains(begin)) begins.push_back(begin);
  }
  return begins;
}

void TableStore::Drop(FileIndex file, std::uint64_t begin) {
  const auto chunk =
      static_cast<std::uint32_t>((begin >> PROFD_CHUNK_SHIFT) - maps_.files()[file].first_chunk);
  profd_chunk_ref& ref = RefOf(file, chunk);
  if (ref.place > PROFD_CHUNK_EMPTY)
    DropChunk(file, chunk);
  else
    StorePlace(ref.place, 0);
  Count();
}

std::uint32_t TableStore::last_used(FileIndex file, std::uint64_t begin) const {
  return LastUsed(RefOf(file, static_cast<std::uint32_t>((begin >> PROFD_CHUNK_SHIFT) -
                                                         maps_.files()[file].first_chunk))
                      .last_used);
}

bool TableStore::GrowRules(FileIndex file, std::span<const profd_unwind_rule> rules, Room room) {
  profd_unwind_file& entry = maps_.files()[file];
  File& known = files_.at(file);
  const auto count = static_cast<std::uint32_t>(rules.size());
  if (count == entry.rule_count) return true;
  if (count <= known.rule_capacity) {
    // The programs do not read beyond rule_count.
    std::memcpy(pool_.At<profd_unwind_rule>(entry.rules) + entry.rule_count,
                rules.data() + entry.rule_count,
                (count - entry.rule_count) * sizeof(profd_unwind_rule));
    StoreRules(entry, entry.rules, count);
    return true;
  }
  const std::uint32_t capacity = std::max(count + count / 2, 32u);
  const auto place = Allocate(std::uint64_t{capacity} * sizeof(profd_unwind_rule), kRuleUnits,
                              sizeof(profd_unwind_rule), room);
  if (!place) return false;
  std::memcpy(pool_.At<profd_unwind_rule>(*place), rules.data(), rules.size_bytes());
  const Place old = entry.rules;
  StoreRules(entry, *place, count);
  if (old != 0) pool_.Free(old, std::uint64_t{known.rule_capacity} * sizeof(profd_unwind_rule));
  known.rule_capacity = capacity;
  return true;
}

Result<void> TableStore::LoadChunk(FileIndex file, std::uint64_t begin, std::span<const Row> rows,
                                   Room room) {
  if (!Lacks(file, begin)) return {};
  const profd_unwind_file& entry = maps_.files()[file];
  RuleTable rules(entry.rule_count == 0
                      ? std::span<const profd_unwind_rule>()
                      : std::span<const profd_unwind_rule>(pool_.At<profd_unwind_rule>(entry.rules),
                                                           entry.rule_count));
  const PackedChunk packed = PackChunk(rows, begin, rules);
  counters_.cut.Add(packed.cut_blocks + (rules.refused() != 0 ? 1 : 0));
  auto& ref =
      RefOf(file, static_cast<std::uint32_t>((begin >> PROFD_CHUNK_SHIFT) - entry.first_chunk));
  std::atomic_ref(ref.last_used).store(tick_, std::memory_order_relaxed);
  if (packed.bytes.empty()) {
    StorePlace(ref.place, PROFD_CHUNK_EMPTY);
    return {};
  }
  busy_ = file;
  const auto place = Allocate(packed.bytes.size(), 1, sizeof(profd_chunk), room);
  const bool grown = place && GrowRules(file, rules.rules(), room);
  busy_.reset();
  if (place && !grown) pool_.Free(*place, packed.bytes.size());
  if (!grown) {
    counters_.crowded.Add();
    return Crowded("no room for a chunk");
  }
  std::memcpy(pool_.At<std::byte>(*place), packed.bytes.data(), packed.bytes.size());
  StorePlace(ref.place, *place);
  ++files_.at(file).loaded;
  counters_.chunks.Add();
  counters_.rows.Add(packed.rows);
  Count();
  return {};
}

std::optional<Place> TableStore::Allocate(std::uint64_t bytes, std::uint32_t align_units,
                                          std::uint64_t whole_bytes, Room room) {
  while (true) {
    if (const auto place = pool_.Allocate(bytes, align_units, whole_bytes)) return place;
    // What was freed may still be read, as the wait failed: to free more is of no use.
    if (pool_.quarantined_bytes() > 0) return std::nullopt;
    if (room == Room::kFree || !Evict(std::max(bytes, kEvictionBytes))) return std::nullopt;
  }
}

bool TableStore::Evict(std::uint64_t bytes) {
  struct Candidate {
    std::uint32_t last_used;
    FileIndex file;
    std::uint32_t chunk;
  };
  std::vector<Candidate> candidates;
  std::vector<FileIndex> bare;  // files that hold nothing but their index and rules
  for (const auto& [index, known] : files_) {
    if (busy_ == index) continue;
    const profd_unwind_file& entry = maps_.files()[index];
    if (known.loaded == 0 && entry.index != 0) bare.push_back(index);
    for (std::uint32_t i = 0; known.loaded > 0 && i < entry.chunks; ++i) {
      auto& ref = RefOf(index, i);
      if (ref.place > PROFD_CHUNK_EMPTY) candidates.push_back({LastUsed(ref.last_used), index, i});
    }
  }
  std::uint64_t freed = 0;
  for (const FileIndex file : bare) freed += RemoveFile(file);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.last_used, a.file, a.chunk) < std::tie(b.last_used, b.file, b.chunk);
  });
  for (const Candidate& candidate : candidates) {
    if (freed >= bytes) break;
    freed += DropChunk(candidate.file, candidate.chunk);
    counters_.evictions.Add();
    if (files_.at(candidate.file).loaded == 0) freed += RemoveFile(candidate.file);
  }
  Count();
  return freed > 0;
}

bool TableStore::EvictFile() {
  std::optional<FileIndex> oldest;
  std::uint32_t oldest_use = std::numeric_limits<std::uint32_t>::max();
  for (const auto& [index, known] : files_) {
    const std::uint32_t use = LastUsed(maps_.files()[index].last_used);
    if (busy_ == index || (oldest && use >= oldest_use)) continue;
    oldest = index;
    oldest_use = use;
  }
  if (oldest) RemoveFile(*oldest);
  return oldest.has_value();
}

std::uint64_t TableStore::DropChunk(FileIndex file, std::uint32_t chunk) {
  auto& ref = RefOf(file, chunk);
  const Place place = ref.place;
  const std::uint32_t rows = pool_.At<profd_chunk>(place)->first_row[PROFD_CHUNK_BLOCKS];
  StorePlace(ref.place, 0);
  pool_.Free(place, ChunkBytes(rows));
  --files_.at(file).loaded;
  counters_.chunks.Set(counters_.chunks.value() - 1);
  counters_.rows.Set(counters_.rows.value() - rows);
  return ChunkBytes(rows);
}

std::uint64_t TableStore::RemoveFile(FileIndex file) {
  profd_unwind_file& entry = maps_.files()[file];
  const File& known = files_.at(file);
  for (const profd_file_key& key : known.keys) {
    maps_.Erase(key);
    by_key_.erase(key);
  }
  StorePlace(entry.flags, 0);
  std::uint64_t freed = 0;
  for (std::uint32_t i = 0; known.loaded > 0 && i < entry.chunks; ++i) {
    if (RefOf(file, i).place > PROFD_CHUNK_EMPTY) freed += DropChunk(file, i);
  }
  const auto free = [&](Place place, std::uint64_t bytes) {
    if (place == 0) return;
    pool_.Free(place, bytes);
    freed += bytes;
  };
  free(entry.index, std::uint64_t{entry.chunks} * sizeof(profd_chunk_ref));
  free(entry.rules, std::uint64_t{known.rule_capacity} * sizeof(profd_unwind_rule));
  files_.erase(file);
  retired_.push_back(file);
  Count();
  return freed;
}

void TableStore::SetTick(std::uint32_t tick) {
  tick_ = tick;
  maps_.SetTick(tick);
}

void TableStore::Count() {
  counters_.files.Set(files_.size());
  counters_.bytes.Set(pool_.used_bytes());
  counters_.memory.Set(pool_.memory_bytes() + maps_.bytes());
}

}  // namespace profd::unwind
