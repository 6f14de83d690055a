"""Requests at a fixed rate, one at a time: paced.py redis|http PORT RATE

So a server that gets slower is not requested for several things at once, which would make each of them cheaper. Ends with
SIGTERM and then says how many requests there were, and how far behind the rate it ever was.
"""

import itertools
import json
import signal
import socket
import sys
import time

KEYS = 1_000
VALUE = b"x" * 256


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def bulk(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def redis(port):
    """A function for one request; every tenth one writes."""
    connection = connect(port)
    requests = itertools.cycle([bulk(b"SET", b"key%d" % i, VALUE) if i % 10 == 0 else bulk(b"GET", b"key%d" % (i // 10 * 10))
                                for i in range(KEYS)])

    def ask():
        connection.sendall(next(requests))
        answer = connection.recv(4096)
        while not answer.endswith(b"\r\n"):
            part = connection.recv(4096)
            if not part:
                sys.exit("paced: redis has hung up")
            answer += part
        if not answer.startswith((b"+OK", b"$")):
            sys.exit(f"paced: redis says {answer[:80]}")

    return ask


def http(port):
    """A function for one request, each by a connection of its own."""

    def ask():
        with connect(port) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b""
            while part := connection.recv(65536):
                answer += part
        if b" 200 " not in answer[:64]:
            sys.exit(f"paced: the service says {answer[:80]}")

    return ask


def main():
    kind, port, rate = sys.argv[1:]
    ask = {"redis": redis, "http": http}[kind](int(port))
    period = 1 / float(rate)
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    requests, behind, due = 0, 0.0, time.monotonic()
    while not ended:
        early = due - time.monotonic()
        if early > 0:
            time.sleep(early)
        behind = max(behind, -early)
        ask()
        requests += 1
        due += period
    print(json.dumps({"requests": requests, "behind_seconds": behind}))


if __name__ == "__main__":
    main()
