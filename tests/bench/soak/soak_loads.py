"""What a soak runs beside profd: redis, postgres and a service in Python, each with a fixed rate of requests."""

import os
import socket
import subprocess
import sys
import time

from unwind_loads import POSTGRES, Load, Missing, Postgres, needed

HERE = os.path.dirname(os.path.abspath(__file__))
PACED = os.path.join(HERE, "..", "paced.py")
# Together some 40 % of one CPU: what is judged is profd, not a machine that is full.
REDIS_HZ, HTTP_HZ, TRANSACTIONS_HZ, CONNECTIONS_HZ = 500, 20, 50, 2
LONG_SECONDS = 100_000


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def await_tcp(port, process):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if process.poll() is not None:
                raise Missing(f"a server that starts: it ended with {process.returncode}") from None
            time.sleep(0.1)
    raise Missing(f"a server that answers at port {port}")


class Clients(Load):
    """A server with clients that go on until the end."""
    programs = ()

    def __enter__(self):
        self.clients = []
        super().__enter__()
        try:
            self.clients = [self.client(command) for command in self.commands()]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.terminate()
            client.wait()
        super().__exit__()

    @staticmethod
    def client(command):
        return subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def check(self):
        """Raises Missing where a program is not there."""
        needed(*self.programs)

    def commands(self):
        raise NotImplementedError

    def ended(self):
        """Names of what should run and does not."""
        return [f"{self.name}: {' '.join(process.args[:3])} ..." for process in (self.process, *self.clients)
                if process.poll() is not None]

    def work(self):
        pass


class PacedRedis(Clients):
    """redis-server at a TCP port of the loopback interface; without a rate it gets no requests."""
    name, programs = "redis", ("redis-server",)

    def __init__(self, rate=REDIS_HZ):
        self.rate = rate

    def start(self):
        self.check()
        self.port = free_port()
        server = subprocess.Popen(["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
                                   "--dir", self.folder], stdout=subprocess.DEVNULL, start_new_session=True)
        await_tcp(self.port, server)
        return server

    def commands(self):
        return [[sys.executable, PACED, "redis", str(self.port), str(self.rate)]] if self.rate else []


class PacedPostgres(Clients, Postgres):
    """postgres; transactions at a fixed rate, and some by a connection, so a process, of their own."""
    name, programs = "postgres", (f"{POSTGRES}/postgres", f"{POSTGRES}/pgbench", "runuser", "setpriv")

    def commands(self):
        as_user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"]
        pgbench = [*as_user, f"{POSTGRES}/pgbench", "-h", self.folder, "-T", str(LONG_SECONDS), "-n"]
        return [[*pgbench, "-c", "4", "-R", str(TRANSACTIONS_HZ), "postgres"],
                [*pgbench, "-S", "-C", "-c", "1", "-R", str(CONNECTIONS_HZ), "postgres"]]


class PythonService(Clients):
    """soak_service.py."""
    name, programs = "python", ("/usr/bin/python3",)

    def start(self):
        server = subprocess.Popen([needed("/usr/bin/python3"), os.path.join(HERE, "soak_service.py")],
                                  stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.port = int(server.stdout.readline())
        return server

    def commands(self):
        return [[sys.executable, PACED, "http", str(self.port), str(HTTP_HZ)]]


def all_loads():
    return [PacedRedis(), PacedPostgres(), PythonService()]
