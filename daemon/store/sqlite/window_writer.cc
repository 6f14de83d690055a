#include "daemon/store/sqlite/window_writer.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "daemon/aggregate/merge/profile_merge.h"
#include "daemon/aggregate/thread_groups.h"
#include "daemon/store/codec/window_codec.h"
#include "daemon/store/sqlite/schema.h"

namespace profd::store {
namespace {

using aggregate::Profile;

constexpr char kAddWindow[] =
    "INSERT INTO window(id, host, generation, folded, start_unix_ns, end_unix_ns, put_unix_ns, "
    "start_ns, end_ns, on_cpu, off_cpu, on_cpu_period_ns, off_cpu_period_ns, threads, samples, "
    "daemon_cpu_ns, bpf_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
constexpr char kAddPayload[] = "INSERT INTO payload(window, data) VALUES(?, ?)";
constexpr char kAddPaths[] = "INSERT INTO path_payload(window, data) VALUES(?, ?)";
// A profile can have several notes of one name, with other texts. They become one row with their
// sum.
constexpr char kAddCounter[] =
    "INSERT INTO counter(window, list, name, text, count) VALUES(?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET count = count + excluded.count";
constexpr char kAddPeriod[] = "INSERT INTO period VALUES(?, ?, ?, ?)";
constexpr char kAddProcessTime[] =
    "INSERT INTO process_time(window, process, threads, on_cpu_ns, runnable_ns, blocked_ns, "
    "stolen_ns) VALUES(?, ?, ?, ?, ?, ?, ?)";
constexpr char kAddThreadTime[] =
    "INSERT INTO thread_time VALUES(?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
    "SET "
    "windows = windows + 1, on_cpu_ns = on_cpu_ns + excluded.on_cpu_ns, "
    "runnable_after_wakeup_ns = runnable_after_wakeup_ns + excluded.runnable_after_wakeup_ns, "
    "runnable_after_preemption_ns = "
    "runnable_after_preemption_ns + excluded.runnable_after_preemption_ns, "
    "runnable_after_yield_ns = runnable_after_yield_ns + excluded.runnable_after_yield_ns, "
    "blocked_interruptible_ns = blocked_interruptible_ns + excluded.blocked_interruptible_ns, "
    "blocked_uninterruptible_ns = "
    "blocked_uninterruptible_ns + excluded.blocked_uninterruptible_ns, "
    "blocked_iowait_ns = blocked_iowait_ns + excluded.blocked_iowait_ns, "
    "on_cpu_count = on_cpu_count + excluded.on_cpu_count, "
    "stolen_ns = stolen_ns + excluded.stolen_ns";
constexpr char kOldestTwo[] = "SELECT id, generation FROM window ORDER BY id LIMIT 2";
// Each time may be of a realtime clock that was set wrong, so the end and the put must both be old.
// The start is named because it has an index. The limit bounds what one put has to drop.
constexpr char kExpired[] =
    "SELECT id FROM window WHERE start_unix_ns < ? AND max(end_unix_ns, put_unix_ns) < ? LIMIT 64";
constexpr char kDropWindow[] = "DELETE FROM window WHERE id = ?";
constexpr char kDropPayload[] = "DELETE FROM payload WHERE window = ?";
constexpr char kDropPaths[] = "DELETE FROM path_payload WHERE window = ?";
constexpr char kDropCounters[] = "DELETE FROM counter WHERE window = ?";
constexpr char kDropPeriods[] = "DELETE FROM period WHERE window = ?";
constexpr char kDropProcessTimes[] = "DELETE FROM process_time WHERE window = ?";
// These rows are sums over a generation: they go with the last window of it.
constexpr char kDropThreadTimes[] = "DELETE FROM thread_time WHERE generation < ?";
constexpr char kOldestGeneration[] = "SELECT min(generation) FROM window";

// Garbage collection of one table, in steps: rows with ids in [?, ?) that were last used before
// generation ?.
struct CollectedTable {
  const char* table;
  const char* last;
  const char* collect;
};
#define PROFD_COLLECTED(TABLE)                                        \
  {                                                                   \
    TABLE, "SELECT max(id) FROM " TABLE,                              \
        "DELETE FROM " TABLE " WHERE id >= ? AND id < ? AND used < ?" \
  }
constexpr CollectedTable kCollected[] = {PROFD_COLLECTED("stack"),   PROFD_COLLECTED("frame"),
                                         PROFD_COLLECTED("module"),  PROFD_COLLECTED("thread"),
                                         PROFD_COLLECTED("process"), PROFD_COLLECTED("program"),
                                         PROFD_COLLECTED("host")};
#undef PROFD_COLLECTED

// Levels of zstd. Windows as put are soon compacted; only the result, which is kept for long, is
// worth the CPU time of a high level.
constexpr int kPutLevel = 3;
constexpr int kCompactedLevel = 9;
// How many ids of each table one put examines for garbage.
constexpr std::int64_t kCollectStep = 2'000;
// A store that is full would drop windows that fit after a collection, so a put takes its time for
// that.
constexpr std::int64_t kPressureStep = 50'000;
// Windows with a longer gap between them do not become one: clocks must add up to a window's time.
constexpr std::uint64_t kCompactGapNs = 1'000'000'000;

// The profile builder has bounded each window already; the store drops nothing.
aggregate::MergeLimits Unlimited() {
  constexpr std::size_t kMany = UINT32_MAX / 4;
  return {kMany, kMany, kMany, kMany, kMany, kMany};
}

template <typename Parts>
std::uint64_t Sum(const Parts& parts) {
  return std::accumulate(std::begin(parts), std::end(parts), std::uint64_t{0});
}

bool IsIdle(const profd_clock& clock) {
  return clock.on_cpu_ns == 0 && Sum(clock.runnable_ns) == 0;
}

}  // namespace

WindowWriter::WindowWriter(Database& database, std::uint64_t compact_ns)
    : database_(database), compact_ns_(compact_ns), interner_(database) {}

template <typename... Values>
Result<void> WindowWriter::Run(const char* sql, const Values&... values) {
  const auto statement = database_.Get(sql);
  if (!statement) return statement.error();
  return (*statement)->With(values...).Run();
}

Result<void> WindowWriter::Load() {
  interner_.Forget();
  const auto generation = ReadState(database_, "generation");
  if (!generation) return generation.error();
  const auto in_generation = ReadState(database_, "puts_in_generation");
  if (!in_generation) return in_generation.error();
  generation_ = *generation;
  in_generation_ = *in_generation;
  const auto oldest = database_.Pragma(kOldestGeneration);
  if (!oldest) return oldest.error();
  oldest_generation_ = *oldest;
  interner_.SetGenerations(generation_, oldest_generation_);
  return {};
}

Result<void> WindowWriter::NextGeneration() {
  in_generation_ = 0;
  ++generation_;
  interner_.SetGenerations(generation_, oldest_generation_);
  return WriteState(database_, "generation", generation_);
}

Result<void> WindowWriter::Put(const Profile& window, std::uint64_t now_unix_ns) {
  // Before anything is interned: the rows of a window must be marked as used in its generation or a
  // later one, else Collect could delete them while the window is there.
  if (++in_generation_ > kWindowsPerGeneration) PROFD_TRY(NextGeneration());
  // The count is in the file, so that a profd that restarts often begins new generations, too.
  PROFD_TRY(WriteState(database_, "puts_in_generation", in_generation_));
  const auto interned = InternStacks(window);
  if (!interned) return interned.error();
  // The length is that of the monotonic clock: the realtime clock may have been set meanwhile.
  return Insert(*interned, 0, false, generation_, window.start_unix_ns + WindowLength(window),
                now_unix_ns);
}

Result<void> WindowWriter::PutAgain(const Profile& window, const WindowRow& row) {
  const auto interned = InternStacks(window);
  if (!interned) return interned.error();
  // The rows are interned now, whatever the generation was in the other file.
  return Insert(*interned, row.id, row.compacted, generation_, row.end_unix_ns, row.put_unix_ns);
}

// Interns frames and stacks. The result has the store's numbers in its samples and paths, equal
// samples summed, and no frames or nodes.
Result<Profile> WindowWriter::InternStacks(const Profile& window) {
  std::vector<std::uint32_t> frame_of;
  for (const auto& frame : window.frames) {
    const auto number = interner_.Frame(frame);
    if (!number) return number.error();
    frame_of.push_back(*number);
  }
  std::vector<std::uint32_t> node_of(window.nodes.size(), 0);
  for (std::size_t i = 1; i < window.nodes.size(); ++i) {
    const auto& node = window.nodes[i];
    // Parents come first, so one pass is enough. A salvaged window may be malformed: a bad node
    // keeps number 0, the root.
    if (node.parent >= i || node.frame >= frame_of.size()) continue;
    const auto number = interner_.Stack(node_of[node.parent], frame_of[node.frame]);
    if (!number) return number.error();
    node_of[i] = *number;
  }
  aggregate::ProfileMerge merge(Unlimited());
  merge.Add(window, node_of);
  return merge.FinishWithoutStacks();
}

Result<void> WindowWriter::Insert(const Profile& window, std::int64_t id, bool compacted,
                                  std::int64_t generation, std::uint64_t end_unix_ns,
                                  std::uint64_t put_unix_ns) {
  const auto host = interner_.Host(window);
  if (!host) return host.error();
  WindowNumbers numbers;
  for (const auto& process : window.processes) {
    const auto number = interner_.Process(process);
    if (!number) return number.error();
    numbers.process_of.push_back(*number);
  }
  for (const auto& thread : window.threads) {
    const auto number = interner_.Thread(thread);
    if (!number) return number.error();
    numbers.thread_of.push_back(*number);
  }
  const auto encoded = EncodeWindow(window, numbers, compacted ? kCompactedLevel : kPutLevel);
  if (!encoded) return encoded.error();
  const auto add = database_.Get(kAddWindow);
  if (!add) return add.error();
  // NULL makes SQLite choose the next id. Ids never repeat (AUTOINCREMENT), so their order is that
  // of the puts even after windows were dropped.
  const std::optional<std::int64_t> given = id == 0 ? std::nullopt : std::optional(id);
  PROFD_TRY((*add)
                ->With(given, *host, generation, compacted, window.start_unix_ns, end_unix_ns,
                       put_unix_ns, window.start_ns, window.end_ns, window.on_cpu, window.off_cpu,
                       window.on_cpu_period_ns, window.off_cpu_period_ns, window.threads.size(),
                       window.samples.size(), window.cost.daemon_cpu_ns, window.cost.bpf_ns)
                .Run());
  if (id == 0) id = database_.LastRow();
  PROFD_TRY(Run(kAddPayload, id, Blob(std::as_bytes(std::span(encoded->data)))));
  if (encoded->paths)
    PROFD_TRY(Run(kAddPaths, id, Blob(std::as_bytes(std::span(*encoded->paths)))));
  PROFD_TRY(InsertCounters(id, window));
  for (const auto& period : window.periods)
    PROFD_TRY(
        Run(kAddPeriod, id, period.time_ns, period.on_cpu_period_ns, period.off_cpu_period_ns));
  return InsertProcessTimes(id, window, numbers.process_of);
}

Result<void> WindowWriter::InsertCounters(std::int64_t id, const Profile& profile) {
  const std::pair<std::string_view, const std::vector<NamedCount>*> lists[] = {
      {"lost", &profile.lost}, {"dropped", &profile.dropped}, {"note", &profile.counters}};
  for (const auto& [list, counts] : lists)
    for (const auto& count : *counts)
      PROFD_TRY(Run(kAddCounter, id, list, count.name, count.text, count.count));
  return {};
}

// The sums are also in the payload. They have a table of their own so that SQL can read them.
Result<void> WindowWriter::InsertProcessTimes(std::int64_t id, const Profile& profile,
                                              std::span<const std::uint32_t> process_of) {
  struct Time {
    std::uint64_t threads = 0;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t blocked_ns = 0;
    std::uint64_t stolen_ns = 0;
  };
  std::vector<Time> times(profile.processes.size());
  for (const auto& thread : profile.threads) {
    Time& time = times[thread.process];
    ++time.threads;
    time.on_cpu_ns += thread.clock.on_cpu_ns;
    time.runnable_ns += Sum(thread.clock.runnable_ns);
    time.blocked_ns += Sum(thread.clock.blocked_ns);
    time.stolen_ns += Sum(thread.clock.stolen_ns);
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    // Most processes of a host sleep through a window; their rows would only fill the file.
    if (times[i].on_cpu_ns == 0 && times[i].runnable_ns == 0) continue;
    PROFD_TRY(Run(kAddProcessTime, id, process_of[i], times[i].threads, times[i].on_cpu_ns,
                  times[i].runnable_ns, times[i].blocked_ns, times[i].stolen_ns));
  }
  return {};
}

// One row per thread and generation, not per window: threads are too many for that. Only
// compaction adds to it, so that each window counts once.
Result<void> WindowWriter::AddThreadTimes(std::int64_t generation, const Profile& profile) {
  for (const auto& thread : profile.threads) {
    const auto& clock = thread.clock;
    if (IsIdle(clock)) continue;
    const auto number = interner_.Thread(thread);
    if (!number) return number.error();
    const auto process = interner_.Process(profile.processes[thread.process]);
    if (!process) return process.error();
    PROFD_TRY(Run(kAddThreadTime, generation, *number, *process, clock.on_cpu_ns,
                  clock.runnable_ns[PROFD_AFTER_WAKEUP], clock.runnable_ns[PROFD_AFTER_PREEMPTION],
                  clock.runnable_ns[PROFD_AFTER_YIELD], clock.blocked_ns[PROFD_INTERRUPTIBLE],
                  clock.blocked_ns[PROFD_UNINTERRUPTIBLE], clock.blocked_ns[PROFD_IOWAIT],
                  clock.on_cpu_count, Sum(clock.stolen_ns)));
  }
  return {};
}

Result<void> WindowWriter::Compact() {
  const Filter all;
  StoreReader reader(database_, all);
  const auto rows = reader.WindowsToCompact();
  if (!rows) return rows.error();
  // A group ends at a gap, at the end of a minute, or when it is a minute long. Minutes are those
  // of the realtime clock, so that groups line up with what people ask for; the length matters
  // where that clock is set back. The last group is left alone: it may still grow.
  std::size_t first = 0;
  std::uint64_t length_ns = 0;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    // Only heads are in memory here. Payloads are read group by group, one window at a time.
    const Profile& window = (*rows)[i].head;
    if (i > first) {
      const Profile& before = (*rows)[i - 1].head;
      // With compact_ns 0 each window is a group of its own.
      const bool same_minute = window.start_unix_ns / std::max<std::uint64_t>(compact_ns_, 1) ==
                               before.start_unix_ns / std::max<std::uint64_t>(compact_ns_, 1);
      const bool follows =
          window.start_ns >= before.end_ns && window.start_ns - before.end_ns <= kCompactGapNs;
      if (!same_minute || !follows || length_ns >= compact_ns_) {
        PROFD_TRY(
            CompactGroup(std::span(*rows).subspan(first, i - first), std::span(*rows).subspan(i)));
        first = i;
        length_ns = 0;
      }
    }
    length_ns += WindowLength(window);
  }
  return {};
}

