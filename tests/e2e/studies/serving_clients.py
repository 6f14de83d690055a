"""Clients of TorchServe: serving_clients.py URL NUMBER BODY. Each sends one request after the other until a line comes on standard input.

Writes "ready" once all have had an answer, and the number of answers at the end.
"""

import sys
import threading
import urllib.request


def main():
    url, number = sys.argv[1], int(sys.argv[2])
    request = urllib.request.Request(url, sys.argv[3].encode(), {"Content-Type": "application/json"})
    stop = threading.Event()
    ready = threading.Barrier(number + 1)
    answers = [0] * number

    def work(client):
        while not stop.is_set():
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    answer.read()
            except OSError:
                ready.abort()
                raise
            answers[client] += 1
            if answers[client] == 1:
                ready.wait()

    clients = [threading.Thread(target=work, args=(client,), daemon=True) for client in range(number)]
    for client in clients:
        client.start()
    ready.wait()
    print("ready", flush=True)
    sys.stdin.readline()
    stop.set()
    for client in clients:
        client.join()
    print(sum(answers), flush=True)


if __name__ == "__main__":
    main()
