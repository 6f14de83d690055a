"""A front of a server of HTTP on the loopback: TLS, and parameters that the server behind it does not know."""

import http.client
import http.server
import ssl
import threading
import urllib.parse

# Of one connection, not of the exchange.
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.hand_on()

    def do_POST(self):
        self.hand_on()

    def path_behind(self):
        url = urllib.parse.urlsplit(self.path)
        kept = [pair for pair in urllib.parse.parse_qsl(url.query, keep_blank_values=True) if not self.server.without(pair[0])]
        return url._replace(query=urllib.parse.urlencode(kept, quote_via=urllib.parse.quote)).geturl()

    def hand_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind)
        try:
            behind.request(self.command, self.path_behind() if self.server.without else self.path, body,
                           {name: value for name, value in self.headers.items() if name.lower() not in HOP})
            answer = behind.getresponse()
            text = answer.read()
        except OSError:
            self.close_connection = True  # as the server behind it does
            return
        finally:
            behind.close()
        self.server.requests += 1
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class HttpFront(http.server.ThreadingHTTPServer):
    """Hands requests to the port `behind`, without the parameters in `without`, or of which `without` is true. `identity`: PEM files of a certificate and its key,
    for TLS; with `client_ca` it wants a certificate that this authority has signed."""

    daemon_threads = True

    def __init__(self, behind, identity=None, client_ca=None, without=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = behind
        self.without = without if callable(without) else frozenset(without).__contains__ if without else None
        self.requests = 0
        self.context = None
        if identity:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*identity)
        if client_ca:
            self.context.load_verify_locations(client_ca)
            self.context.verify_mode = ssl.CERT_REQUIRED
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def finish_request(self, request, client_address):
        if self.context is None:
            return super().finish_request(request, client_address)
        # In the thread of the connection: a client that does not speak holds up no other one.
        with self.context.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request, client_address):
        pass  # clients that refuse our certificate

    def stop(self):
        self.shutdown()
        self.server_close()
        self.thread.join()
