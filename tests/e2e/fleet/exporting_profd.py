"""A profd that exports its history, a program that it sees, and a receiver of OTLP profiles."""

import collections
import gzip
import http.server
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent import futures

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "service"))

from running_profd import RunningProfd  # noqa: E402

STATES = {"running", "spinning", "runnable", "blocked", "stolen"}

# One thread; its sleeps are a wait that cannot be mistaken.
PROGRAM = r"""
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) void busy_part(void) { for (unsigned long i = 0; i < 3000000; ++i) sink += i; }
__attribute__((noinline)) void lazy_part(void) { struct timespec t = {0, 20000000}; nanosleep(&t, 0); }
int main(void) { for (;;) { busy_part(); lazy_part(); } }
"""


def messages():
    """The modules of pprof.proto and otlp.proto, made by protoc from the tree."""
    source = os.environ["PROFD_SOURCE_DIR"]
    made = tempfile.mkdtemp()
    protos = ("daemon/base/pprof/pprof.proto", "daemon/fleet/targets/otlp.proto")
    for proto in protos:
        subprocess.run(["protoc", "-I", os.path.join(source, os.path.dirname(proto)), "--python_out", made,
                        os.path.basename(proto)], check=True)
    sys.path.insert(0, made)
    return importlib.import_module("pprof_pb2"), importlib.import_module("otlp_pb2")


PPROF, OTLP = messages()


class Receiver:
    """Takes requests of OTLP profiles over gRPC. `answer` is called with each request before it is taken."""

    SERVICE = "opentelemetry.proto.collector.profiles.v1development.ProfilesService"
    METHOD = "Export"

    def __init__(self, port=0, identity=None, most_bytes=None, client_ca=None):
        """`identity`: PEM files of a key and its certificate, for TLS; `client_ca`: that of who signs the certificates of clients,
        which need one then. `most_bytes`: of a request."""
        import grpc

        self.requests = []
        self.metadata = []
        self.seen = threading.Condition()
        self.answer = lambda context: None
        handler = grpc.unary_unary_rpc_method_handler(self.export)
        options = [("grpc.max_receive_message_length", most_bytes)] if most_bytes else None
        self.server = grpc.server(futures.ThreadPoolExecutor(4), options=options)
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(self.SERVICE, {self.METHOD: handler}),))
        if identity:
            texts = []
            for path in (*identity, *([client_ca] if client_ca else [])):
                with open(path, "rb") as file:
                    texts.append(file.read())
            secure = grpc.ssl_server_credentials([texts[:2]], *texts[2:], require_client_auth=client_ca is not None)
            self.port = self.server.add_secure_port(f"127.0.0.1:{port}", secure)
        else:
            self.port = self.server.add_insecure_port(f"127.0.0.1:{port}")
        self.server.start()

    def export(self, request, context):
        self.answer(context)
        with self.seen:
            self.requests.append(request)
            self.metadata.append(dict(context.invocation_metadata()))
            self.seen.notify_all()
        return b"\x0a\x00"  # as the Collector answers: partial_success is there and empty

    def await_requests(self, count, within=90):
        with self.seen:
            return self.seen.wait_for(lambda: len(self.requests) >= count, within)

    def stop(self):
        self.server.stop(None).wait()


class HttpReceiver:
    """The same over HTTP. `statuses`: of the next answers; then 200."""

    def __init__(self):
        self.requests = []
        self.calls = []  # path and headers
        self.statuses = []
        self.seen = threading.Condition()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                owner.take(self)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, call):
        body = gzip.decompress(call.rfile.read(int(call.headers["Content-Length"])))
        with self.seen:
            status = self.statuses.pop(0) if self.statuses else 200
            self.calls.append((call.path, {name.lower(): value for name, value in call.headers.items()}))
            if status == 200:
                self.requests.append(body)
            self.seen.notify_all()
        call.send_response(status)
        call.send_header("Content-Length", "2")
        call.end_headers()
        call.wfile.write(b"\x0a\x00")

    def await_requests(self, count, within=90):
        with self.seen:
            return self.seen.wait_for(lambda: len(self.requests) >= count, within)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class OtlpSums:
    """Checks every index of a request, and sums its values."""

    def __init__(self, test, data):
        self.test = test
        request = OTLP.ExportProfilesServiceRequest.FromString(data)
        self.tables = request.dictionary
        self.by_state = collections.Counter()
        self.by_service = collections.Counter()
        self.by_wait = collections.Counter()
        self.functions = collections.Counter()  # by service, and any function on the stack
        self.notes = collections.Counter()
        self.times = []  # begin and end of profiles
        self.ids = []
        self.resources = []
        self.check_tables()
        for resource in request.resource_profiles:
            self.read(resource)

    def check(self, index, table):
        self.test.assertTrue(0 <= index < len(table), f"index {index} of {len(table)}")
        return table[index]

    def check_tables(self):
        tables = self.tables
        self.test.assertEqual(tables.string_table[0], "")
        for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.stack_table,
                      tables.attribute_table, tables.link_table):
            self.test.assertEqual(table[0].ByteSize(), 0)
        for stack in tables.stack_table:
            for index in stack.location_indices:
                self.check(index, tables.location_table)
        for location in tables.location_table:
            self.check(location.mapping_index, tables.mapping_table)
            for line in location.lines:
                self.check(line.function_index, tables.function_table)
            for index in location.attribute_indices:
                self.check(index, tables.attribute_table)
        for function in tables.function_table:
            for index in (function.name_strindex, function.system_name_strindex, function.filename_strindex):
                self.check(index, tables.string_table)
        for mapping in tables.mapping_table:
            self.check(mapping.filename_strindex, tables.string_table)
            for index in mapping.attribute_indices:
                self.check(index, tables.attribute_table)
        for attribute in tables.attribute_table:
            self.check(attribute.key_strindex, tables.string_table)

    def attributes(self, indices):
        found = {}
        for index in indices:
            attribute = self.check(index, self.tables.attribute_table)
            value = attribute.value
            found[self.tables.string_table[attribute.key_strindex]] = \
                value.int_value if value.HasField("int_value") else value.string_value
        return found

    def read(self, resource):
        labels = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
        self.resources.append(labels)
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                self.ids.append(profile.profile_id)
                self.times.append((profile.time_unix_nano, profile.time_unix_nano + profile.duration_nano))
                self.notes.update(self.attributes(profile.attribute_indices))
                for sample in profile.samples:
                    self.add(labels, sample)

    def add(self, labels, sample):
        stack = self.check(sample.stack_index, self.tables.stack_table)
        self.test.assertTrue(stack.location_indices)
        self.test.assertEqual(len(sample.values), 1)
        value = sample.values[0]
        about = self.attributes(sample.attribute_indices)
        self.test.assertIn(about["profd.state"], STATES)
        service = labels.get("service.name", "")
        self.by_service[service] += value
        self.by_state[service, about["profd.state"]] += value
        if "profd.wait" in about:
            self.by_wait[service, about["profd.wait"]] += value
        names = set()
        for index in stack.location_indices:
            for line in self.tables.location_table[index].lines:
                names.add(self.tables.string_table[self.tables.function_table[line.function_index].name_strindex])
        for name in names:
            self.functions[service, name] += value


