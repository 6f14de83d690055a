// The tables of the store, version by version. FORMAT.md describes them.
#pragma once

namespace profd::store::sql {

inline constexpr char kSchema1[] = R"(
CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE host(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, target TEXT NOT NULL,
  host TEXT NOT NULL, kernel TEXT NOT NULL, hook TEXT NOT NULL, profd_version TEXT NOT NULL);
CREATE TABLE window(
  id INTEGER PRIMARY KEY AUTOINCREMENT, host INTEGER NOT NULL, generation INTEGER NOT NULL,
  folded INTEGER NOT NULL, start_unix_ns INTEGER NOT NULL, end_unix_ns INTEGER NOT NULL,
  put_unix_ns INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  on_cpu INTEGER NOT NULL, off_cpu INTEGER NOT NULL, on_cpu_period_ns INTEGER NOT NULL,
  off_cpu_period_ns INTEGER NOT NULL, threads INTEGER NOT NULL, samples INTEGER NOT NULL,
  daemon_cpu_ns INTEGER NOT NULL, bpf_ns INTEGER NOT NULL);
CREATE INDEX window_by_time ON window(start_unix_ns);
CREATE INDEX window_by_generation ON window(generation);
CREATE INDEX window_to_compact ON window(id) WHERE folded = 0;
CREATE TABLE payload(window INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE counter(
  window INTEGER NOT NULL, list TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY(window, list, name)) WITHOUT ROWID;
CREATE TABLE period(
  window INTEGER NOT NULL, time_ns INTEGER NOT NULL, on_cpu_period_ns INTEGER NOT NULL,
  off_cpu_period_ns INTEGER NOT NULL);
CREATE INDEX period_by_window ON period(window);
CREATE TABLE process(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, pid INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, shown_pid INTEGER NOT NULL, comm TEXT NOT NULL,
  command_line TEXT NOT NULL, executable TEXT NOT NULL, build_id TEXT NOT NULL,
  cgroup TEXT NOT NULL, container TEXT NOT NULL, unit TEXT NOT NULL, uid INTEGER, sole INTEGER NOT NULL,
  user TEXT NOT NULL, exited INTEGER NOT NULL, python TEXT, python_refused TEXT);
CREATE TABLE process_time(
  window INTEGER NOT NULL, process INTEGER NOT NULL, threads INTEGER NOT NULL,
  on_cpu_ns INTEGER NOT NULL, runnable_ns INTEGER NOT NULL, blocked_ns INTEGER NOT NULL,
  PRIMARY KEY(window, process)) WITHOUT ROWID;
CREATE TABLE thread(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, tid INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, shown_tid INTEGER NOT NULL, comm TEXT NOT NULL);
CREATE TABLE thread_time(
  generation INTEGER NOT NULL, thread INTEGER NOT NULL, process INTEGER NOT NULL,
  windows INTEGER NOT NULL, on_cpu_ns INTEGER NOT NULL, runnable_after_wakeup_ns INTEGER NOT NULL,
  runnable_after_preemption_ns INTEGER NOT NULL, runnable_after_yield_ns INTEGER NOT NULL,
  blocked_interruptible_ns INTEGER NOT NULL, blocked_uninterruptible_ns INTEGER NOT NULL,
  blocked_iowait_ns INTEGER NOT NULL, on_cpu_count INTEGER NOT NULL,
  PRIMARY KEY(generation, thread, process)) WITHOUT ROWID;
CREATE TABLE module(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, path TEXT NOT NULL,
  info_path TEXT, build_id TEXT NOT NULL, symbols_from TEXT NOT NULL, symbols_file TEXT NOT NULL,
  symbols_missing TEXT NOT NULL, debug_file TEXT NOT NULL, debug_missing TEXT NOT NULL);
CREATE TABLE frame(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, kind INTEGER NOT NULL,
  inlined INTEGER NOT NULL, interpreter INTEGER NOT NULL, name TEXT NOT NULL,
  full_name TEXT NOT NULL, symbol TEXT NOT NULL, module INTEGER NOT NULL, offset INTEGER NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE TABLE stack(
  id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, frame INTEGER NOT NULL, used INTEGER NOT NULL);
CREATE UNIQUE INDEX stack_by_place ON stack(parent, frame);
)";

// What processes share has rows of its own. Hashes of the old ones are not known here: random ones
// are found by nobody, and the rows go with the last window that needs them.
inline constexpr char kSchema2[] = R"(
CREATE TABLE program(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL,
  command_line TEXT NOT NULL, executable TEXT NOT NULL, build_id TEXT NOT NULL,
  cgroup TEXT NOT NULL, container TEXT NOT NULL, unit TEXT NOT NULL, uid INTEGER,
  sole INTEGER NOT NULL, user TEXT NOT NULL, python TEXT, python_refused TEXT);
INSERT INTO program(hash, used, command_line, executable, build_id, cgroup, container, unit, uid,
                    sole, user, python, python_refused)
  SELECT randomblob(16), max(used), command_line, executable, build_id, cgroup, container, unit,
         uid, sole, user, python, python_refused FROM process GROUP BY 3, 4, 5, 6, 7, 8, 9, 10, 11,
         12, 13;
CREATE TABLE process_of_program(
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, pid INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, shown_pid INTEGER NOT NULL, comm TEXT NOT NULL,
  exited INTEGER NOT NULL, program INTEGER NOT NULL);
INSERT INTO process_of_program
  SELECT p.id, p.hash, p.used, p.pid, p.start_ns, p.shown_pid, p.comm, p.exited, g.id
  FROM process AS p JOIN program AS g USING(command_line, executable, build_id, cgroup, container,
                                            unit, sole, user)
  WHERE g.uid IS p.uid AND g.python IS p.python AND g.python_refused IS p.python_refused;
DROP TABLE process;
ALTER TABLE process_of_program RENAME TO process;
)";

}  // namespace profd::store::sql
