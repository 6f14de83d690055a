-- The tables of a fleet in ClickHouse, 24.8 or newer. `profctl fleet init` creates them; agents only insert.
-- A row of `sample` says how long the threads of one group had one stack in one state, within one window of one host.
-- Sums of `ns` over all rows of a host, service, state and time are the kernel's clocks, exact to the nanosecond: what a
-- limit cut off is in rows of the stack "(other)".

-- Which tables these are. profctl leaves tables alone that are newer than itself. A change of the tables is an ALTER ... IF NOT
-- EXISTS at the end of this file, and a higher version in fleet_schema.h.
CREATE TABLE IF NOT EXISTS schema_version (
  version UInt32,
  made_by String,  -- profctl's version
  time DateTime
) ENGINE = MergeTree
ORDER BY version;

-- The stacks of a service, each once. Line numbers and build ids are left out, so that versions of a program can be compared.
CREATE TABLE IF NOT EXISTS stack (
  service LowCardinality(String),
  hash UInt64,  -- of the four arrays; the same on every host
  last_seen DateTime CODEC(Delta, ZSTD(1)),  -- hosts send a stack again after one to two days
  -- Leaf first; all four have the same length.
  functions Array(LowCardinality(String)) CODEC(ZSTD(3)),
  modules Array(LowCardinality(String)) CODEC(ZSTD(3)),  -- last part of the path; '' of Python frames
  files Array(LowCardinality(String)) CODEC(ZSTD(3)),  -- source files; '' unknown
  kinds Array(Enum8('native' = 0, 'kernel' = 1, 'python' = 2, 'jit' = 3, 'pseudo' = 4)) CODEC(ZSTD(3)),
  distinct_functions Array(LowCardinality(String)) MATERIALIZED arrayDistinct(functions) CODEC(ZSTD(3))
) ENGINE = ReplacingMergeTree(last_seen)
ORDER BY (service, hash)
TTL last_seen + INTERVAL 100 DAY
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE IF NOT EXISTS sample (
  service LowCardinality(String),
  time DateTime CODEC(Delta, ZSTD(1)),  -- begin of the window
  hash UInt64 CODEC(ZSTD(1)),  -- of the stack
  state Enum8('running' = 1, 'spinning' = 2, 'runnable' = 3, 'blocked' = 4, 'stolen' = 5) CODEC(ZSTD(1)),
  wait LowCardinality(String) CODEC(ZSTD(1)),  -- of blocked: 'lock', 'net'; else ''
  host LowCardinality(String) CODEC(ZSTD(1)),
  version LowCardinality(String) CODEC(ZSTD(1)),
  zone LowCardinality(String) CODEC(ZSTD(1)),
  namespace LowCardinality(String) CODEC(ZSTD(1)),
  pod LowCardinality(String) CODEC(ZSTD(1)),
  container LowCardinality(String) CODEC(ZSTD(1)),
  unit LowCardinality(String) CODEC(ZSTD(1)),
  executable LowCardinality(String) CODEC(ZSTD(1)),
  thread LowCardinality(String) CODEC(ZSTD(1)),  -- name without numbers: 'worker-#'
  labels Map(LowCardinality(String), String) CODEC(ZSTD(1)),  -- all others that the export keeps
  ns UInt64 CODEC(T64, ZSTD(1)),
  count UInt32 CODEC(T64, ZSTD(1))  -- sampling points; 0: time that no sample saw
) ENGINE = MergeTree
PARTITION BY toDate(time)
ORDER BY (service, toStartOfHour(time), hash, state, host, time)
TTL time + INTERVAL 14 DAY
SETTINGS non_replicated_deduplication_window = 10000;

-- Sums of the clocks without stacks.
CREATE TABLE IF NOT EXISTS clock (
  service LowCardinality(String),
  time DateTime CODEC(Delta, ZSTD(1)),
  host LowCardinality(String) CODEC(ZSTD(1)),
  version LowCardinality(String) CODEC(ZSTD(1)),
  zone LowCardinality(String) CODEC(ZSTD(1)),
  namespace LowCardinality(String) CODEC(ZSTD(1)),
  pod LowCardinality(String) CODEC(ZSTD(1)),
  state Enum8('running' = 1, 'spinning' = 2, 'runnable' = 3, 'blocked' = 4, 'stolen' = 5) CODEC(ZSTD(1)),
  wait LowCardinality(String) CODEC(ZSTD(1)),
  ns UInt64 CODEC(T64, ZSTD(1))
) ENGINE = MergeTree
PARTITION BY toDate(time)
ORDER BY (service, toStartOfHour(time), state, host, time)
TTL time + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000;

-- What a host has delivered. The row of a window comes after all its other rows: without it the window is not complete.
CREATE TABLE IF NOT EXISTS host_window (
  host LowCardinality(String),
  time DateTime CODEC(Delta, ZSTD(1)),  -- begin
  seconds Float64 CODEC(ZSTD(1)),  -- its length
  zone LowCardinality(String) CODEC(ZSTD(1)),
  profd_version LowCardinality(String) CODEC(ZSTD(1)),
  rows UInt32 CODEC(T64, ZSTD(1)),  -- in `sample`
  other_ns UInt64 CODEC(T64, ZSTD(1)),  -- in rows of the stack "(other)"
  gaps Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)),  -- ns that never come, before this window, by cause
  lost Map(LowCardinality(String), UInt64) CODEC(ZSTD(1))  -- records that the kernel or profd lost, by kind
) ENGINE = ReplacingMergeTree
PARTITION BY toDate(time)
ORDER BY (host, time)
TTL time + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000;

