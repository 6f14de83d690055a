"""What `scripts/bench python` measures: python_loads.py {cpu|threads}. Says `ready`, waits for a line, works, and says
how many seconds it took."""

import json
import sys
import threading
import time

THREADS = 50


class Node:
    def __init__(self, value):
        self.value = value
        self.children = []

    def total(self):
        return self.value + sum(child.total() for child in self.children)


def tree(depth):
    node = Node(depth)
    if depth:
        node.children = [tree(depth - 1) for _ in range(3)]
    return node


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def cpu():
    """Calls, objects, comprehensions and C code, on one thread."""
    for _ in range(250):
        fibonacci(20)
        tree(6).total()
        text = json.dumps({str(i): [i * k for k in range(10)] for i in range(300)})
        sorted(json.loads(text).items(), key=lambda item: item[1][3])


def threads():
    """Short sleeps, a lock, and a little work under the GIL, on 50 threads."""
    lock = threading.Lock()
    shared = []

    def work():
        for i in range(400):
            time.sleep(0.001)
            with lock:
                shared.append(i)
            sum(k * k for k in range(300))

    workers = [threading.Thread(target=work) for _ in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main():
    load = {"cpu": cpu, "threads": threads}[sys.argv[1]]
    load()  # so that all is loaded and warm
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    for _ in range(3):
        load()
    print(time.monotonic() - begin, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
