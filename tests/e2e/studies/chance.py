"""How far a share of a profile may lie from the truth by chance."""

import math

# The studies compare some 100 shares, and one run of all fails by chance in 1 of 1,000 cases.
CHANCE = 0.001 / 100


def share_bound(share, samples):
    """Of so many independent samples: Bernstein's inequality, as in tests/accuracy/statistics.h."""
    share = min(share, 1)
    scale = math.log(2 / CHANCE) / samples
    return scale / 3 + math.sqrt(scale * scale / 9 + 2 * scale * share * (1 - share))


def independent_samples(profile, tid):
    """How many samples of equal weight have the error of those of a thread, and the sum of their weights."""
    thread = [one["tid"] for one in profile["threads"]].index(tid)
    samples = profile["samples"]
    weights = [(int(weight), count) for at, weight, count in zip(samples["thread"], samples["weight_ns"], samples["count"])
               if count and at == thread]
    whole = sum(weight for weight, _ in weights)
    return whole ** 2 / sum(weight ** 2 / count for weight, count in weights), whole
