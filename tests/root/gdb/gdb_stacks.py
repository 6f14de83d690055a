"""Run by gdb: attaches to the process $profd_pid when reported to on stdin, and prints the stacks of its threads.

One line an item: `switches before|after TID VOLUNTARY INVOLUNTARY` around the attaching, and
`stack TID REASON PC...`: physical frames leaf first, and why gdb went no further.
"""

import os
import sys

import gdb

# Inlined functions, and those that ended in a jump to the next: gdb infers them from debug information.
NO_STACK = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)


def switches(pid, when):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii", errors="replace") as status:
            counts = [line.split()[1] for line in status if "ctxt_switches" in line]
        print("switches", when, tid, *counts)


def stack(thread):
    thread.switch()
    frame, pcs, reason = gdb.newest_frame(), [], 0
    while frame is not None:
        if frame.type() not in NO_STACK:
            pcs.append(f"{frame.pc():x}")
        reason = frame.unwind_stop_reason()
        frame = frame.older()
    print("stack", thread.ptid[1], gdb.frame_stop_reason_string(reason).replace(" ", "_"), *pcs)


def main():
    for setting in ("backtrace past-main on", "backtrace past-entry on", "backtrace limit unlimited"):
        gdb.execute("set " + setting)
    pid = int(gdb.convenience_variable("profd_pid"))
    print("ready", flush=True)
    sys.stdin.readline()
    switches(pid, "before")
    gdb.execute(f"attach {pid}", to_string=True)
    switches(pid, "after")
    for thread in gdb.selected_inferior().threads():
        stack(thread)
    gdb.execute("detach", to_string=True)
    print("done", flush=True)


main()
