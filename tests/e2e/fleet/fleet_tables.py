"""A fleet whose sums are known: the tables of client/fleet/schema in the engine of ClickHouse, behind HTTP, and rows in them."""

import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

SOURCE = os.environ.get("PROFD_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "tests", "bench", "frameworks"))

import environments  # noqa: E402

Missing = environments.Missing

MINUTE = 60
NS = 1_000_000_000
# Leaf first: function, module, file, kind.
STACKS = {
    1: [("schedule_[k]", "", "", "kernel"), ("epoll_wait", "libc.so.6", "", "native"), ("serve", "cart", "serve.c", "native"),
        ("main", "cart", "main.c", "native")],
    2: [("price", "cart", "price.c", "native"), ("checkout", "cart", "checkout.c", "native"), ("main", "cart", "main.c", "native")],
    3: [("spin_lock", "libspin.so", "", "native"), ("checkout", "cart", "checkout.c", "native"), ("main", "cart", "main.c", "native")],
    4: [("render", "", "/app/render.py", "python"), ("main", "cart", "main.c", "native")],
    5: [("(other)", "", "", "pseudo")],
    6: [("compress", "libz.so.1", "", "native"), ("main", "cart", "main.c", "native")],
}


class Front:
    """The server; a context. `folder` keeps its data."""

    def __init__(self, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="profd-fleet-")
        python = environments.installed_python_of("clickhouse")
        program = os.path.join(SOURCE, "tests", "support", "receivers", "clickhouse_front.py")
        self.process = subprocess.Popen([python, program, self.folder], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.run("CREATE DATABASE IF NOT EXISTS profd", database="default")
        with open(os.path.join(SOURCE, "client", "fleet", "schema", "tables.sql"), encoding="utf-8") as file:
            text = "\n".join(line for line in file.read().splitlines() if not line.lstrip().startswith("--"))
        for statement in text.split(";\n"):
            if statement.strip():
                self.run(statement.strip().rstrip(";"))

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        self.process.terminate()
        self.process.wait()

    @property
    def url(self):
        return f"clickhouse://127.0.0.1:{self.port}/profd"

    def run(self, sql, database="profd"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/?database={database}", data=sql.encode())
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def insert(self, table, columns, rows):
        if not rows:
            return
        query = urllib.parse.quote(f"INSERT INTO {table} ({', '.join(columns)}) FORMAT TSV")
        body = "\n".join("\t".join(text_of(value) for value in row) for row in rows) + "\n"
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/?database=profd&query={query}", data=body.encode())
        urllib.request.urlopen(request).read()


def text_of(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"'{name}':{item if isinstance(item, int) else repr(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(item if isinstance(item, str) and item.isdigit() else "'" + item.replace("'", "\\'") + "'"
                              for item in value) + "]"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


class Fleet:
    """Rows of windows of a minute, kept until they are written."""

    def __init__(self, front):
        self.front = front
        self.samples, self.clocks, self.windows = [], {}, []

    def stacks(self, service, last_seen):
        rows = [(service, number, last_seen, *([frame[part] for frame in frames] for part in range(4)))
                for number, frames in STACKS.items()]
        self.front.insert("stack", ("service", "hash", "last_seen", "functions", "modules", "files", "kinds"), rows)

    def window(self, host, time, rows, *, service="cart", version="1.4.1", zone="a", namespace="shop", pod=None, gaps=None, lost=None):
        """`rows`: (hash, state, wait, thread, ns, count)."""
        pod = pod or f"{service}-{host}"
        for number, state, wait, thread, ns, count in rows:
            self.samples.append((service, time, number, state, wait, host, version, zone, namespace, pod, "", f"{service}.service",
                                 f"/usr/bin/{service}", thread, {"team": "shop"}, ns, count))
            key = (service, time, host, version, zone, namespace, pod, state, wait)
            self.clocks[key] = self.clocks.get(key, 0) + ns
        other = sum(row[4] for row in rows if row[0] == 5)
        self.windows.append((host, time, MINUTE, zone, "0.9.0", len(rows), other, gaps or {}, lost or {}))

    def write(self):
        self.front.insert("sample", ("service", "time", "hash", "state", "wait", "host", "version", "zone", "namespace", "pod", "container",
                                     "unit", "executable", "thread", "labels", "ns", "count"), self.samples)
        self.front.insert("clock", ("service", "time", "host", "version", "zone", "namespace", "pod", "state", "wait", "ns"),
                          [(*key, ns) for key, ns in self.clocks.items()])
        self.front.insert("host_window", ("host", "time", "seconds", "zone", "profd_version", "rows", "other_ns", "gaps", "lost"),
                          list({(row[0], row[1]): row for row in self.windows}.values()))
        self.samples, self.clocks, self.windows = [], {}, []


def insert_many(front, service, begin, hosts, minutes, rows_a_window, stacks=4000):
    """Rows that the engine makes itself: few stacks are most of the time, as in programs. All in one version a host."""
    count = hosts * minutes * rows_a_window
    front.run(f"""INSERT INTO stack (service, hash, last_seen, functions, modules, files, kinds)
        SELECT '{service}', number + 1, toDateTime({begin}),
               arrayMap(i -> concat('function_', toString(if(i < 3, number, intHash32(number * 7 + i) % (20 + i * 30)))), range(20)),
               arrayMap(i -> concat('lib', toString(i % 5), '.so'), range(20)), arrayMap(i -> '', range(20)),
               arrayMap(i -> 'native', range(20))
        FROM numbers({stacks})""")
    front.run(f"""INSERT INTO sample (service, time, hash, state, wait, host, version, zone, thread, ns, count)
        SELECT '{service}', toDateTime({begin} + intDiv(number, {rows_a_window}) % {minutes} * 60),
               toUInt64(pow(rand(1) / 4294967296., 3) * {stacks}) + 1 AS stack_hash,
               if(rand(2) % 2 = 1, 'blocked', 'running'),
               if(rand(2) % 2 = 1, 'net', ''), concat('host-', toString(intDiv(number, {rows_a_window * minutes}))),
               if(intDiv(number, {rows_a_window * minutes}) % 2 = 1, '2.0', '1.9'), 'z1', 'worker-#', 1000000 + rand(3) % 60000000, 1 + rand(4) % 9
        FROM numbers({count})""")
    front.run(f"""INSERT INTO clock (service, time, host, version, zone, state, wait, ns)
        SELECT service, time, host, version, zone, state, wait, sum(ns) FROM sample WHERE service = '{service}'
        GROUP BY service, time, host, version, zone, state, wait""")
    front.run(f"""INSERT INTO host_window (host, time, seconds, zone, profd_version, rows, other_ns, gaps, lost)
        SELECT host, time, 60, 'z1', '0.9.0', count(), 0, map(), map() FROM sample WHERE service = '{service}' GROUP BY host, time""")
    return count
