"""A fleet: what an agent pays for its export, and what a store has to hold and to answer. Real windows of this host, with loads at
work, are repeated as those of many hosts inside ClickHouse's engine: other values, new builds, pods that live 20 minutes, and every
twentieth host with one function that takes three times as long."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e", "fleet"))

from clickhouse_store import Store  # noqa: E402
from store import new_processes  # noqa: E402
from unwind_loads import Missing, all_loads  # noqa: E402

SIZES = ((50, 60), (200, 60), (200, 120), (10_000, 5))  # hosts, minutes
HOST_MINUTES = 1_500  # of one statement
FLEETS = (100, 1_000, 10_000, 100_000)
# An agent at its defaults.
GOALS = {"cpu_percent": 0.2, "memory_mib": 16, "bytes_per_second": 1_000, "bytes_per_second_in_second_half": 1_000}
TICKS = os.sysconf("SC_CLK_TCK")

# {hosts}, {base}: windows of the recording, {first}: the first minute, {minutes}.
REPEAT = """
INSERT INTO sample (service, time, hash, state, wait, host, version, zone, namespace, pod, unit, executable, thread, ns, count)
SELECT service, toDateTime({first} + 60 * minute) AS time,
  if(minute >= host_no % 60 AND hash % 5 = 0, cityHash64(hash, 'new build'), hash) AS hash,
  state, wait, concat('host-', toString(host_no)) AS host, if(minute >= host_no % 60, '1.1', '1.0') AS version,
  concat('zone-', toString(host_no % 3)) AS zone, 'shop' AS namespace,
  if(cityHash64(service) % 5 = 0, concat(service, '-', hex(cityHash64(host_no, intDiv(minute, 20)))), concat(service, '-', toString(host_no)))
    AS pod,
  unit, executable, thread,
  toUInt64(ns * (0.97 + 0.06 * (cityHash64(host_no, minute, hash) % 1000) / 1000) * if(host_no % 20 = 0 AND hash % 50 = 0, 3, 1)) AS ns,
  count
FROM (
  SELECT *, toUInt64(dense_rank() OVER (ORDER BY time) - 1) AS window_no FROM {source}.sample
) AS base
INNER JOIN (
  SELECT host.number AS host_no, minute.number AS minute, cityHash64(host_no, minute) % {base} AS window_no
  FROM numbers({from_host}, {hosts}) AS host CROSS JOIN numbers({minutes}) AS minute
) AS places USING (window_no)
WHERE cityHash64(host_no, service) % 3 = 0
"""
NEW_BUILDS = """
INSERT INTO stack (service, hash, last_seen, functions, modules, files, kinds)
SELECT service, if(new, cityHash64(hash, 'new build'), hash), now(),
  if(new, arrayConcat([concat(functions[1], '_v2')], arraySlice(functions, 2)), functions), modules, files, kinds
FROM (SELECT * FROM {source}.stack FINAL) AS old ARRAY JOIN [false, true] AS new
WHERE NOT new OR hash % 5 = 0
"""
CLOCKS = """
INSERT INTO clock SELECT service, time, host, version, zone, namespace, pod, state, wait, sum(ns) FROM sample
GROUP BY service, time, host, version, zone, namespace, pod, state, wait
"""
WINDOWS = """
INSERT INTO host_window (host, time, seconds, zone, profd_version, rows, other_ns)
SELECT host, time, 60, any(zone), '0.1.0', count(), 0 FROM sample GROUP BY host, time
"""


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib(pid):
    """What it has for itself: the rest is profd's, from before it began."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        lines = dict(line.split(":", 1) for line in file.read().splitlines()[1:])
    return sum(int(lines[name].split()[0]) for name in ("Private_Clean", "Private_Dirty")) / 1024


def exporter_of(daemon):
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    above = {pid for pid, parent, name in rows if name == "profd-exports" and int(parent) == daemon}
    return next(int(pid) for pid, parent, name in rows if name == "profd-export" and parent in above)


