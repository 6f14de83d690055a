"""A service in Python for the soak: prints its port, then serves HTTP, each request on a thread of its own."""

import http.server
import json
import threading
import time
import zlib

ENTRIES = 200


class Handler(http.server.BaseHTTPRequestHandler):
    lock = threading.Lock()
    requested = {}

    def do_GET(self):
        entries = [{"number": i * 7919 % ENTRIES, "words": [str(i)] * 3} for i in range(ENTRIES)]
        text = json.dumps(sorted(entries, key=lambda entry: entry["number"])).encode()
        with self.lock:
            self.requested[self.path] = self.requested.get(self.path, 0) + 1
        time.sleep(0.002)  # as if it waited for another service
        body = zlib.compress(text, 1)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
