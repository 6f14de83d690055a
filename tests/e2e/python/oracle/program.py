"""The program of the oracle.

    program.py                                   all cases
    program.py NUMBER                            this one
    program.py --measure NUMBER [SECONDS] [HOW]  what a process that a case starts does; "ready": says so and waits
                                                 for a line; "named": known by its thread's name; "apart": a
                                                 stack may be flagged
    program.py --end NUMBER                      at the end of the interpreter
    program.py --away NUMBER                     its memory is taken away, and it sleeps
"""
import os
import sys

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
    elif how == "apart":
        rules["apart"] = True
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


def away(number, depth):
    if depth:
        return away(number, depth - 1)
    oracle.hold(number, 0.002, "oracle_sleep_away", waits={"*": ["SLEEP"]}, needs=["SLEEP"], apart=True, gaps=True)


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--measure":
        seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.05
        return measure_here(int(sys.argv[2]), seconds, *sys.argv[4:5])
    if len(sys.argv) > 2 and sys.argv[1] == "--end":
        return end(int(sys.argv[2]))
    if len(sys.argv) > 2 and sys.argv[1] == "--away":
        return away(int(sys.argv[2]), 20)
    import gc
    import language  # noqa: F401
    import code_objects  # noqa: F401
    import hosts  # noqa: F401
    import processes  # noqa: F401
    gc.disable()
    oracle.run(int(sys.argv[1]) if len(sys.argv) > 1 else None)


if __name__ == "__main__":
    main()
