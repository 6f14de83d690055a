"""The program of the oracle: all its cases, or the one that is named; each says what it was."""
import gc
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import oracle  # noqa: E402


def main():
    import language  # noqa: F401
    gc.disable()
    # profd reads the unwind tables of what a program maps while it begins to run.
    if len(sys.argv) == 1:
        time.sleep(0.3)
    oracle.run(int(sys.argv[1]) if len(sys.argv) > 1 else None)


if __name__ == "__main__":
    main()
