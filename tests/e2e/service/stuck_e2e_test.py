"""A thread of profd that is stuck: who watches profd hears of it, and of which one it is."""

import json
import os
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd, get  # noqa: E402


class Stuck(RunningProfd):
    def serve(self, **options):
        self.configure('[metrics]\nlisten = "127.0.0.1:0"\n')
        daemon = self.start(**options)
        return daemon, re.search(r"http://127\.0\.0\.1:\d+", self.log()).group(0)

    def degraded(self):
        said = self.profctl("status", "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        return json.loads(said.stdout)["degraded"]

    def take_states(self):
        """What profd has sent to its manager and the test has not read."""
        states = []
        self.manager.settimeout(0)
        try:
            while True:
                states.append(self.manager.recv(4096).decode())
        except BlockingIOError:
            return states
        finally:
            self.manager.settimeout(60)

    def test_a_thread_outside_the_pipeline(self):
        daemon, url = self.serve(watchdog_us=200_000)
        self.await_state("WATCHDOG=1")
        self.assertEqual(get(url + "/healthz"), (200, "ok\n"))
        self.assertEqual(self.degraded(), [])
        freezer = self.freeze(daemon, "profd-unwind")
        said = r"unwind tables: no progress for \d+ s"
        until = time.monotonic() + 120
        while not re.search("profd does not work: " + said, self.log()):
            self.assertLess(time.monotonic(), until, self.log())
            self.take_states()  # profd waits when the queue of the socket is full
            time.sleep(0.01)
        self.take_states()
        status, text = get(url + "/healthz")
        self.assertEqual(status, 503)
        self.assertRegex(text, said)
        self.assertRegex(" ".join(self.degraded()), said)
        self.assertRegex(self.profctl("status").stdout, r"degraded +" + said)
        self.assertRegex(self.profctl("doctor").stdout, said)
        self.assertEqual(self.take_states(), [], "a watchdog that is fed")

        freezer.stdin.close()
        self.await_log("profd works again")
        self.await_state("WATCHDOG=1")
        self.assertEqual(get(url + "/healthz"), (200, "ok\n"))
        self.end(daemon)


if __name__ == "__main__":
    unittest.main()
