"""What a profile says of running time: callers lost, frames without a name, spinning."""

import collections
import re
from typing import NamedTuple

# PROFD_STACK_* of bpf/shared/events.h.
TABLES_NOT_READY = 64
LOST = {2: "deeper than what is kept", 4: "memory not readable", 128: "uncertain: by frame pointer",
        256: "caller not in any code", 512: "needs a lost register", 1024: "caller not above",
        2048: "no rule, no frame pointer"}
BY_PLACE = re.compile(r"!fn_[0-9a-f]+$|::\(virtual \d+\)$")
SPINNING = ("CLASS_SPIN", "CLASS_GPU_WAIT")


class Shares(NamedTuple):
    """Of running time, 0 to 1. `points` are the sampling points that they rest on."""
    points: int
    lost: float
    not_ready: float
    nameless: float
    by_place: float
    spinning: float
    reasons: dict  # why callers are lost -> share; a stack may have several
    leaves: dict   # module of leaf frames without a name -> share


class Running(NamedTuple):
    """A sample of running time."""
    thread: int
    node: int
    weight: int
    count: int
    flags: int
    rule: int


def running_samples(profile):
    samples = profile["samples"]
    states = samples["state"]
    rules = samples.get("rule") or [0] * len(states)
    for at, state in enumerate(states):
        if state == "STATE_ON_CPU":
            yield Running(samples["thread"][at], samples["node"][at], int(samples["weight_ns"][at]), samples["count"][at],
                          samples["stack_flags"][at], rules[at])


def shares_of(profile):
    frames, nodes, rules = profile["frames"], profile["nodes"], profile.get("rules", [])
    total = points = 0
    sums = collections.Counter()
    reasons, leaves = collections.Counter(), collections.Counter()
    for one in running_samples(profile):
        total += one.weight
        points += one.count
        if one.flags & TABLES_NOT_READY:
            sums["not_ready"] += one.weight
        elif any(one.flags & flag for flag in LOST):
            sums["lost"] += one.weight
            for flag, why in LOST.items():
                reasons[why] += one.weight if one.flags & flag else 0
        leaf = frames[nodes[one.node - 1].get("frame", 0)] if one.node else {}
        name = leaf.get("name", "")
        if not name:
            sums["nameless"] += one.weight
            leaves[leaf.get("module", "") or ("no file" if one.node else "no stack")] += one.weight
        elif BY_PLACE.search(name):
            sums["by_place"] += one.weight
        if one.rule and rules[one.rule - 1].get("frame_class") in SPINNING:
            sums["spinning"] += one.weight
    if not points:
        return None
    return Shares(points, *(sums[name] / total for name in ("lost", "not_ready", "nameless", "by_place", "spinning")),
                  *({key: weight / total for key, weight in counter.most_common() if weight}
                    for counter in (reasons, leaves)))
