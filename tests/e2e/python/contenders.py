"""Threads that compute in Python and nothing else: all but one wait for the GIL at any moment. Says "ready", ends when
reported to."""
import sys
import threading

END = threading.Event()


def contend():
    total = 0
    while not END.is_set():
        for i in range(10000):
            total += i * i


threads = [threading.Thread(target=contend, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.readline()
END.set()
