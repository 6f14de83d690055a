"""Operators of PyTorch: in stacks, and in the events of torch.profiler.

In both the outermost operator of the dispatcher decides, and where there is none the node of the backward pass. An operator's
share is that of all time in operators, on the threads that call them: those that only help have no operator on their stacks.
"""

import collections
import math
import re
from typing import NamedTuple

DISPATCHED = re.compile(r"^at::_ops::(\w+)::(?:call|redispatch)$")
NATIVE = re.compile(r"^at::native::(?:\(anonymous namespace\)::)?(?:structured_)?(\w+)")
BACKWARD = re.compile(r"^torch::autograd::generated::(\w+Backward\d*)::apply(?:_with_saved)?$")
ABOVE = 0.02    # operators with less in both are not compared
WITHIN = 0.02
Z95 = 1.96


def without_overload(operator, known):
    """As torch.profiler has it: `aten::add__Tensor` is aten::add_, `aten::mm_out` aten::mm."""
    found = [name for name in known if operator == name or operator.startswith(name + "_")]
    return max(found, key=len, default=operator)


def operator_of(names):
    """Of a stack's names, outermost first; None: none of its frames is an operator's."""
    node = native = None
    for name in names:
        found = DISPATCHED.match(name)
        if found:
            return "aten::" + found.group(1)
        found = BACKWARD.match(name)
        node = node or (found and found.group(1))
        found = NATIVE.match(name)
        native = native or (found and "aten::" + found.group(1))
    return node or native


class Shares(NamedTuple):
    """Of the time in operators: operator -> share."""
    shares: dict
    points: int


def add_up(times):
    total = sum(times.values())
    return {name: time / total for name, time in times.items()} if total else {}


def in_profile(profile, on_cpu, known):
    """Running time in operators, or with `on_cpu` False their time in all states. `known`: operators of torch.profiler."""
    frames, nodes, samples = profile["frames"], profile["nodes"], profile["samples"]
    cache = {}

    def at(number):
        if number not in cache:
            names, node = [], number
            while node:
                names.append(frames[nodes[node - 1].get("frame", 0)].get("name", ""))
                node = nodes[node - 1].get("parent", 0)
            operator = operator_of(reversed(names))
            cache[number] = operator and without_overload(operator, known)
        return cache[number]

    times, points = collections.Counter(), 0
    for state, node, weight, count in zip(samples["state"], samples["node"], samples["weight_ns"], samples["count"]):
        operator = at(node)
        if operator and (state == "STATE_ON_CPU" or not on_cpu):
            times[operator] += int(weight)
            points += count
    return Shares(add_up(times), points)


def in_events(events):
    """Of torch.profiler: (name, number of the parent or -1, time with children, time without) of each event."""
    times = collections.Counter()

    def parents(number):
        while (number := events[number][1]) >= 0:
            yield events[number][0]

    for number, (name, _, total, own) in enumerate(events):
        if name.startswith("aten::") and not any(one.startswith("aten::") for one in parents(number)):
            times[name] += total
        elif re.fullmatch(r"\w+Backward\d*", name) and not any(one.startswith("aten::") for one in parents(number)):
            times[name] += own
    return add_up(times)


def interval_of(share, points):
    """Wilson's, 95 %: holds for small shares, too."""
    if not points:
        return 0.0, 1.0
    middle = (share + Z95 ** 2 / (2 * points)) / (1 + Z95 ** 2 / points)
    reach = Z95 * math.sqrt(share * (1 - share) / points + (Z95 / (2 * points)) ** 2) / (1 + Z95 ** 2 / points)
    return middle - reach, middle + reach


class Comparison(NamedTuple):
    operator: str
    running: float
    low: float
    high: float
    elapsed: float
    torch: float

    @property
    def agrees(self):
        return abs(self.running - self.torch) <= WITHIN or self.low <= self.torch <= self.high


def compare(running, elapsed, torch):
    """Of each operator above 2 % in either, the largest first."""
    names = {name for shares in (running.shares, torch) for name, share in shares.items() if share > ABOVE}
    rows = [Comparison(name, running.shares.get(name, 0.0), *interval_of(running.shares.get(name, 0.0), running.points),
                       elapsed.shares.get(name, 0.0), torch.get(name, 0.0)) for name in names]
    return sorted(rows, key=lambda row: (-max(row.running, row.torch), row.operator))
