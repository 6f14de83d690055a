"""Starts a training run of several processes and says "ready" when all of them train.

Ends them after --seconds or by SIGTERM. Then stdout has one line of JSON, a list of what the clocks of each process
say, and stderr the same as text.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def share(intervals):
    """Of the time from the first to the last of `intervals`."""
    return sum(end - begin for begin, end in intervals) / max(1, intervals[-1][1] - intervals[0][0])


def in_words(clocks):
    waits = [share(one["numpy"]) for one in clocks]
    asks = [share([(begin, end) for begin, _, _, end in one["device"]]) for one in clocks]
    return ("by their own clocks the main threads were in Tensor.numpy for {:.1f} % of the time, the workers in "
            "get_device_properties for {:.1f} %").format(100 * sum(waits) / len(waits), 100 * sum(asks) / len(asks))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--processes", type=int, default=8)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--name", default="train", help="of the processes")
    arguments = options.parse_args()
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    with tempfile.NamedTemporaryFile(prefix="device-") as device:
        command = [sys.executable, os.path.join(HERE, "train.py"), "--device", device.name, "--name", arguments.name]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(arguments.processes)]
        for process in running:
            if process.stdout.readline() != b"ready\n":
                sys.exit("launch: a process did not start")
        print("ready", flush=True)
        ending.wait(arguments.seconds)
        for process in running:
            process.terminate()
        clocks = [json.loads(process.communicate()[0]) for process in running]
    print(json.dumps(clocks), flush=True)
    print("launch: " + in_words(clocks), file=sys.stderr)


main()
