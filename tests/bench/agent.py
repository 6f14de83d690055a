"""profd as the agent of a host: its defaults, with a history and /metrics, in a folder of its own."""

import json
import math
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request

AWAIT_SECONDS = 120


def values_of(page):
    """{"name" or "name{labels}": value} of a page of /metrics."""
    lines = [line for line in page.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


class Agent:
    """A context: on entry profd serves. `flags` come on top of the defaults. Ctrl-C does not reach it."""
    name = "profd"

    def __init__(self, profd, *flags):
        self.profd, self.flags = os.path.abspath(profd), flags
        self.profctl = os.path.join(os.path.dirname(self.profd), "profctl")

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="profd-agent-")
        self.host = f"unix:{self.folder.name}/profd.sock"
        self.history = os.path.join(self.folder.name, "history")
        self.start()
        return self

    def __exit__(self, *_):
        self.end()
        self.folder.cleanup()

    def start(self):
        nothing = os.path.join(self.folder.name, "profd.toml")
        with open(nothing, "w", encoding="utf-8"), open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [self.profd, "--config", nothing, "--listen", self.host, "--history-directory", self.history,
                 "--metrics-listen", "127.0.0.1:0", *self.flags],
                stdin=subprocess.DEVNULL, stderr=log, start_new_session=True)
        try:
            self._await_serving()
        except BaseException:
            self.__exit__()
            raise

    def end(self):
        """What it has logged; again: the same."""
        if self.alive:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
        return self.log()

    @property
    def _log(self):
        return os.path.join(self.folder.name, "log")

    def log(self):
        with open(self._log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _await_serving(self):
        until = time.monotonic() + AWAIT_SECONDS
        while time.monotonic() < until:
            said = self.log()
            url = re.search(r"http://127\.0\.0\.1:\d+", said)
            if url and "serving" in said:
                self.url = url.group(0)
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"profd does not serve:\n{self.log()}")

    def metrics(self):
        with urllib.request.urlopen(self.url + "/metrics", timeout=AWAIT_SECONDS) as page:
            return values_of(page.read().decode())

    def resident(self):
        """Bytes by kind: "VmRSS", and of it "RssAnon", "RssFile", "RssShmem"."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            fields = [line.split() for line in status]
        return {words[0].rstrip(":"): int(words[1]) << 10 for words in fields if words[0].startswith(("VmRSS", "Rss"))}

    @property
    def alive(self):
        return self.process.poll() is None

    def held(self):
        """Bytes by whom of profd has them, as it says itself; not what is in its readers, which are processes of their own."""
        done = subprocess.run([self.profctl, "status", "--host", self.host, "--json"], stdout=subprocess.PIPE, check=True,
                              start_new_session=True)
        holders = json.loads(done.stdout)["memory"]["holders"]
        return {name: held for name, held in holders.items() if not name.startswith("readers of ")}

    def database_bytes(self):
        return os.path.getsize(os.path.join(self.history, "history.db"))

    def windows_between(self, begin_unix_seconds, end_unix_seconds):
        """The profile of those that lie there, but for a second at either end; None: there are none."""
        begin, end = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
                      for seconds in (math.floor(begin_unix_seconds) + 1, math.floor(end_unix_seconds)))
        done = subprocess.run([self.profctl, "query", "--host", self.host, "--from", begin, "--to", end, "-f", "json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, start_new_session=True)
        return json.loads(done.stdout)["profile"] if done.returncode == 0 else None
