"""Run by gdb: attaches to the process $profd_pid, and does what stdin says. Answers are lines that begin with `@`.

go                      lets the program run until it gets SIGINT. `@stopped`
step TID WHAT MORE      lets only this thread go on, an instruction at a time, until it has just been called (`entry`) or is about to give
                        back a register or its frame (`exit`), then MORE instructions. `@stepped`
stacks                  `@stack TID REASON PC...` of each thread: physical frames leaf first, and why gdb went no further; `@stacks`
return TID SLOT:PC...   lets only this thread run until it has returned by one of these return addresses, each beside the place on the
                        stack where it stands. `@returned PC RSP`, or `@lost` if it gets SIGINT before
explain PC              `@code SYMBOL | INSTRUCTION`
"""

import sys

import gdb

# Inlined functions, and those that ended in a jump to the next: gdb infers them from debug information.
NO_STACK = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
SETTINGS = ("pagination off", "confirm off", "backtrace past-main on", "backtrace past-entry on", "backtrace limit unlimited",
            "print thread-events off", "print inferior-events off")
MAX_HITS = 1000
MAX_STEPS = 300
# pop of rbx to rdi and of r8 to r15, leave, ret; add to rsp.
EXITS = (*range(0x58, 0x60), 0xC9, 0xC3, 0xC2)
ADD_TO_RSP = (b"\x48\x83\xc4", b"\x48\x81\xc4")


def say(*words):
    print("@" + " ".join(map(str, words)), flush=True)


def run(command):
    return gdb.execute(command, to_string=True)


def say_stack(thread):
    thread.switch()
    frame, pcs, reason = gdb.newest_frame(), [], "error"
    try:
        while frame is not None:
            if frame.type() not in NO_STACK:
                pcs.append(f"{frame.pc():x}")
            reason = gdb.frame_stop_reason_string(frame.unwind_stop_reason()).replace(" ", "_")
            frame = frame.older()
    except gdb.error:
        reason = "error"
    say("stack", thread.ptid[1], reason, *pcs)


def register(name):
    return int(gdb.parse_and_eval(f"(unsigned long)${name}"))


def select(tid):
    thread = next(one for one in gdb.selected_inferior().threads() if one.ptid[1] == tid)
    thread.switch()
    return thread


def is_call(code):
    code = code[1:] if 0x40 <= code[0] < 0x50 else code
    return code[0] == 0xE8 or code[0] == 0xFF and code[1] >> 3 & 7 == 2


def is_exit(code):
    return code[0] in EXITS or code[0] == 0x41 and 0x58 <= code[1] < 0x60 or code[:3] in ADD_TO_RSP


def step(tid, what, more):
    select(tid)
    run("set scheduler-locking on")
    interrupted = []
    gdb.events.stop.connect(watch := lambda event: isinstance(event, gdb.SignalEvent) and interrupted.append(event))
    try:
        for _ in range(MAX_STEPS):
            code = bytes(gdb.selected_inferior().read_memory(register("pc"), 4))
            if what == "exit" and is_exit(code):
                break
            run("stepi")
            if interrupted or what == "entry" and is_call(code):
                break
        for _ in range(0 if interrupted else more):
            run("stepi")
    finally:
        gdb.events.stop.disconnect(watch)
        run("set scheduler-locking off")
    say("stepped")


def run_to_return(tid, slots):
    thread = select(tid)
    breakpoints = []
    for pc in set(slots.values()):
        one = gdb.Breakpoint(f"*{pc:#x}", internal=True)
        one.thread, one.silent = thread.num, True
        breakpoints.append(one)
    run("set scheduler-locking on")
    try:
        for _ in range(MAX_HITS):
            run("continue")
            pc, rsp = register("pc"), register("rsp")
            if slots.get(rsp - 8) == pc:
                return say("returned", f"{pc:x} {rsp:x}")
            if not any(one.hit_count for one in breakpoints):
                break
            for one in breakpoints:
                one.hit_count = 0
        say("lost")
    finally:
        run("set scheduler-locking off")
        for one in breakpoints:
            one.delete()


def explain(pc):
    try:
        code = run(f"x/i {pc:#x}")
    except gdb.error as error:
        code = str(error)
    say("code", run(f"info symbol {pc:#x}").strip(), "|", " ".join(code.split()))


def main():
    for setting in SETTINGS:
        run("set " + setting)
    run("handle all nostop noprint pass")
    run("handle SIGINT stop print nopass")
    run(f"attach {int(gdb.convenience_variable('profd_pid'))}")
    say("ready")
    for line in sys.stdin:
        words = line.split()
        if words[0] == "go":
            run("continue")
            say("stopped")
        elif words[0] == "step":
            step(int(words[1]), words[2], int(words[3]))
        elif words[0] == "stacks":
            for thread in gdb.selected_inferior().threads():
                say_stack(thread)
            say("stacks")
        elif words[0] == "return":
            run_to_return(int(words[1]), {int(slot, 16): int(pc, 16) for slot, pc in (one.split(":") for one in words[2:])})
        elif words[0] == "explain":
            explain(int(words[1], 16))
    run("kill")


main()
