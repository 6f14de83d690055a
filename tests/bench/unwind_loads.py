"""Programs under load for scripts/bench unwind: each does a fixed piece of work again and again."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

POSTGRES = "/usr/lib/postgresql/15/bin"


class Missing(Exception):
    """What a load needs and this machine lacks."""


def needed(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing(program)
    return programs[0]


def children_of(pid):
    """The process and all that descend from it."""
    found, look = [], [pid]
    while look:
        found.append(look.pop())
        try:
            for task in os.listdir(f"/proc/{found[-1]}/task"):
                with open(f"/proc/{found[-1]}/task/{task}/children", encoding="utf-8") as file:
                    look += [int(child) for child in file.read().split()]
        except FileNotFoundError:
            pass
    return found


class Load:
    """A context: on entry its processes run, and `pids` are to be looked at; `work` keeps them busy."""
    name = ""
    comms = ()    # of the processes whose stacks count
    threads = ()  # other names of their threads
    goal = True   # False: the share is printed only

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="bench-unwind-")
        os.chmod(self.folder, 0o755)
        try:
            self.process = self.start()
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pids(self):
        return children_of(self.process.pid)

    def start(self):
        raise NotImplementedError

    def work(self):
        raise NotImplementedError


def seconds_of(command, **options):
    start = time.monotonic()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, **options)
    return time.monotonic() - start


def await_socket(path, process):
    for _ in range(100):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(path)
                return
            except OSError:
                if process.poll() is not None:
                    raise Missing(f"a server that starts: it ended with {process.returncode}")
                time.sleep(0.1)
    raise Missing(f"a server that answers at {path}")


class Redis(Load):
    """redis-server; a client that sets and gets."""
    name, comms = "redis-server", ("redis-server",)

    def start(self):
        needed("redis-server", "redis-benchmark")
        self.socket = f"{self.folder}/redis"
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                                   "--dir", self.folder], stdout=subprocess.DEVNULL)
        await_socket(self.socket, server)
        return server

    def work(self):
        return seconds_of(["redis-benchmark", "-s", self.socket, "-n", "50000", "-c", "20", "-q", "-t",
                           "set,get,lpush,lrange_100"])


class Postgres(Load):
    """postgres of Debian as its own user; pgbench with 4 clients."""
    name, comms = "postgres", ("postgres",)

    def start(self):
        needed(f"{POSTGRES}/postgres", f"{POSTGRES}/pgbench", "runuser")
        os.chmod(self.folder, 0o777)
        self.user = ["runuser", "-u", "postgres", "--"]
        data = f"{self.folder}/data"
        seconds_of([*self.user, f"{POSTGRES}/initdb", "-D", data, "--no-sync"], cwd="/")
        server = subprocess.Popen(["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups",
                                   f"{POSTGRES}/postgres", "-D", data, "-k", self.folder, "-c",
                                   "listen_addresses=", "-c", "fsync=off"], cwd="/", start_new_session=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_socket(f"{self.folder}/.s.PGSQL.5432", server)
        time.sleep(1)
        seconds_of([*self.user, f"{POSTGRES}/pgbench", "-h", self.folder, "-i", "-s", "2", "postgres"], cwd="/")
        return server

    def work(self):
        return seconds_of([*self.user, f"{POSTGRES}/pgbench", "-h", self.folder, "-c", "4", "-t", "3000",
                           "postgres"], cwd="/")


class Nginx(Load):
    """nginx with one worker; clients that ask for a page and listing again and again, 32 requests at a time."""
    name, comms = "nginx", ("nginx",)

    def start(self):
        needed("nginx")
        self.socket = f"{self.folder}/nginx"
        with open(f"{self.folder}/nginx.conf", "w", encoding="utf-8") as file:
            file.write(f"""daemon off; worker_processes 1; pid {self.folder}/pid; error_log {self.folder}/errors;
