"""Case 30: what runs in the second of two runtimes in one process. It has no modules of C but those that are built in."""
import json
import os
import sys
import types


def thread_id():
    return int(os.readlink("/proc/thread-self").rsplit("/", 1)[1])


class Libc:
    """Of all calls the oracle makes only the one for the thread's number."""

    @staticmethod
    def syscall(number):
        return thread_id()


sys.modules["ctypes"] = types.ModuleType("ctypes")
sys.modules["ctypes"].CDLL = lambda name: Libc

from oracle import frames_of, measure, spin  # noqa: E402

MAIN = thread_id()
KNOWN = {"known_by": MAIN, "known_in": "second_runtime.py"}
BEFORE = {"<module>": ["oracle_run_second"]}


def outer30():
    spin()
    return middle30()


def middle30():
    def local30():
        return inner30() + spin(50)

    return local30()


def inner30():
    return spin() + spin(
        100
    )


def frames(text):
    return [tuple(frame) for frame in json.loads(text)]


def alone30(text):
    measure(30, outer30, 0.2, below=frames(text), before=BEFORE, **KNOWN, needs=["GIL"])


def through30(text):
    below = frames(text)
    sys.oracle_back(json.dumps(below + list(frames_of(sys._getframe()))))


def main(begun, ended):
    os.set_blocking(ended, False)
    os.write(begun, b"%d" % MAIN)
    while True:
        measure(30, outer30, 0.05, **KNOWN)
        try:
            os.read(ended, 1)
            break
        except BlockingIOError:
            pass
    child = os.fork()
    if child == 0:
        measure(30, outer30, 0.05, **KNOWN)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the child failed")
