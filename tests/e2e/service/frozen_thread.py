"""Stops one thread of a process, and lets the others run: frozen_thread.py PID NAME.

Prints `frozen` when it stands still. It goes on when standard input ends.
"""

import ctypes
import os
import sys
import threading

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000


def thread_of(pid, name):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as file:
            if file.read().strip() == name:
                return int(tid)
    sys.exit(f"process {pid} has no thread {name}")


def main():
    thread = thread_of(int(sys.argv[1]), sys.argv[2])
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if libc.ptrace(request, thread, None, None) != 0:
            sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
    os.waitpid(thread, WALL)
    print("frozen", flush=True)
    # A thread that is killed is only gone when it was waited for.
    threading.Thread(target=os.waitpid, args=(thread, WALL), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
