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
# What it was before there was this schema, on two CPUs: {(question, hosts, minutes): seconds}.
PROTOTYPE = {("flame graph of a service", 50, 60): 0.1, ("functions of the fleet, from samples", 200, 60): 0.9}
# Days that client/fleet/schema/tables.sql keeps.
DAYS = {"sample": 14, "clock": 90, "host_window": 90, "stack_hour": 90}
HOST_TABLES = ("sample", "clock", "host_window")  # that grow with hosts; the others with stacks
# Of async inserts of agents, for one server. An assumption: nothing here tries it.
INSERTS_A_SECOND = 300
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
                received, requests = store.received(), inserts(store)
                # The last window comes two minutes after its end.
                seconds, half = minutes * 60 + 150, None
                while time.monotonic() < begin + seconds:
                    if half is None and time.monotonic() >= begin + seconds / 2:
                        half = time.monotonic(), store.received(), inserts(store)
                    for load in loads:
                        load.work()
                        time.sleep(0.5)
                wall, steady = time.monotonic() - begin, time.monotonic() - half[0]
                return {"cpu_percent": 100 * (cpu_seconds(exporter) - before) / wall, "memory_mib": resident_mib(exporter),
                        "bytes_per_second": (store.received() - received) / wall,
                        "bytes_per_second_in_second_half": (store.received() - half[1]) / steady,
                        "requests_per_hour": 3_600 * (inserts(store) - requests) / wall}
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def inserts(store):
    """How many there were."""
    return sum("INSERT INTO" in one["sql"] and "FORMAT RowBinary" in one["sql"] for one in store.seen())


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
    """Rows of so many hosts in a database of their own; {what: value}, and their first second."""
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
    size = {table: disk_bytes(store, database, table) for table in (*DAYS, "stack")}
    fleet = {"rows": rows, "rows_per_host_minute": rows / hosts / minutes, "rows_per_second": rows / insert_s,
             "merged_rows_per_second": rows / merge_s, "bytes_per_row": size["sample"] / rows,
             "rollup_percent": 100 * size["stack_hour"] / size["sample"], "clock_seconds": clocks_s,
             "stack_bytes": size["stack"], "rollup_bytes_per_hour": size["stack_hour"] / -(-minutes // 60)}
    for table in HOST_TABLES:
        fleet[f"{table}_bytes_per_host_minute"] = size[table] / hosts / minutes
    return fleet, first


def ask(profctl, url, *arguments):
    """Seconds of the fastest of three; None: there is no answer, and why is said."""
    def once():
        done = subprocess.run([profctl, *arguments, "--fleet", url], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"profctl {' '.join(arguments)}: {done.stderr}")
    try:
        return min(timed(once)[0] for _ in range(3))
    except RuntimeError as error:
        print(error, flush=True)
        return None


def utc(unix_s):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_s))


