#include "daemon/unwind/service/table_service.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string>

#include "daemon/unwind/tables/chunk_builder.h"

namespace profd::unwind {
namespace {

using FilesUntil = LruCache<std::uint64_t, std::chrono::steady_clock::time_point>;

// Whether what was found out about a file still holds.
bool Holds(const FilesUntil& files, std::uint64_t file) {
  const auto* until = files.Peek(file);
  return until != nullptr && std::chrono::steady_clock::now() < *until;
}

// Tables that no program has requested yet can wait longer than the programs that are profiled.
// Tables of a file in which stacks end now can wait less long.
constexpr int kNiceAhead = 10;
constexpr int kNiceMissed = 5;
// Chunks of a large file that programs must request before it is loaded whole.
constexpr std::uint32_t kOftenWanted = 16;
constexpr std::size_t kMaxWanted = 4096;
constexpr std::size_t kMaxMappings = 16'384;
constexpr std::size_t kMaxDelayed = 256;
constexpr std::chrono::milliseconds kFirstDelay{50};
constexpr std::chrono::milliseconds kLastDelay{6'400};  // then programs have to repeat them
constexpr std::size_t kMaxUnfinished = 16;
constexpr std::chrono::seconds kTick{1};
constexpr std::chrono::milliseconds kAgain{10'000};  // of files that were seen
// Code made at run time is compared with what it was, ever less often while it stays so.
constexpr std::chrono::milliseconds kFirstCheck{1'000};
constexpr std::chrono::milliseconds kLastCheck{16'000};
constexpr std::size_t kChecksAtOnce = 16;
constexpr std::uint32_t kUsedTicks = 2;
// A dump goes from one miss to the next: for a while none waits behind many chunks.
constexpr std::chrono::milliseconds kDumpLasts{100};
constexpr std::size_t kChunksBesideDump = 2;

std::uint64_t HashOf(const profd_wanted& wanted) {
  return MixBits(FileKeyHash()(wanted.key) + (wanted.file_offset >> PROFD_CHUNK_SHIFT));
}

profd_file_key VdsoKey() {
  profd_file_key key{};
  key.inode = PROFD_VDSO_INODE;
  return key;
}

std::uint64_t HashOf(const TableService::FileNumbers& file) {
  const std::uint64_t device = std::uint64_t{file.device_major} << 32 | file.device_minor;
  return MixBits(file.inode ^ MixBits(device ^ MixBits(file.generation)));
}

bool IsVdso(const profd_file_key& key) { return key.inode == PROFD_VDSO_INODE && key.size == 0; }

std::uint32_t FlagsOf(const FrameFile& file) { return file.cpython ? PROFD_FILE_KEEP_CFA : 0u; }

}  // namespace

TableService::TableService(source::PoolMemory& memory, source::FileMaps& maps,
                           reader::Readers& readers, std::uint64_t cap_bytes,
                           elf::KeptSymbols* kept, reader::AnswerCache* cache)
    : cap_bytes_(cap_bytes), kept_(kept), store_(memory, maps, cap_bytes), client_(readers, cache) {
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

void TableService::Prefetch(std::uint32_t pid) { Push({.mapping = {pid, 0, 0}}); }

void TableService::Prefetch(const Mapping& mapping, const FileNumbers& file) {
  Push({.mapping = mapping, .file = HashOf(file)});
}

void TableService::PrefetchNew(std::uint32_t pid) {
  if (kept_ != nullptr) Push({.mapping = {pid, 0, 0}, .only_new = true});
}

void TableService::Push(const Ahead& ahead) {
  const std::scoped_lock lock(mutex_);
  if (mappings_.size() >= kMaxMappings) return counters_.queue_full.Add();
  mappings_.push_back(ahead);
  ready_.notify_one();
}

bool TableService::Await(std::uint64_t requests, std::chrono::milliseconds timeout) {
  return AwaitUntil(timeout, [&] { return HasMissed(requests) && !busy_ && mappings_.empty(); });
}

bool TableService::AwaitMissed(std::uint64_t requests, std::chrono::milliseconds timeout) {
  const bool is_done = AwaitUntil(timeout, [&] { return HasMissed(requests); });
  const std::scoped_lock lock(mutex_);
  missed_awaited_ = std::chrono::steady_clock::now();
  return is_done;
}

std::size_t TableService::ChunksAtOnce() {
  const std::scoped_lock lock(mutex_);
  const bool dumps = std::chrono::steady_clock::now() < missed_awaited_ + kDumpLasts;
  return dumps ? kChunksBesideDump : CfiClient::kMaxChunks;
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
  const Heartbeat::Working working(beat_);
  own_nice_ = ::getpriority(PRIO_PROCESS, 0);
  const auto start = std::chrono::steady_clock::now();
  // Every process has the vdso, and no mapping of a file leads to it.
  profd_wanted vdso{};
  vdso.key = VdsoKey();
  HandleWanted(vdso, {});
  while (!stop.stop_requested()) {
    beat_.Beat();
    const auto up = std::chrono::steady_clock::now() - start;
    store_.SetTick(static_cast<std::uint32_t>(up / kTick) + 1);
    tables_memory_.Set(store_.counters().memory.value());
    CheckMemory();
    const Task task = NextTask(stop);
    if (stop.stop_requested()) return;
    if (task.wanted)
      HandleWanted(*task.wanted, task.delay);
    else if (!task.ahead)
      LoadUnfinished();
    else if (task.ahead->mapping.end == 0)
      HandleProcess(task.ahead->mapping.pid, task.ahead->only_new);
    else
      HandlePrefetch(*task.ahead);
  }
}

TableService::Task TableService::NextTask(const std::stop_token& stop) {
  Task task;
  int nice = kNiceAhead;
  if (auto delayed = TakeDelayed()) return *delayed;
  {
    std::unique_lock lock(mutex_);
    const auto any = [this] { return !wanted_.empty() || !mappings_.empty(); };
    const bool small_left = !unfinished_.empty() && unfinished_.front().file->small;
    busy_ = small_left || any();
    const bool handled_last_wanted = std::exchange(handles_wanted_, false) && wanted_.empty();
    if (!busy_ || handled_last_wanted) progress_.notify_all();
    if (unfinished_.empty() && !any()) {
      const auto wait = delayed_.empty() ? std::chrono::milliseconds(kTick) : kFirstDelay;
      (void)ready_.wait_for(lock, stop, wait, any);
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
      task.ahead = mappings_.front();
      mappings_.pop_front();
    }
  }
  SetNice(nice);
  return task;
}

// Nothing: none is due.
std::optional<TableService::Task> TableService::TakeDelayed() {
  const auto due = std::ranges::find_if(
      delayed_,
      [now = std::chrono::steady_clock::now()](const Delayed& one) { return one.next <= now; });
  if (due == delayed_.end()) return std::nullopt;
  Task task;
  task.wanted = due->wanted;
  task.delay = due->delay;
  delayed_.erase(due);
  return task;
}

void TableService::Delay(const profd_wanted& wanted, std::chrono::milliseconds before) {
  if (before == std::chrono::milliseconds{}) counters_.delayed.Add();
  const auto delay = std::max(kFirstDelay, 2 * before);
  if (delay > kLastDelay || delayed_.size() >= kMaxDelayed) return;
  delayed_.push_back({wanted, std::chrono::steady_clock::now() + delay, delay});
}

// Of this thread alone, and by so much more than profd itself. Without the right to come back it
// stays nice.
void TableService::SetNice(int nice) {
  if (nice != nice_ && ::setpriority(PRIO_PROCESS, 0, own_nice_ + nice) == 0) nice_ = nice;
}

void TableService::HandleWanted(const profd_wanted& wanted, std::chrono::milliseconds delay) {
  auto read = ReadWanted(wanted);
  // The process whose mapping led to the file has ended: the one that requests it may be there.
  if (!read && read.error().code == ErrorCode::kNotFound && known_.Erase(wanted.key))
    read = ReadWanted(wanted);
  if (!read && read.error().code == ErrorCode::kUnavailable) Delay(wanted, delay);
}

Result<void> TableService::ReadWanted(const profd_wanted& wanted) {
  auto index = store_.Find(wanted.key);
  if (index && !store_.Lacks(*index, wanted.file_offset)) return {};
  const auto file = FileFor(wanted);
  if (!file) return file.error();
  index = store_.Find(wanted.key);
  if (index && !store_.has_tables(*index)) return {};
  if (!index) {
    auto added =
        store_.AddFile(wanted.key, (*file)->text, FlagsOf(**file), TableStore::Room::kMake);
    if (!added) return {};  // the store counts what finds no room
    index = *added;
    counters_.files_read.Add();
  }
  const std::uint64_t begin = wanted.file_offset / kChunkBytes * kChunkBytes;
  if ((*file)->memory) return LoadMemory(*index, *file, begin);
  if (store_.Lacks(*index, begin))
    PROFD_TRY(Load(*index, **file, {&begin, 1}, TableStore::Room::kMake));
  if ((*file)->small || store_.loaded(*index) >= kOftenWanted) Finish(wanted.key, *file, true);
  return {};
}

void TableService::Finish(const profd_file_key& key, const FileRef& file, bool missed) {
  const auto known =
      std::find_if(unfinished_.begin(), unfinished_.end(),
                   [&](const Unfinished& one) { return FileKeyEqual()(one.key, key); });
  if (known != unfinished_.end()) {
    known->missed |= missed;
    return;
  }
  // Programs request what is discarded here.
  if (unfinished_.size() == kMaxUnfinished) unfinished_.pop_back();
  unfinished_.insert(file->small ? unfinished_.begin() : unfinished_.end(), {key, file, missed});
}

void TableService::LoadUnfinished() {
  if (unfinished_.empty()) return;
  const Unfinished& next = unfinished_.front();
  const auto index = store_.Find(next.key);
  const auto lacked =
      index && store_.roomy() ? store_.MissingChunks(*index) : std::vector<std::uint64_t>();
  // Several at once, as each request wakes two processes.
  const auto some = std::span(lacked).first(std::min(lacked.size(), ChunksAtOnce()));
  const bool loaded = !some.empty() && Load(*index, *next.file, some, TableStore::Room::kFree).ok();
  // A file that does not answer has waited for its chance: programs request what they miss.
  const auto lacks_still = [&] { return store_.MissingChunks(*index).size() == lacked.size(); };
  if (!loaded || lacked.size() == some.size() || lacks_still()) unfinished_.pop_front();
}

Result<TableService::FileRef> TableService::FileFor(const profd_wanted& wanted) {
  if (const FileRef* known = known_.Find(wanted.key); known != nullptr) return *known;
  const bool vdso = IsVdso(wanted.key);
  const FileMapping mapping =
      vdso ? FileMapping{} : FileMapping{wanted.pid, wanted.mapping_begin, wanted.mapping_end};
  if (IsMemory(wanted.key)) {
    auto memory = MemoryFile(mapping, wanted.key);
    if (!memory) return memory.error();
    return known_.Put(wanted.key, std::make_shared<const FrameFile>(*std::move(memory)));
  }
  auto file = Open(mapping);
  if (!file) {
    // Other processes that map it will request it.
    if (file.error().code == ErrorCode::kNotFound) counters_.gone.Add();
    if (file.error().code == ErrorCode::kNotFound || file.error().code == ErrorCode::kUnavailable)
      return file.error();
  } else if (!vdso && !Fits(*file, wanted.key)) {
    counters_.changed.Add();
    return Error{ErrorCode::kNotFound, "another file is mapped there now", ""};
  }
  if (file && !vdso) {
    const auto same = FindByStamp(file->stamp);
    // Read before under another of its names: fetched ahead, or seen through another mount.
    if (same && !store_.Find(wanted.key)) PROFD_TRY(store_.AddKey(*same, wanted.key));
    stamps_.Put(file->stamp, wanted.key);
  }
  if (!file || !file->has_tables()) {
    counters_.no_tables.Add();
    if (!store_.Find(wanted.key)) (void)store_.AddWithoutTables(wanted.key);
    return Error{ErrorCode::kNotFound, file ? file->missing : file.error().message, ""};
  }
  return known_.Put(wanted.key, std::make_shared<const FrameFile>(*std::move(file)));
}

Result<void> TableService::Load(TableStore::FileIndex index, const FrameFile& file,
                                std::span<const std::uint64_t> begins, TableStore::Room room) {
  const bool requested = room == TableStore::Room::kMake;
  const auto chunks = client_.ReadChunks(file, begins, requested, kPatience);
  if (!chunks) return chunks.error();
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto& [part, damaged] = (*chunks)[i];
    counters_.damaged.Add(damaged);
    counters_.code_bytes.Add(part.code_bytes);
    counters_.code_bare.Add(part.bare_bytes);
    coverages_.Add(file.build_id, begins[i], part);
    // The store counts what finds no room.
    if (part.deferred)
      store_.Defer(index, begins[i]);
    else
      (void)store_.LoadChunk(index, begins[i], part.rows, room);
  }
  return {};
}

Result<void> TableService::LoadMemory(TableStore::FileIndex index, const FileRef& file,
                                      std::uint64_t begin) {
  if (!store_.Lacks(index, begin)) return {};
  auto chunk = client_.ReadMemory(file->mapping, begin, kPatience);
  if (!chunk) {
    if (chunk.error().code == ErrorCode::kNotFound) counters_.gone.Add();
    return chunk.error();
  }
  counters_.code_bytes.Add(chunk->part.code_bytes);
  counters_.code_bare.Add(chunk->part.bare_bytes);
  counters_.registered.Add(chunk->registered_bytes);
  coverages_.AddMemory(file->mapping.pid, file->mapping.begin + begin, chunk->part);
  (void)store_.LoadChunk(index, begin, chunk->part.rows, TableStore::Room::kMake);
  std::erase_if(watched_, [&](const Watched& one) {
    return one.begin == begin && FileKeyEqual()(one.key, file->key);
  });
  if (watched_.size() == kMaxWatched) {
    // Programs request it again, and then it is watched.
    const Watched& oldest = watched_.front();
    if (const auto known = store_.Find(oldest.key)) store_.Drop(*known, oldest.begin);
    watched_.pop_front();
  }
  watched_.push_back({file->key, file, begin, chunk->hash,
                      std::chrono::steady_clock::now() + kFirstCheck, kFirstCheck});
  return {};
}

void TableService::CheckMemory() {
  const Time now = std::chrono::steady_clock::now();
  if (watched_.empty() || now < memory_checked_ + kTick) return;
  memory_checked_ = now;
  std::size_t left = kChecksAtOnce;
  std::erase_if(watched_, [&](Watched& chunk) {
    if (left == 0 || now < chunk.next) return false;
    const auto index = store_.Find(chunk.key);
    if (!index) return true;  // evicted
    if (store_.last_used(*index, chunk.begin) + kUsedTicks < store_.tick()) return false;
    --left;
    return !Check(chunk);
  });
}

bool TableService::Check(Watched& chunk) {
  const auto index = store_.Find(chunk.key);
  const auto hash = client_.HashMemory(chunk.file->mapping, chunk.begin, kPatience);
  if (!hash && hash.error().code == ErrorCode::kUnavailable) return true;
  if (hash && *hash == chunk.hash) {
    chunk.delay = std::min(2 * chunk.delay, kLastCheck);
    chunk.next = std::chrono::steady_clock::now() + chunk.delay;
    return true;
  }
  counters_.rewritten.Add();
  coverages_.ForgetMemory(chunk.file->mapping.pid, chunk.file->mapping.begin + chunk.begin);
  if (index) store_.Drop(*index, chunk.begin);
  return false;
}

void TableService::HandleProcess(std::uint32_t pid, bool only_new) {
  const auto files = client_.FindMapped(pid, kPatience);
  if (!files && files.error().code == ErrorCode::kUnavailable) return counters_.delayed.Add();
  if (!files) return counters_.gone.Add();
  std::vector<Ahead> found;
  for (const MappedFile& mapped : *files) {
    const std::uint64_t file = HashOf(
        FileNumbers{mapped.device_major, mapped.device_minor, mapped.inode, /*generation=*/0});
    if (!Holds(seen_, file) && !(only_new && Holds(old_, file)))
      found.push_back({mapped.mapping, file, only_new});
  }
  const std::scoped_lock lock(mutex_);
  if (mappings_.size() + found.size() > kMaxMappings) return counters_.queue_full.Add();
  mappings_.insert(mappings_.begin(), found.begin(), found.end());
}

// Many processes map the same few files, and their kernel numbers are enough not to open them again
// and again. A file that is rewritten in place keeps its numbers; until it is opened again programs
// request its tables. One that has just been made is likely to be rewritten.
void TableService::NoteSeen(std::uint64_t file, const elf::FileStamp& stamp) {
  constexpr std::chrono::milliseconds kNewAgain{50};
  const bool is_new = kept_ != nullptr && kept_->IsNew(stamp);
  seen_.Put(file, std::chrono::steady_clock::now() + (is_new ? kNewAgain : kAgain));
}

bool TableService::IsNew(const Ahead& ahead) {
  if (Holds(old_, ahead.file)) return false;
  const auto stamp = client_.Stamp(ahead.mapping, kPatience);
  if (!stamp) {
    const bool late = stamp.error().code == ErrorCode::kUnavailable;
    (late ? counters_.delayed : counters_.gone).Add();
    return false;
  }
  if (kept_->IsNew(*stamp)) return true;
  old_.Put(ahead.file, std::chrono::steady_clock::now() + kAgain);
  return false;
}

void TableService::HandlePrefetch(const Ahead& ahead) {
  if (!store_.roomy() || Holds(seen_, ahead.file)) return;
  if (ahead.only_new && !IsNew(ahead)) return;
  auto file = Open(ahead.mapping);
  if (!file && file.error().code == ErrorCode::kUnavailable) return counters_.delayed.Add();
  if (!file) return counters_.gone.Add();
  NoteSeen(ahead.file, file->stamp);
  if (FindByStamp(file->stamp)) return;
  stamps_.Put(file->stamp, file->key);
  if (store_.Find(file->key)) return;
  if (!file->has_tables()) {
    counters_.no_tables.Add();
    (void)store_.AddWithoutTables(file->key);
    return;
  }
  const profd_file_key key = file->key;
  const FileRef& known = known_.Put(key, std::make_shared<const FrameFile>(*std::move(file)));
  if (!known->small) return;  // which chunks are needed is not known yet
  if (!store_.AddFile(key, known->text, FlagsOf(*known), TableStore::Room::kFree)) return;
  counters_.files_read.Add();
  counters_.prefetched.Add();
  Finish(key, known, false);
}

Result<FrameFile> TableService::Open(const FileMapping& mapping) {
  auto file = client_.Open(mapping, kPatience);
  if (!file || mapping.pid == 0 || kept_ == nullptr ||
      !kept_->See(file->stamp, {mapping.pid, mapping.begin, mapping.end}, file->opened_ns))
    return file;
  if (auto symbols = client_.ReadSymbols(*file, kPatience))
    kept_->Keep(file->stamp, *std::move(symbols));
  return file;
}

std::optional<TableStore::FileIndex> TableService::FindByStamp(const elf::FileStamp& stamp) {
  const profd_file_key* key = stamps_.Find(stamp);
  return key == nullptr ? std::nullopt : store_.Find(*key);
}

}  // namespace profd::unwind