events {{ }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {self.folder}/body;
  proxy_temp_path {self.folder}/proxy; fastcgi_temp_path {self.folder}/fastcgi; uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi; gzip on; gzip_types *;
  server {{ listen unix:{self.socket}; root {self.folder}/pages; autoindex on; }} }}""")
        os.mkdir(f"{self.folder}/pages")
        with open(f"{self.folder}/pages/page", "w", encoding="utf-8") as file:
            file.write("some words, and again " * 200)
        server = subprocess.Popen(["nginx", "-c", f"{self.folder}/nginx.conf", "-e", f"{self.folder}/errors"])
        await_socket(self.socket, server)
        return server

    def work(self):
        start = time.monotonic()
        request = b"".join(b"GET /%s HTTP/1.1\r\nHost: a\r\n%s\r\n" % (path, coding) for path, coding in (
            (b"page", b""), (b"page", b"Accept-Encoding: gzip\r\n"), (b"", b""), (b"none", b"")) for _ in range(8))
        clients = []
        for _ in range(4):
            clients.append(socket.socket(socket.AF_UNIX))
            clients[-1].connect(self.socket)
        for _ in range(500):
            for client in clients:
                client.sendall(request)
            for client in clients:
                answers, rest = 0, b""
                while answers < 32:
                    rest += client.recv(1 << 18)
                    answers += rest.count(b"HTTP/1.1 ")
                    rest = rest[-8:] if not rest.endswith(b"HTTP/1.1 ") else b""
                while True:  # what is left of the last body
                    client.settimeout(0.0005)
                    try:
                        client.recv(1 << 18)
                    except TimeoutError:
                        break
                    finally:
                        client.settimeout(None)
        for client in clients:
            client.close()
        return time.monotonic() - start


class Commands(Load):
    """A shell that starts a program again on request; the shell's own stacks do not count."""

    def start(self):
        needed("sh")
        shell = subprocess.Popen(["sh", "-c", "while read -r line; do eval \"$line\" > /dev/null; echo done; done"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.shell = shell
        try:
            self.line = self.command()
        except BaseException:
            shell.kill()
            shell.wait()
            raise
        return shell

    def __exit__(self, *_):
        self.shell.stdin.close()
        self.shell.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self):
        raise NotImplementedError

    def work(self):
        start = time.monotonic()
        self.shell.stdin.write(self.line + "\n")
        self.shell.stdin.flush()
        if self.shell.stdout.readline() != "done\n":
            raise Missing(f"a shell that runs {self.line}")
        return time.monotonic() - start

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


class Python(Commands):
    """Debian's CPython: computes, compresses, and writes files."""
    name, comms = "python3.11", ("python3.11",)

    def command(self):
        needed("/usr/bin/python3.11")
        self.write("mix.py", """
import json, os, re, zlib, random
chance = random.Random(7)
data = [{"number": chance.random(), "words": [str(i)] * 5} for i in range(4000)]
for number in range(25):
    text = json.dumps(data, indent=number % 2)
    again = json.loads(text)
    again.sort(key=lambda entry: (entry["number"], len(entry["words"])))
    re.sub(r'"(wor)(ds)"', lambda match: match.group(2), text)
    for part in range(4):
        with open(f"file{part}", "wb") as file:
            file.write(zlib.compress(text.encode(), 1))
            file.flush()
            os.fsync(file.fileno())
    sum(hash(key) for entry in again for key in entry)
""")
        return "/usr/bin/python3.11 mix.py"


class Node(Commands):
    """node: functions compiled at run time, and its pool of native threads."""
    name, comms, threads, goal = "node", ("node",), ("libuv-worker",), False

    def command(self):
        needed("node")
        self.write("mix.js", """
const zlib = require('zlib'), crypto = require('crypto');
const data = Array.from({length: 4000}, (_, i) => ({number: i * 7919 % 4001, words: [String(i)]}));
function turn(left) {
  if (left === 0) return;
  const text = JSON.stringify(data);
  const again = JSON.parse(text).sort((a, b) => a.number - b.number);
  let sum = 0;
  for (let i = 0; i < 3e6; i++) sum = (sum + i * i) % 65521;
  zlib.deflate(text, () => crypto.pbkdf2('a', 'b', 20000, 64, 'sha512', () => turn(left - 1)));
}
turn(30);
""")
        return "node mix.js"


class Clang(Commands):
    """A compiler of 100 MB and more, once a turn."""
    name, comms = "clang-16", ("clang-16", "clang")

    def command(self):
        needed("clang-16")
        self.write("big.cc", "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n" + "".join(
            f"int f{i}(std::map<std::string, int>& m, std::string s) {{ m[s] += {i}; std::regex r(\"a{i}\"); "
            f"return std::regex_match(s, r) + int(m.size()); }}\n" for i in range(10)))
        return "clang-16 -O1 -c big.cc -o big.o"


class DeepStacks(Commands):
    """Our own program: C++ without frame pointers, some 30 frames deep."""
    name, comms = "deep_stacks", ("deep_stacks",)

    def __init__(self, folder):
        self.program = os.path.join(folder, "deep_stacks")

    def command(self):
        needed(self.program)
        return f"{self.program} 20000"


def all_loads(testprogs):
    return [Redis(), Postgres(), Nginx(), Python(), Node(), Clang(), DeepStacks(testprogs)]
