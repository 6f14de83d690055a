#!/usr/bin/python3
"""A ClickHouse server for tests: the real engine (PyPI's chdb-core) behind HTTP. `clickhouse_front.py FOLDER` prints its port.

Formats, SQL, tables and errors are those of the engine. Users, TLS and limits of connections are not there. Names in POST
/front/fail?code=N&status=S&times=T&table=NAME: the next T statements that insert into this table fail so, for tests.
POST /front/repeat: from now on every statement that inserts is run twice, as if its answer had been lost.
POST /front/seen: users, passwords and parameters of statements, as JSON.
Run by the interpreter of the environment "clickhouse" (tests/bench/frameworks/environments.py)."""

import gzip
import http.server
import json
import os
import re
import sys
import tempfile
import threading
import urllib.parse

import zstandard
from chdb import session

CODE = re.compile(r"Code: (\d+)")
STATUS = {60: 404, 81: 404, 516: 403, 192: 403, 241: 500, 47: 404}
# Of the interface, not of the engine.
NO_SETTINGS = {"database", "query", "default_format", "user", "password", "wait_end_of_query"}


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.received += len(body) if "query=" in self.path else 0
        encoding = self.headers.get("Content-Encoding")
        if encoding == "gzip":
            body = gzip.decompress(body)
        elif encoding == "zstd":
            body = zstandard.ZstdDecompressor().decompress(body)
        url = urllib.parse.urlsplit(self.path)
        parameters = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if url.path == "/front/fail":
            self.server.failures.append({"left": int(parameters["times"]), **parameters})
            return self.answer(200, b"")
        if url.path == "/front/repeat":
            self.server.runs = 2
            return self.answer(200, b"")
        if url.path == "/front/received":
            return self.answer(200, str(self.server.received).encode())
        if url.path == "/front/seen":
            seen = [{"user": entry["headers"].get("x-clickhouse-user"), "key": entry["headers"].get("x-clickhouse-key"),
                     "sql": entry["sql"], "parameters": entry["parameters"]}
                    for entry in self.server.seen]
            return self.answer(200, json.dumps(seen).encode())
        query = parameters.get("query")
        sql, data = (query, body) if query else (body.decode(), b"")
        self.server.seen.append({"sql": sql, "headers": dict(self.headers), "parameters": parameters})
        for failure in self.server.failures:
            if failure["left"] > 0 and re.search(r"INSERT INTO \S*\b%s\b" % failure["table"], sql):
                failure["left"] -= 1
                return self.fail(int(failure["code"]), f"Code: {failure['code']}. DB::Exception: for a test.",
                                 int(failure["status"]))
        settings = {name: value for name, value in parameters.items() if name not in NO_SETTINGS}
        try:
            for _ in range(self.server.runs if data else 1):
                result = self.server.run(sql, data, parameters.get("database", "default"), settings)
        except RuntimeError as error:
            found = CODE.search(str(error))
            return self.fail(int(found.group(1)) if found else 1, str(error), None)
        self.answer(200, result)

    def fail(self, code, text, status):
        self.answer(status or STATUS.get(code, 500), text.encode(), {"X-ClickHouse-Exception-Code": str(code)})

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, folder, port=0):
        super().__init__(("127.0.0.1", port), Front)
        self.session = session.Session(folder)
        self.lock = threading.Lock()
        self.failures = []
        self.runs = 1  # of each insert
        self.received = 0  # bytes of bodies of inserts, as they came
        self.seen = []  # statements

    def handle_error(self, request, client_address):
        pass  # clients are killed

    def run(self, sql, data, database, settings):
        parameters = {name[len("param_"):]: value for name, value in settings.items() if name.startswith("param_")}
        values = ", ".join(f"{name} = '{value}'" for name, value in settings.items() if not name.startswith("param_"))
        # One statement at a time: USE is of the session.
        with self.lock:
            exists = self.session.query(f"SELECT count() FROM system.databases WHERE name = '{database}'", "TSV").bytes()
            if exists.strip() != b"1":
                raise RuntimeError(f"Code: 81. DB::Exception: Database {database} does not exist. (UNKNOWN_DATABASE)")
            self.session.query(f"USE {database}")
            inserts = re.match(r"\s*INSERT\s+INTO\s+(.*?)\s+FORMAT\s+(\w+)\s*$", sql, re.DOTALL)
            if not inserts or not data:
                form = re.search(r"\bFORMAT\s+(\w+)\s*$", sql)
                setting = f" SETTINGS {values}" if values and re.match(r"\s*(SELECT|WITH)\b", sql) else ""
                text = sql[:form.start()] + setting if form else sql + setting
                return self.session.query(text, form.group(1) if form else "TSV", params=parameters or None).bytes()
            setting = f" SETTINGS {values}" if values else ""
            with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
                file.write(data)
                file.flush()
                self.session.query(f"INSERT INTO {inserts.group(1)} FROM INFILE '{file.name}'{setting} FORMAT {inserts.group(2)}")
            return b""


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    server = Server(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
