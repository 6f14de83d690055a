"""A ClickHouse server with the tables of a fleet, made by `profctl fleet init`."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

SOURCE = os.environ.get("PROFD_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PROFCTL = os.path.join(os.environ.get("PROFD_BINARY_DIR") or os.path.join(SOURCE, "build"), "bin", "profctl")
sys.path.insert(0, os.path.join(SOURCE, "tests", "bench", "frameworks"))

from environments import Missing, python_of  # noqa: E402

FRONT = os.path.join(SOURCE, "tests", "support", "receivers", "clickhouse_front.py")


def missing():
    """Why there is no server; None: there is one."""
    try:
        python_of("clickhouse")
    except Missing as why:
        return str(why)
    return None


class Store:
    """The server; a context. Its data outlive it in `folder`; else they go with it. Raises Missing."""

    def __init__(self, folder=None, port=0):
        self.own = None if folder else tempfile.TemporaryDirectory(prefix="profd-clickhouse-")
        self.process = subprocess.Popen([python_of("clickhouse"), FRONT, folder or self.own.name, str(port)],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        if self.own:
            self.own.cleanup()

    def url(self, database="profd"):
        return f"clickhouse://127.0.0.1:{self.port}/{database}"

    def make_tables(self, database="profd"):
        made = subprocess.run([PROFCTL, "fleet", "init", "--to", self.url(database)], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise AssertionError(made.stderr)

    def post(self, path, body=b""):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def run(self, sql, database="profd"):
        """What the server prints, in the statement's own format."""
        return self.post("/?" + urllib.parse.urlencode({"database": database}), sql.encode())

    def rows(self, sql, database="profd"):
        """The rows of a SELECT, as dicts."""
        return [json.loads(line) for line in self.run(sql + " FORMAT JSONEachRow", database).splitlines()]

    def value(self, sql, database="profd"):
        """The one value of the one row."""
        return int(next(iter(self.rows(sql, database)[0].values())))

    def insert(self, table, columns, rows):
        if rows:
            query = f"INSERT INTO {table} ({', '.join(columns)}) FORMAT TSV"
            body = "\n".join("\t".join(text_of(value) for value in row) for row in rows) + "\n"
            self.post("/?" + urllib.parse.urlencode({"database": "profd", "query": query}), body.encode())

    def fail(self, table, code, status, times):
        self.post("/front/fail?" + urllib.parse.urlencode(
            {"table": table, "code": code, "status": status, "times": times}))

    def repeat(self):
        self.post("/front/repeat")

    def seen(self):
        """All statements: sql, parameters, user and key."""
        return json.loads(self.post("/front/seen"))

    def received(self):
        """Bytes of all bodies of INSERTs, as they came."""
        return int(self.post("/front/received"))


def text_of(value):
    """As TSV has it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"'{name}':{item if isinstance(item, int) else repr(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(item if isinstance(item, str) and item.isdigit() else "'" + item.replace("'", "\\'") + "'"
                              for item in value) + "]"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
