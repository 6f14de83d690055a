"""The program of the oracle.

    program.py                                   all cases
    program.py NUMBER                            this one
    program.py --measure NUMBER [SECONDS] [HOW]  what a process that a case starts does; "ready": says so and waits
                                                 for a line; "named": is told by its thread's name
    program.py --end NUMBER                      at the end of the interpreter
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import oracle  # noqa: E402


def measure_here(number, seconds=0.05, how=""):
    from language import outer1
    rules = {}
    if how == "ready":
        print("ready", flush=True)
        sys.stdin.readline()
    elif how == "named":
        rules["comm"] = "oracle-%d" % number
        oracle.name_thread(rules["comm"])
    oracle.measure(number, outer1, seconds, **rules)


class AtEnd:
    """Outlives the modules that other code needs: keeps what it uses."""

    def __init__(self, number, body):
        self.use = oracle.measure, number, body
        for module in list(sys.modules.values()):
            oracle.EXTENTS.of(getattr(module, "__file__", None) or "", 1)

    def __del__(self):
        measure, number, body = self.use
        measure(number, body, 0.03)


def end(number):
    import atexit
    from language import outer1
    atexit.register(oracle.measure, number, outer1, 0.05)
    oracle.kept = AtEnd(number, outer1)


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--measure":
        seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.05
        return measure_here(int(sys.argv[2]), seconds, *sys.argv[4:5])
    if len(sys.argv) > 2 and sys.argv[1] == "--end":
        return end(int(sys.argv[2]))
    import gc
    import language  # noqa: F401
    import code_objects  # noqa: F401
    import processes  # noqa: F401
    gc.disable()
    # profd reads the unwind tables of what a program maps while it begins to run.
    if len(sys.argv) == 1:
        time.sleep(0.3)
    oracle.run(int(sys.argv[1]) if len(sys.argv) > 1 else None)


if __name__ == "__main__":
    main()
