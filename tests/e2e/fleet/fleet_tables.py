"""A fleet whose sums are known: the tables of client/fleet/schema in the engine of ClickHouse, behind HTTP, and rows in them."""

from clickhouse_store import Missing, Store  # noqa: F401

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


def store_with_tables():
    """A context."""
    store = Store()
    store.make_tables()
    return store


class Fleet:
    """Rows of windows of a minute, kept until they are written."""

    def __init__(self, store):
        self.store = store
        self.samples, self.clocks, self.windows = [], {}, []

    def stacks(self, service, last_seen):
        rows = [(service, number, last_seen, *([frame[part] for frame in frames] for part in range(4)))
                for number, frames in STACKS.items()]
        self.store.insert("stack", ("service", "hash", "last_seen", "functions", "modules", "files", "kinds"), rows)

    def paths(self, service, last_seen, paths):
        """`paths`: by hash, (kind, how, wait, thread, service, own, stack) of each step."""
        rows = [(service, number, last_seen, *([str(step[part]) for step in steps] for part in range(7)), 0)
                for number, steps in paths.items()]
        self.store.insert("path", ("service", "hash", "last_seen", "kinds", "hows", "waits", "threads", "services", "own", "stacks",
                                   "estimated"), rows)

    def window(self, host, time, rows, *, service="cart", version="1.4.1", zone="a", namespace="shop", pod=None, gaps=None, lost=None):
        """`rows`: (hash, state, wait, thread, ns, count), and perhaps a path."""
        pod = pod or f"{service}-{host}"
        for number, state, wait, thread, ns, count, *path in rows:
            self.samples.append((service, time, number, state, wait, host, version, zone, namespace, pod, "", f"{service}.service",
                                 f"/usr/bin/{service}", thread, {"team": "shop"}, ns, count, *(path or [0])))
            key = (service, time, host, version, zone, namespace, pod, state, wait)
            self.clocks[key] = self.clocks.get(key, 0) + ns
        other = sum(row[4] for row in rows if row[0] == 5)
        self.windows.append((host, time, MINUTE, zone, "0.9.0", len(rows), other, gaps or {}, lost or {}))

    def write(self):
        self.store.insert("sample", ("service", "time", "hash", "state", "wait", "host", "version", "zone", "namespace", "pod", "container",
                                     "unit", "executable", "thread", "labels", "ns", "count", "path"), self.samples)
        self.store.insert("clock", ("service", "time", "host", "version", "zone", "namespace", "pod", "state", "wait", "ns"),
                          [(*key, ns) for key, ns in self.clocks.items()])
        self.store.insert("host_window", ("host", "time", "seconds", "zone", "profd_version", "rows", "other_ns", "gaps", "lost"),
                          list({(row[0], row[1]): row for row in self.windows}.values()))
        self.samples, self.clocks, self.windows = [], {}, []


def insert_many(store, service, begin, hosts, minutes, rows_a_window, stacks=4000):
    """Rows that the engine makes itself: few stacks are most of the time, as in programs. All in one version a host."""
    count = hosts * minutes * rows_a_window
    store.run(f"""INSERT INTO stack (service, hash, last_seen, functions, modules, files, kinds)
        SELECT '{service}', number + 1, toDateTime({begin}),
               arrayMap(i -> concat('function_', toString(if(i < 3, number, intHash32(number * 7 + i) % (20 + i * 30)))), range(20)),
               arrayMap(i -> concat('lib', toString(i % 5), '.so'), range(20)), arrayMap(i -> '', range(20)),
               arrayMap(i -> 'native', range(20))
        FROM numbers({stacks})""")
    store.run(f"""INSERT INTO sample (service, time, hash, state, wait, host, version, zone, thread, ns, count)
        SELECT '{service}', toDateTime({begin} + intDiv(number, {rows_a_window}) % {minutes} * 60),
               toUInt64(pow(rand(1) / 4294967296., 3) * {stacks}) + 1 AS stack_hash,
               if(rand(2) % 2 = 1, 'blocked', 'running'),
               if(rand(2) % 2 = 1, 'net', ''), concat('host-', toString(intDiv(number, {rows_a_window * minutes}))),
               if(intDiv(number, {rows_a_window * minutes}) % 2 = 1, '2.0', '1.9'), 'z1', 'worker-#', 1000000 + rand(3) % 60000000, 1 + rand(4) % 9
        FROM numbers({count})""")
    store.run(f"""INSERT INTO clock (service, time, host, version, zone, state, wait, ns)
        SELECT service, time, host, version, zone, state, wait, sum(ns) FROM sample WHERE service = '{service}'
        GROUP BY service, time, host, version, zone, state, wait""")
    store.run(f"""INSERT INTO host_window (host, time, seconds, zone, profd_version, rows, other_ns, gaps, lost)
        SELECT host, time, 60, 'z1', '0.9.0', count(), 0, map(), map() FROM sample WHERE service = '{service}' GROUP BY host, time""")
    return count
