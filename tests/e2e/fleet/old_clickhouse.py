"""ClickHouse 18.16, Debian's package clickhouse-server: the real server with its users, its TLS and its shards, on the loopback.

It is older than the tables of a fleet. `Server.make_tables` makes tables that read the same bytes: an array of pairs is in
RowBinary what a map is, and a tuple around it keeps this server from taking it apart. Settings of inserts that it does not know are taken out by a front (`http_front.py`).
"""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

PROGRAM = "clickhouse-server"
# What 18.16 does not know of what an agent sends.
UNKNOWN_SETTINGS = ("async_insert", "wait_for_async_insert", "async_insert_deduplicate", "insert_deduplication_token")
CLUSTER = "fleet"

USERS = """<yandex>
  <profiles>
    <default><allow_experimental_low_cardinality_type>1</allow_experimental_low_cardinality_type>
      <insert_distributed_sync>1</insert_distributed_sync></default>
    <reads><readonly>1</readonly></reads>
    <cut><readonly>1</readonly><read_overflow_mode>break</read_overflow_mode></cut>
  </profiles>
  <quotas><default></default></quotas>
  <users>
    <default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
    <agent><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
      <allow_databases><database>profd</database></allow_databases></agent>
    <reader><password></password><networks><ip>127.0.0.1</ip></networks><profile>reads</profile><quota>default</quota></reader>
    <cut><password></password><networks><ip>127.0.0.1</ip></networks><profile>cut</profile><quota>default</quota></cut>
    <elsewhere><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
      <allow_databases><database>other</database></allow_databases></elsewhere>
  </users>
</yandex>
"""

STATES = "Enum8('running' = 1, 'spinning' = 2, 'runnable' = 3, 'blocked' = 4, 'stolen' = 5)"
# Columns as in client/fleet/schema/tables.sql.
TABLES = {
    "stack": ("service LowCardinality(String), hash UInt64, last_seen DateTime, functions Array(String), modules Array(String), "
              "files Array(String), kinds Array(Enum8('native' = 0, 'kernel' = 1, 'python' = 2, 'jit' = 3, 'pseudo' = 4))",
              "ReplacingMergeTree(last_seen) ORDER BY (service, hash)"),
    "path": ("service LowCardinality(String), hash UInt64, last_seen DateTime, kinds Array(Enum8('waits' = 1, 'runs' = 2, 'no_cpu' = 3, "
             "'timer' = 4, 'disk' = 5, 'net' = 6, 'interrupt' = 7, 'still_waits' = 8, 'not_followed' = 9, 'not_seen' = 10, 'lost' = 11, "
             "'hidden' = 12, 'too_long' = 13)), hows Array(Enum8('woke' = 0, 'exit' = 1, 'signal' = 2, 'gil' = 3, 'owner' = 4)), "
             "waits Array(String), threads Array(String), services Array(String), own Array(UInt8), stacks Array(UInt64), estimated UInt8",
             "ReplacingMergeTree(last_seen) ORDER BY (service, hash)"),
    "sample": (f"service LowCardinality(String), time DateTime, hash UInt64, path UInt64, state {STATES}, wait LowCardinality(String), "
               "host LowCardinality(String), version String, zone String, namespace String, pod String, container String, "
               "unit String, executable String, thread String, labels Tuple(Array(Tuple(String, String))), ns UInt64, count UInt32",
               "MergeTree PARTITION BY toDate(time) ORDER BY (service, time)"),
    "clock": (f"service LowCardinality(String), time DateTime, host LowCardinality(String), version String, zone String, "
              f"namespace String, pod String, state {STATES}, wait LowCardinality(String), ns UInt64",
              "MergeTree PARTITION BY toDate(time) ORDER BY (service, time)"),
    "host_window": ("host LowCardinality(String), time DateTime, nanosecond UInt32, seconds Float64, zone String, profd_version String, rows UInt32, "
                    "other_ns UInt64, gaps Tuple(Array(Tuple(String, UInt64))), lost Tuple(Array(Tuple(String, UInt64)))",
                    "MergeTree PARTITION BY toDate(time) ORDER BY (host, time)"),
}


def missing():
    """Why there is no server; None: there is one."""
    if shutil.which(PROGRAM) is None:
        return "clickhouse-server is not installed: `scripts/setup --tests` does that"
    return None


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    """One server; `shards`: the ports of all servers of the cluster. `identity`: PEM files of a certificate and its key."""

    def __init__(self, folder, port=None, identity=None, shards=()):
        self.folder = folder
        self.port = free_port()
        self.tcp_port = port or free_port()
        self.https_port = free_port() if identity else None
        os.makedirs(os.path.join(folder, "data"), exist_ok=True)
        with open(os.path.join(folder, "users.xml"), "w", encoding="utf-8") as file:
            file.write(USERS)
        with open(os.path.join(folder, "config.xml"), "w", encoding="utf-8") as file:
            file.write(self.config(identity, shards or (self.tcp_port,)))
        self.process = None
        self.start()

    def config(self, identity, shards):
        secure = ""
        if identity:
            secure = (f"<https_port>{self.https_port}</https_port><openSSL><server><certificateFile>{identity[0]}</certificateFile>"
                      f"<privateKeyFile>{identity[1]}</privateKeyFile><verificationMode>none</verificationMode></server></openSSL>")
        cluster = "".join(f"<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>" for port in shards)
        at = self.folder
        return (f"<yandex><logger><level>information</level><log>{at}/log</log><errorlog>{at}/errors</errorlog></logger>"
                f"<http_port>{self.port}</http_port><tcp_port>{self.tcp_port}</tcp_port>{secure}<listen_host>127.0.0.1</listen_host>"
                f"<path>{at}/data/</path><tmp_path>{at}/data/tmp/</tmp_path><users_config>users.xml</users_config>"
                "<default_profile>default</default_profile><default_database>default</default_database>"
                f"<mark_cache_size>5242880</mark_cache_size><remote_servers><{CLUSTER}>{cluster}</{CLUSTER}></remote_servers></yandex>\n")

    def start(self):
        self.process = subprocess.Popen([PROGRAM, f"--config-file={self.folder}/config.xml"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=self.folder)
        until = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=30):
                    return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    self.kill()
                    raise AssertionError(f"{PROGRAM} does not start: {self.errors()}") from None
                time.sleep(0.05)

    def errors(self):
        try:
            with open(os.path.join(self.folder, "errors"), encoding="utf-8", errors="replace") as file:
                return file.read()[-2000:]
        except OSError as error:
            return str(error)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def run(self, sql, database="profd"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/?" + urllib.parse.urlencode({"database": database}),
                                         data=sql.encode(), method="POST")
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def rows(self, sql):
        return [json.loads(line) for line in self.run(sql + " FORMAT JSONEachRow").splitlines()]

    def value(self, sql):
        return int(next(iter(self.rows(sql)[0].values())))

    def make_table(self, name, suffix="", columns=None):
        self.run(f"CREATE TABLE {name}{suffix} ({columns or TABLES[name][0]}) ENGINE = {TABLES[name][1]}")

    def make_tables(self, suffix=""):
        self.run("CREATE DATABASE IF NOT EXISTS profd", "default")
        for name in TABLES:
            self.make_table(name, suffix)

    def make_distributed(self):
        """TABLE over TABLE_local of all shards; rows go where their hash says."""
        for name, (columns, _) in TABLES.items():
            self.run(f"CREATE TABLE {name} ({columns}) ENGINE = Distributed({CLUSTER}, profd, {name}_local, rand())")