// Short-lived processes and threads become groups before windows are merged: else a minute with
// very many of them would take more memory than all that profd may use.
Result<void> WindowWriter::CompactGroup(std::span<const WindowRow> group,
                                        std::span<const WindowRow> later) {
  const Filter all;
  aggregate::ProfileMerge merge(Unlimited());
  Interner::Rows disused;
  for (const WindowRow& row : group) {
    // What one reader remembers of processes grows with each window.
    auto window = StoreReader(database_, all).Read(row);
    if (!window) return window.error();
    disused.Add(aggregate::GroupShortLived(*window));
    merge.Add(*window);
  }
  const WindowRow& oldest = group.front();
  const WindowRow& newest = group.back();
  Profile merged = merge.FinishWithoutStacks();
  // Once more, for those that began in one window of the group and ended in another one.
  disused.Add(aggregate::GroupShortLived(merged));
  // No window before these has what began in them; one after them may.
  Interner::Needed needed;
  for (const WindowRow& row : later) PROFD_TRY(StoreReader(database_, all).AddNumbers(row, needed));
  PROFD_TRY(interner_.Remove(disused, needed));
  // The first merge keeps samples of different windows apart. A second one, of the result as a
  // single window, sums those of the same thread and stack.
  aggregate::ProfileMerge sum(Unlimited());
  sum.Add(merged);
  merged = sum.FinishWithoutStacks();
  // The oldest generation of the group: Insert does not intern the stacks again, so some may be
  // marked as used in that generation only. With a newer one Collect could delete them too early.
  const std::int64_t generation =
      std::min_element(group.begin(), group.end(), [](const auto& a, const auto& b) {
        return a.generation < b.generation;
      })->generation;
  PROFD_TRY(AddThreadTimes(generation, merged));
  // The new window has the id of the oldest, so that ids stay in the order of the puts. It has the
  // times of the newest, so that it expires when all of it is old.
  for (const WindowRow& row : group) PROFD_TRY(Drop(row.id));
  return Insert(merged, oldest.id, true, generation, newest.end_unix_ns, newest.put_unix_ns);
}

