// All SQL statements of the store; sql_schema.h has the tables. FORMAT.md describes their columns.
#pragma once

namespace profd::store::sql {

// Interned content: find a row by its hash, and mark it as used in a generation.
#define PROFD_STORE_INTERNED(TABLE)                                                         \
  inline constexpr char kFind_##TABLE[] = "SELECT id, used FROM " #TABLE " WHERE hash = ?"; \
  inline constexpr char kMark_##TABLE[] = "UPDATE " #TABLE " SET used = ? WHERE id = ?"
PROFD_STORE_INTERNED(host);
PROFD_STORE_INTERNED(program);
PROFD_STORE_INTERNED(process);
PROFD_STORE_INTERNED(thread);
PROFD_STORE_INTERNED(module);
PROFD_STORE_INTERNED(frame);
#undef PROFD_STORE_INTERNED

inline constexpr char kAddHost[] =
    "INSERT INTO host(hash, used, target, host, kernel, hook, profd_version) "
    "VALUES(?, ?, ?, ?, ?, ?, ?)";
inline constexpr char kAddProcess[] =
    "INSERT INTO process(hash, used, pid, start_ns, shown_pid, comm, exited, program) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?)";
inline constexpr char kAddProgram[] =
    "INSERT INTO program(hash, used, command_line, executable, build_id, cgroup, container, unit, "
    "uid, sole, user, python, python_refused) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
inline constexpr char kAddThread[] =
    "INSERT INTO thread(hash, used, tid, start_ns, shown_tid, comm) VALUES(?, ?, ?, ?, ?, ?)";
inline constexpr char kAddModule[] =
    "INSERT INTO module(hash, used, path, info_path, build_id, symbols_from, symbols_file, "
    "symbols_missing, debug_file, debug_missing) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
inline constexpr char kAddFrame[] =
    "INSERT INTO frame(hash, used, kind, inlined, interpreter, name, full_name, symbol, module, "
    "offset, file, line, reason) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
inline constexpr char kFindStack[] = "SELECT id, used FROM stack WHERE parent = ? AND frame = ?";
inline constexpr char kMarkStack[] = "UPDATE stack SET used = ? WHERE id = ?";
inline constexpr char kAddStack[] = "INSERT INTO stack(parent, frame, used) VALUES(?, ?, ?)";

inline constexpr char kAddWindow[] =
    "INSERT INTO window(id, host, generation, folded, start_unix_ns, end_unix_ns, put_unix_ns, "
    "start_ns, end_ns, on_cpu, off_cpu, on_cpu_period_ns, off_cpu_period_ns, threads, samples, "
    "daemon_cpu_ns, bpf_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
inline constexpr char kAddPayload[] = "INSERT INTO payload(window, data) VALUES(?, ?)";
inline constexpr char kAddCounter[] =
    "INSERT INTO counter(window, list, name, text, count) VALUES(?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET count = count + excluded.count";
inline constexpr char kAddPeriod[] = "INSERT INTO period VALUES(?, ?, ?, ?)";
inline constexpr char kAddProcessTime[] =
    "INSERT INTO process_time(window, process, threads, on_cpu_ns, runnable_ns, blocked_ns) "
    "VALUES(?, ?, ?, ?, ?, ?)";
inline constexpr char kAddThreadTime[] =
    "INSERT INTO thread_time VALUES(?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "windows = windows + 1, on_cpu_ns = on_cpu_ns + excluded.on_cpu_ns, "
    "runnable_after_wakeup_ns = runnable_after_wakeup_ns + excluded.runnable_after_wakeup_ns, "
    "runnable_after_preemption_ns = "
    "runnable_after_preemption_ns + excluded.runnable_after_preemption_ns, "
    "runnable_after_yield_ns = runnable_after_yield_ns + excluded.runnable_after_yield_ns, "
    "blocked_interruptible_ns = blocked_interruptible_ns + excluded.blocked_interruptible_ns, "
    "blocked_uninterruptible_ns = "
    "blocked_uninterruptible_ns + excluded.blocked_uninterruptible_ns, "
    "blocked_iowait_ns = blocked_iowait_ns + excluded.blocked_iowait_ns, "
    "on_cpu_count = on_cpu_count + excluded.on_cpu_count";

#define PROFD_STORE_WINDOW                                                                    \
  "SELECT w.id, w.generation, w.start_unix_ns, w.end_unix_ns, w.put_unix_ns, w.start_ns, "    \
  "w.end_ns, w.on_cpu, w.off_cpu, w.on_cpu_period_ns, w.off_cpu_period_ns, w.daemon_cpu_ns, " \
  "w.bpf_ns, h.target, h.host, h.kernel, h.hook, h.profd_version, w.folded "                  \
  "FROM window AS w LEFT JOIN host AS h ON h.id = w.host "
inline constexpr char kWindowsInRange[] =
    PROFD_STORE_WINDOW "WHERE w.start_unix_ns < ? AND w.end_unix_ns > ? ORDER BY w.id";
inline constexpr char kWindowsToCompact[] = PROFD_STORE_WINDOW "WHERE w.folded = 0 ORDER BY w.id";
inline constexpr char kWindowById[] = PROFD_STORE_WINDOW "WHERE w.id = ?";
#undef PROFD_STORE_WINDOW
inline constexpr char kPayload[] = "SELECT data FROM payload WHERE window = ?";
inline constexpr char kCounters[] = "SELECT list, name, text, count FROM counter WHERE window = ?";
inline constexpr char kPeriods[] =
    "SELECT time_ns, on_cpu_period_ns, off_cpu_period_ns FROM period WHERE window = ? "
    "ORDER BY rowid";
inline constexpr char kProcess[] =
    "SELECT pid, start_ns, shown_pid, comm, command_line, executable, build_id, cgroup, "
    "container, unit, uid, sole, user, exited, python, python_refused, process.hash FROM process "
    "JOIN program ON program.id = program WHERE process.id = ?";
inline constexpr char kThread[] =
    "SELECT tid, start_ns, shown_tid, comm, hash FROM thread WHERE id = ?";
inline constexpr char kStack[] = "SELECT parent, frame FROM stack WHERE id = ?";
inline constexpr char kFrame[] =
    "SELECT kind, inlined, interpreter, name, full_name, symbol, module, offset, file, line, "
    "reason, hash FROM frame WHERE id = ?";
inline constexpr char kModule[] =
    "SELECT path, info_path, build_id, symbols_from, symbols_file, symbols_missing, debug_file, "
    "debug_missing FROM module WHERE id = ?";
inline constexpr char kWindowIdsDown[] = "SELECT window FROM payload ORDER BY window DESC";
inline constexpr char kExtent[] =
    "SELECT count(*), min(start_unix_ns), max(end_unix_ns) FROM window";

inline constexpr char kLastPut[] = "SELECT put_unix_ns FROM window ORDER BY id DESC LIMIT 1";
inline constexpr char kOldestTwo[] = "SELECT id, generation FROM window ORDER BY id LIMIT 2";
inline constexpr char kExpired[] =
    "SELECT id FROM window WHERE start_unix_ns < ? AND max(end_unix_ns, put_unix_ns) < ? LIMIT 64";
inline constexpr char kDropWindow[] = "DELETE FROM window WHERE id = ?";
inline constexpr char kDropPayload[] = "DELETE FROM payload WHERE window = ?";
inline constexpr char kDropCounters[] = "DELETE FROM counter WHERE window = ?";
inline constexpr char kDropPeriods[] = "DELETE FROM period WHERE window = ?";
inline constexpr char kDropProcessTimes[] = "DELETE FROM process_time WHERE window = ?";
inline constexpr char kDropThreadTimes[] = "DELETE FROM thread_time WHERE generation < ?";
inline constexpr char kOldestGeneration[] = "SELECT min(generation) FROM window";
inline constexpr char kGetState[] = "SELECT value FROM state WHERE name = ?";
inline constexpr char kSetState[] = "INSERT OR REPLACE INTO state(name, value) VALUES(?, ?)";

// Bounded garbage collection: ids in [?, ?), used before generation ?.
#define PROFD_STORE_COLLECTED(TABLE)                                   \
  {                                                                    \
    #TABLE, "SELECT max(id) FROM " #TABLE,                             \
        "DELETE FROM " #TABLE " WHERE id >= ? AND id < ? AND used < ?" \
  }
struct Collected {
  const char* table;
  const char* last;
  const char* collect;
};
inline constexpr Collected kCollected[] = {
    PROFD_STORE_COLLECTED(stack),  PROFD_STORE_COLLECTED(frame),   PROFD_STORE_COLLECTED(module),
    PROFD_STORE_COLLECTED(thread), PROFD_STORE_COLLECTED(process), PROFD_STORE_COLLECTED(program),
    PROFD_STORE_COLLECTED(host)};
#undef PROFD_STORE_COLLECTED

}  // namespace profd::store::sql
