"""Whether profiles are right on average: programs that know what they did, seen by both modes at once.

One `profctl collect` in hook mode runs another one in snapshot mode, which runs the program. Each round has one
error of a share in each mode. Without bias their mean is within chance of 0: t is the mean by its standard error.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

# Name, arguments of `truth`, frequency, thread, and the function whose share is compared: in the time of all functions
# that the program keeps time of, on a CPU or off it.
CASES = [
    ("3 and 7 ms on a fixed beat", ["periodic", "--ms", "4000"], 199, "periodic", "WaitFirst", "off"),
    ("3 and 7 ms in turn", ["alternate", "--ms", "4000"], 199, "alternate", "WaitThree", "off"),
    ("ten waits of 60 us and one of 600 us", ["brief", "--ms", "4000"], 499, "brief", "WaitBriefly", "off"),
    ("spins", ["spin", "--ms", "3000"], 997, "spinner", "SpinMost", "on"),
]
MODES = ["hooks", "snapshot"]


def true_share(truth, thread, function, side):
    phases = [phase for one in truth["threads"] if one["name"] == thread for phase in one["phases"]]
    times = {phase["function"]: phase["cpu_ns"] if side == "on" else phase["wall_ns"] - phase["cpu_ns"] for phase in phases}
    return times["truth::" + function] / sum(times.values()), set(times)


def measured_share(profile, pid, thread, function, functions, side):
    nodes, frames, samples = profile["nodes"], profile["frames"], profile["samples"]
    found = [None]  # by node, which comes after its parent: the function that it is in
    for node in nodes:
        name = frames[node.get("frame", 0)].get("name", "")
        here = next((one for one in functions if one in name), None)
        found.append(here or found[node.get("parent", 0)])

    def is_own(one):
        return profile["processes"][one.get("process", 0)].get("pid", 0) == pid and one.get("comm") == thread

    own = [is_own(one) for one in profile["threads"]]
    part = whole = 0
    for of_thread, state, node, weight in zip(samples["thread"], samples["state"], samples["node"], samples["weight_ns"]):
        if own[of_thread] and found[node] and (state == "STATE_ON_CPU") == (side == "on"):
            whole += int(weight)
            part += int(weight) if found[node] == "truth::" + function else 0
    return part / whole


def run_once(profctl, host, program, arguments, frequency, folder):
    files = [os.path.join(folder, mode + ".json") for mode in MODES]
    collect = [profctl, "collect", "-q", "--host", host, "--budget", "off", "-F", str(frequency)]
    done = subprocess.run(collect + ["-o", files[0], "--"] + collect + ["--no-hooks", "-o", files[1], "--",
                          program] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: profctl ended with {done.returncode}: {done.stderr}")
    profiles = []
    for name in files:
        with open(name, encoding="utf-8") as file:
            profiles.append(json.load(file)["profile"])
    return json.loads(done.stdout), profiles


def main(profctl, profd, program, rounds):
    with tempfile.TemporaryDirectory(prefix="bench-bias-") as folder:
        host = "unix:" + os.path.join(folder, "s")
        daemon = subprocess.Popen([profd, "--private", "--listen", host, "--log-level", "error", "--clock-limit", "0"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            daemon.stdout.readline()
            measure(profctl, host, program, rounds, folder)
        finally:
            daemon.stdin.close()
            daemon.wait()
    return 0


def measure(profctl, host, program, rounds, folder):
    print("| load | share | mode | truth | mean error, points | its standard error | t |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for name, arguments, frequency, thread, function, side in CASES:
        errors = [[], []]
        truths = []
        for _ in range(rounds):
            truth, profiles = run_once(profctl, host, program, arguments, frequency, folder)
            share, functions = true_share(truth, thread, function, side)
            truths.append(share)
            for mode, profile in enumerate(profiles):
                measured = measured_share(profile, truth["pid"], thread, function, functions, side)
                errors[mode].append(100 * (measured - share))
        for mode, of_mode in zip(MODES, errors):
            mean = statistics.fmean(of_mode)
            error = statistics.stdev(of_mode) / math.sqrt(len(of_mode)) if len(of_mode) > 1 else math.nan
            t = f"{mean / error:+.1f}" if error > 0 else "-"
            print(f"| {name} | {function} | {mode} | {100 * statistics.fmean(truths):.1f} % | {mean:+.3f} | {error:.3f} "
                  f"| {t} |", flush=True)