Result<void> WindowWriter::Drop(std::int64_t id) {
  // Not the sums of threads, nor interned rows: other windows of the generation may have a part in
  // them.
  PROFD_TRY(Run(kDropWindow, id));
  PROFD_TRY(Run(kDropPayload, id));
  PROFD_TRY(Run(kDropPaths, id));
  PROFD_TRY(Run(kDropCounters, id));
  PROFD_TRY(Run(kDropPeriods, id));
  return Run(kDropProcessTimes, id);
}

Result<void> WindowWriter::DropExpired(std::uint64_t unix_ns) {
  const auto statement = database_.Get(kExpired);
  if (!statement) return statement.error();
  // All ids are read before the first window is dropped: a table must not change under a statement
  // that reads it.
  std::vector<std::int64_t> expired;
  Statement& rows = (*statement)->With(unix_ns, unix_ns);
  for (;;) {
    const auto row = rows.Step();
    if (!row) return row.error();
    if (!*row) break;
    expired.push_back(rows.Int(0));
  }
  for (const auto id : expired) PROFD_TRY(Drop(id));
  return expired.empty() ? Result<void>() : DropEmptyGenerations();
}

// Not the size of the file: free pages inside it are used again before the file grows.
Result<std::uint64_t> WindowWriter::UsedBytes() {
  const auto pages = database_.Pragma("PRAGMA page_count");
  if (!pages) return pages.error();
  const auto unused = database_.Pragma("PRAGMA freelist_count");
  if (!unused) return unused.error();
  const auto size = database_.Pragma("PRAGMA page_size");
  if (!size) return size.error();
  return static_cast<std::uint64_t>((*pages - *unused) * *size);
}