def record(profd, testprogs, store, minutes):
    """Real windows of a busy host go to the store; what that costs the host."""
    with tempfile.TemporaryDirectory(prefix="profd-fleet-") as folder:
        path = os.path.join(folder, "profd.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[history]\ndirectory = "{folder}/history"\n[[export]]\nname = "fleet"\nto = "{store.url()}"\n')
        daemon = subprocess.Popen([profd, "--listen", f"unix:{folder}/profd.sock", "--config", path], stderr=subprocess.DEVNULL)
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(new_processes(5))
                loads = []
                for load in all_loads(testprogs):
                    try:
                        loads.append(stack.enter_context(load))
                    except Missing as missing:
                        print(f"{load.name}: SKIPPED, there is no {missing}")
                exporter = exporter_of(daemon.pid)
                begin, before = time.monotonic(), cpu_seconds(exporter)
                received = store.received()
                # The last window comes two minutes after its end.
                seconds, half = minutes * 60 + 150, None
                while time.monotonic() < begin + seconds:
                    if half is None and time.monotonic() >= begin + seconds / 2:
                        half = time.monotonic(), store.received()
                    for load in loads:
                        load.work()
                        time.sleep(0.5)
                wall = time.monotonic() - begin
                return {"cpu_percent": 100 * (cpu_seconds(exporter) - before) / wall, "memory_mib": resident_mib(exporter),
                        "bytes_per_second": (store.received() - received) / wall,
                        "bytes_per_second_in_second_half": (store.received() - half[1]) / (time.monotonic() - half[0])}
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def timed(call):
    begin = time.monotonic()
    result = call()
    return time.monotonic() - begin, result


def number(store, sql, database="profd"):
    return float(store.run(sql, database=database).strip() or 0)


def disk_bytes(store, database, table):
    return number(store, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = "
                         f"'{database}' AND table = '{table}'")


def make_fleet(store, source, database, hosts, minutes):
    """Rows of so many hosts in a database of their own; {what: value}."""
    store.make_tables(database)
    base = int(number(store, "SELECT uniqExact(time) FROM sample", source))
    first = int(time.time()) // 3600 * 3600 - minutes * 60
    store.run(NEW_BUILDS.format(source=source), database)
    insert_s, step = 0, HOST_MINUTES // minutes
    for begin in range(0, hosts, step):
        sql = REPEAT.format(source=source, base=base, first=first, minutes=minutes, from_host=begin, hosts=min(step, hosts - begin))
        insert_s += timed(lambda: store.run(sql, database))[0]
    clocks_s, _ = timed(lambda: (store.run(CLOCKS, database), store.run(WINDOWS, database)))
    merge_s, _ = timed(lambda: store.run("OPTIMIZE TABLE sample FINAL", database))
    store.run("OPTIMIZE TABLE stack_hour FINAL", database)
    rows = number(store, "SELECT count() FROM sample", database)
    return {"rows": rows, "rows_per_host_minute": rows / hosts / minutes, "rows_per_second": rows / insert_s,
            "merged_rows_per_second": rows / merge_s, "bytes_per_row": disk_bytes(store, database, "sample") / rows,
            "stack_bytes": disk_bytes(store, database, "stack"), "clock_bytes": disk_bytes(store, database, "clock"),
            "rollup_percent": 100 * disk_bytes(store, database, "stack_hour") / disk_bytes(store, database, "sample"),
            "clock_seconds": clocks_s}


def ask(profctl, url, *arguments):
    """Seconds of the fastest of three."""
    def once():
        done = subprocess.run([profctl, *arguments, "--fleet", url], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"profctl {' '.join(arguments)}: {done.stderr}")
    return min(timed(once)[0] for _ in range(3))


def questions(store, profctl, database, minutes, folder):
    """{question: seconds}."""
    service = store.run("SELECT service FROM clock GROUP BY service ORDER BY uniqExact(host) DESC, sum(ns) DESC LIMIT 1 FORMAT TSV",
                        database=database).strip()
    url, since = store.url(database), f"{minutes + 60}m"
    return {
        "list": ask(profctl, url, "list", "--since", since),
        "flame graph of a service": ask(profctl, url, "query", "--service", service, "--since", since, "-f", "folded", "-o",
                                        os.path.join(folder, "folded")),
        "functions of a service": ask(profctl, url, "report", "--service", service, "--since", since, "--by", "function"),
        "two versions": ask(profctl, url, "diff", "--service", service, "--since", since, "--version", "1.0", "1.1"),
    }


def print_paper(agent, fleet):
    """From one host to many: what a shard of two slow CPUs has been seen to do here, with half of it in use."""
    rows = fleet["rows_per_host_minute"] / 60
    print("\n| hosts | rows/s | inserts/s | MB/s in | GB/day | shards of 2 CPUs for inserts and merges |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
    per_shard = 0.5 / (1 / fleet["rows_per_second"] + 1 / fleet["merged_rows_per_second"])
    for hosts in FLEETS:
        shards = max(1, -(-hosts * rows // per_shard))
        print(f"| {hosts:,} | {hosts * rows:,.0f} | {4 * hosts / 60:,.0f} | {hosts * agent['bytes_per_second'] / 1e6:,.1f} | "
              f"{hosts * rows * 86_400 * fleet['bytes_per_row'] / 1e9:,.1f} | {shards:,.0f} |")


def main(profd, program, testprogs, minutes):
    profctl = os.path.join(os.path.dirname(profd), "profctl")
    print(subprocess.run([program], capture_output=True, text=True, check=True).stdout.rstrip())
    with Store() as store, tempfile.TemporaryDirectory() as folder:
        store.make_tables()
        agent = record(profd, testprogs, store, minutes)
        for name, value in agent.items():
            print(f"agent, {name.replace('_', ' ')}\t{value:.2f}\tgoal {GOALS[name]}")
        for place, (hosts, length) in enumerate(SIZES):
            database = f"fleet_{place}"
            fleet = make_fleet(store, "profd", database, hosts, length)
            print(f"\n{hosts:,} hosts, {length} min: {fleet['rows']:,.0f} rows")
            for name, value in list(fleet.items())[1:]:
                print(f"{name.replace('_', ' ')}\t{value:,.2f}")
            for question, seconds in questions(store, profctl, database, length, folder).items():
                print(f"{question}\t{seconds:.2f} s")
        print_paper(agent, fleet)
