#include "daemon/unwind/table_service.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "daemon/elf/vdso.h"
#include "daemon/process/maps_parser.h"
#include "daemon/unwind/stretch_builder.h"

namespace profd::unwind {
namespace {

constexpr int kNice = 10;
constexpr std::size_t kMaxWanted = 4096;
constexpr std::size_t kMaxMappings = 16'384;
constexpr std::size_t kMaxReaders = 4;
constexpr std::size_t kMaxStamps = std::size_t{2} * PROFD_MAX_UNWIND_FILES;
constexpr std::chrono::seconds kTick{1};

std::uint64_t HashOf(const profd_wanted& wanted) {
  return MixBits(FileKeyHash()(wanted.key) + (wanted.file_offset >> PROFD_STRETCH_SHIFT));
}

bool IsVdso(const profd_file_key& key) { return key.inode == PROFD_VDSO_INODE && key.size == 0; }

std::uint32_t FlagsOf(const CfiReader& reader) {
  return reader.cpython() ? PROFD_FILE_KEEP_CFA : 0u;
}

}  // namespace

TableService::TableService(source::PoolMemory& memory, source::FileMaps& maps, ProcFs proc,
                           std::uint64_t cap_bytes)
    : proc_(std::move(proc)), store_(memory, maps, cap_bytes) {
  // From now on programs ask.
  store_.SetTick(1);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void TableService::Want(const profd_wanted& wanted) {
  const std::scoped_lock lock(mutex_);
  counters_.wanted.Add();
  if (wanted_.size() >= kMaxWanted) return counters_.queue_full.Add();
  if (!waiting_.insert(HashOf(wanted)).second) return counters_.repeated.Add();
  wanted_.push_back(wanted);
  ready_.notify_one();
}

void TableService::Prefetch(std::uint32_t pid) { Prefetch(Mapping{pid, 0, 0}); }

void TableService::Prefetch(const Mapping& mapping) {
  const std::scoped_lock lock(mutex_);
  if (mappings_.size() >= kMaxMappings) return counters_.queue_full.Add();
  mappings_.push_back(mapping);
  ready_.notify_one();
}

void TableService::Run(const std::stop_token& stop) {
  // Tables can wait longer than the program that is being looked at. Of this thread alone.
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  ::pthread_setname_np(::pthread_self(), "profd-unwind");
  const auto start = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const auto up = std::chrono::steady_clock::now() - start;
    store_.SetTick(static_cast<std::uint32_t>(up / kTick) + 1);
    std::optional<profd_wanted> wanted;
    std::optional<Mapping> mapping;
    {
      std::unique_lock lock(mutex_);
      const bool any = ready_.wait_for(lock, stop, kTick,
                                       [this] { return !wanted_.empty() || !mappings_.empty(); });
      if (!wanted_.empty()) {
        wanted = wanted_.front();
        wanted_.pop_front();
        waiting_.erase(HashOf(*wanted));
      } else if (!mappings_.empty()) {
        mapping = mappings_.front();
        mappings_.pop_front();
      }
      if (!any && !stop.stop_requested()) readers_.clear();  // their images are memory
    }
    if (wanted) HandleWanted(*wanted);
    if (mapping && mapping->end == 0) HandleProcess(stop, mapping->pid);
    if (mapping && mapping->end != 0) HandlePrefetch(*mapping);
  }
}

void TableService::HandleWanted(const profd_wanted& wanted) {
  auto file = store_.Find(wanted.key);
  if (file && !store_.Lacks(*file, wanted.file_offset)) return;
  CfiReader* reader = ReaderFor(wanted);
  file = store_.Find(wanted.key);
  if (reader == nullptr || (file && !store_.has_tables(*file))) return;
  if (!file) {
    auto added =
        store_.AddFile(wanted.key, reader->text(), FlagsOf(*reader), TableStore::Room::kMake);
    if (!added) return;
    file = *added;
    counters_.files_read.Add();
  }
  const std::uint64_t begin = wanted.file_offset / kStretchBytes * kStretchBytes;
  if (store_.Lacks(*file, begin)) Load(*file, *reader, begin, TableStore::Room::kMake);
  // A small file's other stretches, as far as nobody has to go for them.
  if (!reader->small() || !store_.roomy()) return;
  for (const std::uint64_t lacked : store_.LackedStretches(*file))
    Load(*file, *reader, lacked, TableStore::Room::kFree);
}

CfiReader* TableService::ReaderFor(const profd_wanted& wanted) {
  const auto open = std::find_if(readers_.begin(), readers_.end(), [&](const OpenReader& one) {
    return FileKeyEqual()(one.key, wanted.key);
  });
  if (open != readers_.end()) {
    readers_.splice(readers_.begin(), readers_, open);
    return &readers_.front().reader;
  }
  if (IsVdso(wanted.key)) {
    const auto bytes = elf::OwnVdsoBytes();
    return Keep(wanted.key, bytes ? CfiReader::FromMemory(*bytes) : bytes.error());
  }
  auto mapped = OpenMappedFile(proc_, wanted.pid, wanted.mapping_begin, wanted.mapping_end);
  if (!mapped && mapped.error().code == ErrorCode::kNotFound)
    return counters_.gone.Add(), nullptr;  // whoever maps it still will ask
  if (!mapped) return Keep(wanted.key, mapped.error());
  if (!Fits(*mapped, wanted.key)) return counters_.changed.Add(), nullptr;
  const elf::FileStamp stamp = mapped->stamp;
  const auto same = FindByStamp(stamp);
  if (same && !store_.Find(wanted.key)) {
    // Read before under another of its names: fetched ahead, or seen through another mount.
    if (!store_.AddKey(*same, wanted.key)) return nullptr;
    if (!store_.Lacks(*same, wanted.file_offset)) return nullptr;
  }
  Remember(stamp, wanted.key);
  return Keep(wanted.key, CfiReader::Open(std::move(mapped->fd), stamp.bytes));
}

CfiReader* TableService::Keep(const profd_file_key& key, Result<CfiReader> reader) {
  if (!reader) {
    counters_.no_tables.Add();
    if (!store_.Find(key)) (void)store_.AddWithoutTables(key);
    return nullptr;
  }
  if (readers_.size() == kMaxReaders) readers_.pop_back();
  readers_.push_front({key, *std::move(reader)});
  return &readers_.front().reader;
}

void TableService::Load(TableStore::FileIndex file, CfiReader& reader, std::uint64_t begin,
                        TableStore::Room room) {
  const std::uint64_t damaged = reader.damaged();
  const auto rows = reader.ReadRows(begin, begin + kStretchBytes);
  counters_.damaged.Add(reader.damaged() - damaged);
  (void)store_.LoadStretch(file, begin, rows, room);  // the store counts what finds no room
}

void TableService::HandleProcess(const std::stop_token& stop, std::uint32_t pid) {
  const auto maps = proc_.Read(std::to_string(pid) + "/maps");
  if (!maps) return counters_.gone.Add();
  process::ParseMaps(*maps, [&](process::MapsLine&& line) {
    if (!line.executable || line.inode == 0 || stop.stop_requested()) return;
    HandlePrefetch({pid, line.start, line.end});
  });
}

void TableService::HandlePrefetch(const Mapping& mapping) {
  if (!store_.roomy()) return;
  auto mapped = OpenMappedFile(proc_, mapping.pid, mapping.begin, mapping.end);
  if (!mapped) return counters_.gone.Add();
  if (FindByStamp(mapped->stamp)) return;
  const elf::FileStamp stamp = mapped->stamp;
  const profd_file_key key = LikelyKey(*mapped);
  if (store_.Find(key)) return Remember(stamp, key);
  auto reader = CfiReader::Open(std::move(mapped->fd), stamp.bytes);
  Remember(stamp, key);
  if (!reader) {
    counters_.no_tables.Add();
    (void)store_.AddWithoutTables(key);
    return;
  }
  if (!reader->small()) return;  // nobody knows yet which stretches
  const auto file = store_.AddFile(key, reader->text(), FlagsOf(*reader), TableStore::Room::kFree);
  if (!file) return;
  counters_.files_read.Add();
  counters_.prefetched.Add();
  for (const std::uint64_t begin : store_.LackedStretches(*file))
    Load(*file, *reader, begin, TableStore::Room::kFree);
}

std::optional<TableStore::FileIndex> TableService::FindByStamp(const elf::FileStamp& stamp) const {
  const auto found = stamps_.find(stamp);
  return found == stamps_.end() ? std::nullopt : store_.Find(found->second);
}

void TableService::Remember(const elf::FileStamp& stamp, const profd_file_key& key) {
  if (stamps_.size() >= kMaxStamps)
    std::erase_if(stamps_, [this](const auto& entry) { return !store_.Find(entry.second); });
  if (stamps_.size() >= kMaxStamps) stamps_.clear();
  stamps_[stamp] = key;
}

}  // namespace profd::unwind
