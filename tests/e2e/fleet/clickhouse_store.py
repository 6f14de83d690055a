"""A ClickHouse server with the tables of a fleet, made by `profctl fleet init`."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

SOURCE = os.environ["PROFD_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "bench", "frameworks"))

from environments import Missing, installed_python_of  # noqa: E402

FRONT = os.path.join(SOURCE, "tests", "support", "receivers", "clickhouse_front.py")


def missing():
    """Why there is no server; None: there is one."""
    try:
        installed_python_of("clickhouse")
    except Missing as why:
        return str(why)
    return None


class Store:
    """The server; its data outlive it."""

    def __init__(self, folder, port=0):
        self.process = subprocess.Popen([installed_python_of("clickhouse"), FRONT, folder, str(port)],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def post(self, path, body=b""):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def rows(self, sql, database="profd"):
        """The rows of a SELECT, as dicts."""
        text = self.post("/?" + urllib.parse.urlencode({"database": database}), (sql + " FORMAT JSONEachRow").encode())
        return [json.loads(line) for line in text.splitlines()]

    def value(self, sql):
        """The one value of the one row."""
        return int(next(iter(self.rows(sql)[0].values())))

    def fail(self, table, code, status, times):
        self.post("/front/fail?" + urllib.parse.urlencode(
            {"table": table, "code": code, "status": status, "times": times}))

    def repeat(self):
        self.post("/front/repeat")