def questions(store, profctl, database, first, minutes, folder):
    """{question: seconds}."""
    service = store.run("SELECT service FROM clock GROUP BY service ORDER BY uniqExact(host) DESC, sum(ns) DESC LIMIT 1 FORMAT TSV",
                        database=database).strip()
    url, end = store.url(database), first + minutes * 60
    times = ("--from", utc(first), "--to", utc(end))
    # The roll-up answers for hours that are requested whole; a second less is requested of samples.
    hours = ("--from", utc(first // 3600 * 3600), "--to", utc(end))
    part = ("--from", utc(first // 3600 * 3600), "--to", utc(end - 1))
    return {
        "list of services": ask(profctl, url, "list", *times),
        "flame graph of a service": ask(profctl, url, "query", "--service", service, *times, "-f", "folded", "-o",
                                        os.path.join(folder, "folded")),
        "functions of a service": ask(profctl, url, "report", "--service", service, *times, "--by", "function"),
        "two versions of it": ask(profctl, url, "diff", "--service", service, *times, "--version", "1.0", "1.1"),
        "hosts that differ": ask(profctl, url, "report", "--service", service, *times, "--outliers"),
        "functions of the fleet, from samples": ask(profctl, url, "top", "--functions", *part),
        "functions of the fleet, from whole hours": ask(profctl, url, "top", "--functions", *hours),
    }


def print_table(head, rows):
    print("\n| " + " | ".join(head) + " |\n| --- |" + " ---: |" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def print_host(agent, fleet):
    """Of one host, as many of them have been made of it."""
    hour = {"bytes sent, at the begin with all stacks": 3_600 * agent["bytes_per_second"],
            "bytes sent, when it has run for a while": 3_600 * agent["bytes_per_second_in_second_half"],
            "requests (inserts)": agent["requests_per_hour"], "rows of `sample`": 60 * fleet["rows_per_host_minute"]}
    print_table(("one host", "an hour", "a day"), [(what, f"{value:,.0f}", f"{24 * value:,.0f}") for what, value in hour.items()])


def print_fleets(fleets):
    """`fleets`: [(hosts, minutes, {what: value}, {question: seconds})]."""
    head = ("", *(f"{hosts:,} hosts, {minutes} min" for hosts, minutes, _, _ in fleets))
    print_table(head, [(name.replace("_", " "), *(f"{fleet[name]:,.0f}" if fleet[name] >= 100 else f"{fleet[name]:.2f}"
                                                  for _, _, fleet, _ in fleets)) for name in fleets[0][2]])

    def seconds(question, hosts, minutes, answers):
        before = PROTOTYPE.get((question, hosts, minutes))
        if answers[question] is None:
            return "no answer"
        return f"{answers[question]:.2f} s" + (f" (prototype: {before} s)" if before else "")

    print_table(head, [(question, *(seconds(question, hosts, minutes, answers) for hosts, minutes, _, answers in fleets))
                       for question in fleets[0][3]])


def kept_bytes(hosts, fleet):
    """On disk, when all days are there: one copy of all shards."""
    of_hosts = sum(fleet[f"{table}_bytes_per_host_minute"] * 1_440 * DAYS[table] for table in HOST_TABLES)
    return hosts * of_hosts + fleet["rollup_bytes_per_hour"] * 24 * DAYS["stack_hour"] + fleet["stack_bytes"]


def print_paper(agent, fleet):
    """From one host to many: what a shard of two slow CPUs has been seen to do here, with half of it in use."""
    rows = fleet["rows_per_host_minute"] / 60
    per_shard = 0.5 / (1 / fleet["rows_per_second"] + 1 / fleet["merged_rows_per_second"])
    table = []
    for hosts in FLEETS:
        requests = hosts * agent["requests_per_hour"] / 3_600
        by_rows, by_requests = (max(1, -(-value // most)) for value, most in ((hosts * rows, per_shard), (requests, INSERTS_A_SECOND)))
        kept = kept_bytes(hosts, fleet) / 1e9
        table.append((f"{hosts:,}", f"{hosts * rows:,.0f}", f"{hosts * rows * 86_400 / 1e6:,.0f}", f"{requests:,.0f}",
                      f"{hosts * agent['bytes_per_second_in_second_half'] / 1e6:,.1f}",
                      f"{hosts * rows * 86_400 * fleet['bytes_per_row'] / 1e9:,.1f}", f"{kept:,.0f}", f"{2 * kept:,.0f}",
                      f"{by_rows:,.0f}", f"{by_requests:,.0f}"))
    print_table(("hosts", "rows/s", "million rows a day", "inserts/s", "MB/s in", "GB a day", "GB kept", "with two copies",
                 "shards of 2 CPUs for rows", f"shards for {INSERTS_A_SECOND} inserts/s each"), table)
    print(f"kept: {', '.join(f'{table} {days} days' for table, days in DAYS.items())}, and the stacks of now")


def main(profd, program, testprogs, minutes):
    profctl = os.path.join(os.path.dirname(profd), "profctl")
    print(subprocess.run([program], capture_output=True, text=True, check=True).stdout.rstrip())
    with Store() as store, tempfile.TemporaryDirectory() as folder:
        store.make_tables()
        agent = record(profd, testprogs, store, minutes)
        for name, value in agent.items():
            print(f"agent, {name.replace('_', ' ')}\t{value:.2f}" + (f"\tgoal {GOALS[name]}" if name in GOALS else ""))
        fleets = []
        for place, (hosts, length) in enumerate(SIZES):
            database = f"fleet_{place}"
            fleet, first = make_fleet(store, "profd", database, hosts, length)
            fleets.append((hosts, length, fleet, questions(store, profctl, database, first, length, folder)))
            print(f"{hosts:,} hosts, {length} min: {fleet['rows']:,.0f} rows", flush=True)
        print_host(agent, fleet)
        print_fleets(fleets)
        # Of the rows of an hour at least: a roll-up of minutes is not one.
        print_paper(agent, next(fleet for _, length, fleet, _ in reversed(fleets) if length >= 60))