class PprofSums:
    """The same of a pprof file. `opened`: by what; open for one without compression."""

    def __init__(self, test, path, opened=gzip.open):
        with opened(path, "rb") as file:
            profile = PPROF.Profile.FromString(file.read())
        text = profile.string_table
        self.types = [text[kind.type] for kind in profile.sample_type]
        self.begin = profile.time_nanos
        self.end = profile.time_nanos + profile.duration_nanos
        self.comments = [text[index] for index in profile.comment]
        functions = {function.id: text[function.name] for function in profile.function}
        locations = {location.id: [functions[line.function_id] for line in location.line]
                     for location in profile.location}
        self.by_service = collections.Counter()
        self.by_state = collections.Counter()
        self.by_wait = collections.Counter()
        self.functions = collections.Counter()
        self.names = set()
        for sample in profile.sample:
            labels = {text[label.key]: text[label.str] for label in sample.label}
            self.names |= labels.keys()
            values = dict(zip(self.types, sample.value))
            service, state = labels["service.name"], labels["state"]
            test.assertIn(state, STATES)
            test.assertEqual(values["wall"], values["cpu"] + values["off_cpu"] + (
                values["wall"] if state == "stolen" else 0))
            self.by_service[service] += values["wall"]
            self.by_state[service, state] += values["wall"]
            if "wait" in labels:
                self.by_wait[service, labels["wait"]] += values["wall"]
            for name in {name for location in sample.location_id for name in locations[location]}:
                self.functions[service, name] += values["wall"]


class ExportingProfd(RunningProfd):
    def setUp(self):
        super().setUp()
        self.program = self.compile(PROGRAM, "exported-program")

    def run_program(self):
        process = subprocess.Popen([self.program])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def export(self, *tables, more=""):
        """profd with these [[export]] tables; windows of the history are final after seconds."""
        self.configure(f'[history]\ndirectory = "{self.path("history")}"\nwindow = "1s"\ncompact = "2s"\n{more}\n'
                       + "\n".join("[[export]]\n" + table for table in tables))
        return self.start()

    def otlp(self, port, more=""):
        return f'name = "otlp"\nto = "otlp+grpc://127.0.0.1:{port}"\ninterval = "2s"\n{more}\n'

    def files(self, more=""):
        return f'name = "files"\nto = "files:{self.path("out")}"\ninterval = "2s"\n{more}\n'

    def written(self):
        """Paths of whole files, in the order of the history."""
        out = self.path("out")
        names = os.listdir(out) if os.path.isdir(out) else []
        numbered = sorted((int(re.search(r"-(\d+)\.pb\.gz$", name).group(1)), name) for name in names
                          if name.endswith(".pb.gz"))
        return [os.path.join(out, name) for _, name in numbered]

    def status(self):
        return self.profctl("status").stdout

    def exports(self):
        """What profd says of each."""
        return json.loads(self.profctl("status", "--json").stdout).get("exports", [])

    def trouble(self):
        """What the last tries of the first export said, whole."""
        exports = self.exports()
        return exports[0].get("last_error", "") if exports else ""

    def exporter(self, daemon):
        """The pid of profd-export."""
        listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True)
        rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
        above = {pid for pid, parent, name in rows if name == "profd-exports" and int(parent) == daemon.pid}
        found = [int(pid) for pid, parent, name in rows if name == "profd-export" and parent in above]
        return found[0] if found else None