-- The roll-up for questions about the whole fleet: no host and no minute, so its size does not grow with hosts.
-- It needs its window of repetitions, too: the view hands on what `sample` recognizes as a repetition.
CREATE TABLE IF NOT EXISTS stack_hour (
  service LowCardinality(String),
  hour DateTime CODEC(Delta, ZSTD(1)),
  version LowCardinality(String) CODEC(ZSTD(1)),
  hash UInt64 CODEC(ZSTD(1)),
  state Enum8('running' = 1, 'spinning' = 2, 'runnable' = 3, 'blocked' = 4, 'stolen' = 5) CODEC(ZSTD(1)),
  wait LowCardinality(String) CODEC(ZSTD(1)),
  ns UInt64 CODEC(T64, ZSTD(1)),
  count UInt64 CODEC(T64, ZSTD(1))
) ENGINE = SummingMergeTree((ns, count))
PARTITION BY toYYYYMM(hour)
ORDER BY (service, hour, hash, state, wait, version)
TTL hour + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW IF NOT EXISTS stack_hour_from_sample TO stack_hour AS
SELECT service, toStartOfHour(time) AS hour, version, hash, state, wait, sum(ns) AS ns, sum(count) AS count
FROM sample
GROUP BY service, hour, version, hash, state, wait;

-- Functions by service, version and hour: time at the leaf and time anywhere on the stack.
CREATE VIEW IF NOT EXISTS function_hour AS
SELECT service, version, hour, state, wait, function, sum(if(function = leaf, ns, 0)) AS self_ns, sum(ns) AS total_ns
FROM (
  SELECT h.service AS service, h.version AS version, h.hour AS hour, h.state AS state, h.wait AS wait, h.ns AS ns,
         s.functions[1] AS leaf, arrayJoin(s.distinct_functions) AS function
  FROM (SELECT service, version, hour, state, wait, hash, sum(ns) AS ns FROM stack_hour
        GROUP BY service, version, hour, state, wait, hash) AS h
  INNER JOIN (SELECT service, hash, any(functions) AS functions, any(distinct_functions) AS distinct_functions FROM stack
              GROUP BY service, hash) AS s USING (service, hash)
)
GROUP BY service, version, hour, state, wait, function;

-- Version 2. Two windows of one host may begin in one second, so each is known by the ns of its begin behind `time`, too.
ALTER TABLE host_window
  ADD COLUMN IF NOT EXISTS nanosecond UInt32 CODEC(T64, ZSTD(1)) AFTER time,
  MODIFY ORDER BY (host, time, nanosecond);

-- Version 3. On whom threads wait. Only hosts whose history is in hook mode know it (history.mode = "hooks"); of others `sample.path`
-- is 0. The paths of a service, each once, from the waiter outwards: the thread that ended the wait, and if that one waited, too,
-- the next, to the end. The arrays have the same length, an element for each step.
CREATE TABLE IF NOT EXISTS path (
  service LowCardinality(String),  -- of the waiter
  hash UInt64,  -- of the arrays and of `estimated`; the same on every host
  last_seen DateTime CODEC(Delta, ZSTD(1)),  -- hosts send a path again after one to two days
  -- What the thread of the step did: 'waits', so that the next step says on whom, 'runs', 'no_cpu'. Or what ended the wait: 'timer',
  -- 'disk', 'net', 'interrupt'. Or why it is not known: 'still_waits' to 'too_long'; 'hidden' is a thread that the rules of the
  -- export leave out.
  kinds Array(Enum8('waits' = 1, 'runs' = 2, 'no_cpu' = 3, 'timer' = 4, 'disk' = 5, 'net' = 6, 'interrupt' = 7, 'still_waits' = 8,
                    'not_followed' = 9, 'not_seen' = 10, 'lost' = 11, 'hidden' = 12, 'too_long' = 13)) CODEC(ZSTD(3)),
  -- How the thread ended the wait before it; 'gil' and 'owner': it has what the one before it waits for.
  hows Array(Enum8('woke' = 0, 'exit' = 1, 'signal' = 2, 'gil' = 3, 'owner' = 4)) CODEC(ZSTD(3)),
  waits Array(LowCardinality(String)) CODEC(ZSTD(3)),  -- of 'waits': 'lock', 'net'; else ''
  threads Array(LowCardinality(String)) CODEC(ZSTD(3)),  -- names without numbers: 'worker-#'; '': it is no thread
  services Array(LowCardinality(String)) CODEC(ZSTD(3)),  -- of these threads; '': not known, or no thread
  own Array(UInt8) CODEC(ZSTD(3)),  -- 1: a thread of the waiter's process
  stacks Array(UInt64) CODEC(ZSTD(3)),  -- what the thread did: `hash` in `stack`, under the service of the waiter; 0: not known
  estimated UInt8 CODEC(ZSTD(1))  -- 1: the last stack is not of this wait, but of one like it
) ENGINE = ReplacingMergeTree(last_seen)
ORDER BY (service, hash)
TTL last_seen + INTERVAL 100 DAY
SETTINGS non_replicated_deduplication_window = 10000;

-- Of blocked: on whom the thread waits, `hash` in `path`; 0: it is not known.
ALTER TABLE sample
  ADD COLUMN IF NOT EXISTS path UInt64 CODEC(ZSTD(1)) AFTER hash;
