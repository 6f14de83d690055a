"""One stack of profd's beside gdb's, and beside where the thread returned to."""

from typing import NamedTuple

from target_code import RULES

# PROFD_STACK_COMPLETE of bpf/shared/events.h.
COMPLETE = 32
# What comes of a comparison.
EQUAL, LOST, GUESSED, WRONG = COUNTED = ("equal", "lost: ends early, and says so", "guessed: by frame pointer, and says so", "wrong")


class Ours(NamedTuple):
    time_ns: int
    running: bool
    flags: int
    uncertain_from: int
    frames: list


class Stack(NamedTuple):
    """A thread at one stop."""
    tid: int
    frames: list    # gdb's
    kind: str       # of the code that it was in
    reason: str     # why gdb went no further
    in_syscall: bool
    is_right: bool  # gdb
    returned: list  # where it returned to, as far as it was let run


class Verdict(NamedTuple):
    what: str
    at: int = 0     # index of the first frame that differs


def gdb_is_right(code, reason, frames):
    """Its chain reaches the root of a thread - code whose .eh_frame says that it has no caller -, and each of its addresses follows a
    call. What it guesses in code without .eh_frame mostly does not."""
    return reason == "outermost" and code.kind_of(frames[-1] - 1) == RULES and all(map(code.follows_call, frames[1:]))


def judge(ours, truth, is_whole):
    """`truth`: the addresses from the leaf on; with `is_whole` up to the root."""
    frames = ours.frames if is_whole else ours.frames[:len(truth)]
    if frames == truth:
        return Verdict(EQUAL)
    at = next((at for at, (mine, right) in enumerate(zip(frames, truth)) if mine != right), min(len(frames), len(truth)))
    if at == len(frames) and not ours.flags & COMPLETE:
        return Verdict(LOST, at)
    return Verdict(GUESSED if ours.uncertain_from <= at else WRONG, at)
