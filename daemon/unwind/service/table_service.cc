#include "daemon/unwind/service/table_service.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string>

#include "daemon/elf/sources/vdso.h"
#include "daemon/process/maps_parser.h"
#include "daemon/unwind/tables/chunk_builder.h"

namespace profd::unwind {
namespace {

// Tables that no program has requested yet can wait longer than the programs that are profiled.
// Tables of a file in which stacks end now can wait less long.
constexpr int kNiceAhead = 10;
constexpr int kNiceMissed = 5;
// Chunks of a large file that programs must request before it is loaded whole.
constexpr std::uint32_t kOftenWanted = 16;
constexpr std::size_t kMaxWanted = 4096;
constexpr std::size_t kMaxMappings = 16'384;
constexpr std::size_t kMaxUnfinished = 16;
constexpr std::chrono::seconds kTick{1};

std::uint64_t HashOf(const profd_wanted& wanted) {
  return MixBits(FileKeyHash()(wanted.key) + (wanted.file_offset >> PROFD_CHUNK_SHIFT));
}

profd_file_key VdsoKey() {
  profd_file_key key{};
  key.inode = PROFD_VDSO_INODE;
  return key;
}

bool IsVdso(const profd_file_key& key) { return key.inode == PROFD_VDSO_INODE && key.size == 0; }

std::uint32_t FlagsOf(const CfiReader& reader) {
  return reader.cpython() ? PROFD_FILE_KEEP_CFA : 0u;
}

}  // namespace

TableService::TableService(source::PoolMemory& memory, source::FileMaps& maps, ProcFs proc,
                           std::uint64_t cap_bytes)
    : proc_(std::move(proc)), cap_bytes_(cap_bytes), store_(memory, maps, cap_bytes) {
  // From now on programs send requests.
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

bool TableService::Await(std::uint64_t requests, std::chrono::milliseconds timeout) {
  return AwaitUntil(timeout, [&] { return HasMissed(requests) && !busy_ && mappings_.empty(); });
}

bool TableService::AwaitMissed(std::uint64_t requests, std::chrono::milliseconds timeout) {
  return AwaitUntil(timeout, [&] { return HasMissed(requests); });
}

template <typename Done>
bool TableService::AwaitUntil(std::chrono::milliseconds timeout, const Done& done) {
  std::unique_lock lock(mutex_);
  ++awaiting_;
  const bool is_done = progress_.wait_for(lock, timeout, done);
  --awaiting_;
  return is_done;
}

bool TableService::HasMissed(std::uint64_t requests) const {
  return counters_.wanted.value() >= requests && wanted_.empty() && !handles_wanted_;
}

void TableService::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-unwind");
  own_nice_ = ::getpriority(PRIO_PROCESS, 0);
  const auto start = std::chrono::steady_clock::now();
  // Every process has the vdso, and no mapping of a file leads to it.
  profd_wanted vdso{};
  vdso.key = VdsoKey();
  HandleWanted(vdso);
  while (!stop.stop_requested()) {
    const auto up = std::chrono::steady_clock::now() - start;
    store_.SetTick(static_cast<std::uint32_t>(up / kTick) + 1);
    AccountForMemory();
    const Task task = NextTask(stop);
    if (stop.stop_requested()) return;
    if (task.wanted)
      HandleWanted(*task.wanted);
    else if (!task.mapping)
      LoadUnfinished();
    else if (task.mapping->end == 0)
      HandleProcess(task.mapping->pid);
    else
      HandlePrefetch(*task.mapping);
  }
}

TableService::Task TableService::NextTask(const std::stop_token& stop) {
  Task task;
  int nice = kNiceAhead;
  {
    std::unique_lock lock(mutex_);
    const auto any = [this] { return !wanted_.empty() || !mappings_.empty(); };
    const bool small_left = !unfinished_.empty() && unfinished_.front().reader->small();
    busy_ = small_left || any();
    const bool handled_last_wanted = std::exchange(handles_wanted_, false) && wanted_.empty();
    if (!busy_ || handled_last_wanted) progress_.notify_all();
    if (unfinished_.empty() && !any()) {
      // Readers' images are memory.
      if (!ready_.wait_for(lock, stop, kTick, any)) readers_.Clear();
      busy_ = true;
    }
    if (!unfinished_.empty() && unfinished_.front().missed) nice = kNiceMissed;
    if (!wanted_.empty() || awaiting_ > 0) nice = 0;
    if (!wanted_.empty()) {
      task.wanted = wanted_.front();
      wanted_.pop_front();
      handles_wanted_ = true;
      waiting_.erase(HashOf(*task.wanted));
    } else if (!small_left && !mappings_.empty()) {
      task.mapping = mappings_.front();
      mappings_.pop_front();
    }
  }
  SetNice(nice);
  return task;
}

void TableService::AccountForMemory() {
  // The reader that was used last and the first unfinished file are at work.
  if (readers_memory_.TakeReclaimRequest() != 0) {
    while (readers_.size() > 1) readers_.DiscardOldest();
    if (unfinished_.size() > 1)
      unfinished_.erase(std::next(unfinished_.begin()), unfinished_.end());
  }
  std::uint64_t bytes = 0;
  readers_.ForEach([&](const auto& /*key*/, const Reader& reader) { bytes += reader->bytes(); });
  for (const Unfinished& one : unfinished_) bytes += one.reader->bytes();
  readers_memory_.Set(bytes);
  tables_memory_.Set(store_.counters().memory.value());
}

// Of this thread alone, and by so much more than profd itself. Without the right to come back it
// stays nice.
void TableService::SetNice(int nice) {
  if (nice != nice_ && ::setpriority(PRIO_PROCESS, 0, own_nice_ + nice) == 0) nice_ = nice;
}

void TableService::HandleWanted(const profd_wanted& wanted) {
  auto file = store_.Find(wanted.key);
  if (file && !store_.Lacks(*file, wanted.file_offset)) return;
  const Reader reader = ReaderFor(wanted);
  file = store_.Find(wanted.key);
  if (reader == nullptr || (file && !store_.has_tables(*file))) return;
  if (!file) {
    auto added =
        store_.AddFile(wanted.key, reader->text(), FlagsOf(*reader), TableStore::Room::kMake);
    if (!added) return;
    file = *added;
    counters_.files_read.Add();
  }
  const std::uint64_t begin = wanted.file_offset / kChunkBytes * kChunkBytes;
  if (store_.Lacks(*file, begin)) Load(*file, *reader, begin, TableStore::Room::kMake);
  if (reader->small() || store_.loaded(*file) >= kOftenWanted) Finish(wanted.key, reader, true);
}

void TableService::Finish(const profd_file_key& key, const Reader& reader, bool missed) {
  const auto known =
      std::find_if(unfinished_.begin(), unfinished_.end(),
                   [&](const Unfinished& one) { return FileKeyEqual()(one.key, key); });
  if (known != unfinished_.end()) {
    known->missed |= missed;
    return;
  }
  // Programs request what is discarded here.
  if (unfinished_.size() == kMaxUnfinished) unfinished_.pop_back();
  unfinished_.insert(reader->small() ? unfinished_.begin() : unfinished_.end(),
                     {key, reader, missed});
}

void TableService::LoadUnfinished() {
  if (unfinished_.empty()) return;
  const Unfinished& next = unfinished_.front();
  const auto file = store_.Find(next.key);
  const auto lacked =
      file && store_.roomy() ? store_.MissingChunks(*file) : std::vector<std::uint64_t>();
  if (!lacked.empty()) Load(*file, *next.reader, lacked.front(), TableStore::Room::kFree);
  if (lacked.size() <= 1 || store_.Lacks(*file, lacked.front())) unfinished_.pop_front();
}

TableService::Reader TableService::ReaderFor(const profd_wanted& wanted) {
  if (const Reader* open = readers_.Find(wanted.key); open != nullptr) return *open;
  if (IsVdso(wanted.key)) {
    const auto bytes = elf::OwnVdsoBytes();
    return Keep(wanted.key, bytes ? CfiReader::FromMemory(*bytes) : bytes.error());
  }
  auto mapped = OpenMappedFile(proc_, wanted.pid, wanted.mapping_begin, wanted.mapping_end);
  if (!mapped && mapped.error().code == ErrorCode::kNotFound)
    return counters_.gone.Add(), nullptr;  // other processes that map it will request it
  if (!mapped) return Keep(wanted.key, mapped.error());
  if (!Fits(*mapped, wanted.key)) return counters_.changed.Add(), nullptr;
  const elf::FileStamp stamp = mapped->stamp;
  const auto same = FindByStamp(stamp);
  if (same && !store_.Find(wanted.key)) {
    // Read before under another of its names: fetched ahead, or seen through another mount.
    if (!store_.AddKey(*same, wanted.key)) return nullptr;
    if (!store_.Lacks(*same, wanted.file_offset)) return nullptr;
  }
  stamps_.Put(stamp, wanted.key);
  return Keep(wanted.key, CfiReader::Open(std::move(mapped->fd), stamp.bytes));
}

TableService::Reader TableService::Keep(const profd_file_key& key, Result<CfiReader> reader) {
  if (!reader) {
    counters_.no_tables.Add();
    if (!store_.Find(key)) (void)store_.AddWithoutTables(key);
    return nullptr;
  }
  return readers_.Put(key, std::make_shared<CfiReader>(*std::move(reader)));
}

void TableService::Load(TableStore::FileIndex file, CfiReader& reader, std::uint64_t begin,
                        TableStore::Room room) {
  const std::uint64_t damaged = reader.damaged();
  auto rows = reader.ReadRows(begin, begin + kChunkBytes);
  if (const auto entry = reader.entry()) EndAtEntry(*entry, begin + kChunkBytes, rows);
  counters_.damaged.Add(reader.damaged() - damaged);
  (void)store_.LoadChunk(file, begin, rows, room);  // the store counts what finds no room
}

void TableService::HandleProcess(std::uint32_t pid) {
  const auto maps = proc_.Read(std::to_string(pid) + "/maps");
  if (!maps) return counters_.gone.Add();
  std::vector<Mapping> found;
  process::ParseMaps(*maps, [&](process::MapsLine&& line) {
    if (line.executable && line.inode != 0) found.push_back({pid, line.start, line.end});
  });
  const std::scoped_lock lock(mutex_);
  if (mappings_.size() + found.size() > kMaxMappings) return counters_.queue_full.Add();
  mappings_.insert(mappings_.begin(), found.begin(), found.end());
}

void TableService::HandlePrefetch(const Mapping& mapping) {
  if (!store_.roomy()) return;
  auto mapped = OpenMappedFile(proc_, mapping.pid, mapping.begin, mapping.end);
  if (!mapped) return counters_.gone.Add();
  if (FindByStamp(mapped->stamp)) return;
  const elf::FileStamp stamp = mapped->stamp;
  const profd_file_key key = LikelyKey(*mapped);
  if (store_.Find(key)) return static_cast<void>(stamps_.Put(stamp, key));
  auto reader = CfiReader::Open(std::move(mapped->fd), stamp.bytes);
  stamps_.Put(stamp, key);
  if (!reader) {
    counters_.no_tables.Add();
    (void)store_.AddWithoutTables(key);
    return;
  }
  if (!reader->small()) return;  // which chunks are needed is not known yet
  const auto file = store_.AddFile(key, reader->text(), FlagsOf(*reader), TableStore::Room::kFree);
  if (!file) return;
  counters_.files_read.Add();
  counters_.prefetched.Add();
  Finish(key, std::make_shared<CfiReader>(*std::move(reader)), false);
}

std::optional<TableStore::FileIndex> TableService::FindByStamp(const elf::FileStamp& stamp) {
  const profd_file_key* key = stamps_.Find(stamp);
  return key == nullptr ? std::nullopt : store_.Find(*key);
}

}  // namespace profd::unwind