Result<void> WindowWriter::DropToFit(std::uint64_t bytes) {
  under_pressure_ = false;
  for (;;) {
    const auto used = UsedBytes();
    if (!used) return used.error();
    if (*used <= bytes) return {};
    const auto statement = database_.Get(kOldestTwo);
    if (!statement) return statement.error();
    Statement& rows = (*statement)->With();
    const auto first = rows.Step();
    if (!first) return first.error();
    if (!*first) return {};
    const std::int64_t id = rows.Int(0);
    const std::int64_t generation = rows.Int(1);
    const auto second = rows.Step();
    if (!second) return second.error();
    rows.Reset();             // ends the read before its table changes
    if (!*second) return {};  // the newest window stays, whatever it takes
    under_pressure_ = true;
    PROFD_TRY(Drop(id));
    // All windows left belong to the current generation, so nothing of it could be collected.
    // Starting the next one makes its garbage collectable once these windows are dropped.
    if (generation == generation_) PROFD_TRY(NextGeneration());
    PROFD_TRY(DropEmptyGenerations());
    // Much of the file is rows that windows share, which only this step frees. Without it the loop
    // would drop more windows than it must.
    PROFD_TRY(Collect());
  }
}

Result<void> WindowWriter::DropEmptyGenerations() {
  const auto oldest = database_.Pragma(kOldestGeneration);
  if (!oldest) return oldest.error();
  if (*oldest == oldest_generation_) return {};
  oldest_generation_ = *oldest;
  interner_.SetGenerations(generation_, oldest_generation_);
  // Rows that Collect has passed may be garbage by now: each table is examined from its first row
  // again.
  for (const auto& collected : kCollected) PROFD_TRY(WriteState(database_, collected.table, 0));
  return Run(kDropThreadTimes, oldest_generation_);
}

Result<void> WindowWriter::Collect() {
  // A put is on a schedule, so each one examines a part of each table, and the file says how far it
  // came.
  const std::int64_t step = under_pressure_ ? kPressureStep : kCollectStep;
  for (const auto& collected : kCollected) {
    const auto from = ReadState(database_, collected.table);
    if (!from) return from.error();
    const auto last = database_.Pragma(collected.last);
    if (!last) return last.error();
    // The table is done. DropEmptyGenerations restarts it when the oldest generation is gone.
    if (*from > *last) continue;
    PROFD_TRY(Run(collected.collect, *from, *from + step, oldest_generation_));
    PROFD_TRY(WriteState(database_, collected.table, *from + step));
  }
  return {};
}

}  // namespace profd::store
