"""Case 30: what runs in the first of two runtimes in one process, and calls the second."""
import ctypes
import functools
import json
import os
import sys
import threading

from language import outer1
from oracle import HERE, frames_of, measure

SECOND = ("import sys\nsys.argv = ['']\nsys.path.insert(0, %r)\nimport second_runtime\n"
          "second_runtime.main(%d, %d)\n")
CALL = "import second_runtime; second_runtime.%s(%r)"

host = ctypes.CDLL(None)
callers = []  # frames that called the second one, from which it calls back
known_by = 0  # the second one's own thread
returned = 0


def back30(text):
    """Called by the second one."""
    global returned
    below = [tuple(frame) for frame in json.loads(text.decode())]
    measure(30, outer1, 0.1, below=below, end=callers[-1], known_by=known_by, known_in="second_runtime.py",
            before={"<module>": ["oracle_run_second"], "back30": ["oracle_back"]})
    returned += 1


BACK = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(back30)


def call30(function):
    """Python of the second one, on this thread."""
    callers.append(sys._getframe())
    host.oracle_run_second((CALL % (function, json.dumps(frames_of(sys._getframe())))).encode())
    callers.pop()


def main():
    global known_by
    begun, ended = os.pipe(), os.pipe()
    host.oracle_start_second((SECOND % (HERE, begun[1], ended[0])).encode(), BACK)
    known_by = int(os.read(begun[0], 32))
    measure(30, outer1, 0.2)
    for function in ("alone30", "through30"):
        thread = threading.Thread(target=functools.partial(call30, function))
        thread.start()
        measure(30, outer1, 0.2)
        thread.join()
    os.close(ended[1])
    host.oracle_await_second()
    if not returned:
        raise RuntimeError("the second one did not call")
