"""One process of a training run. Its time goes where its owner does not look for it: in each step it waits in
Tensor.numpy for the worker thread, which asks the device for its properties each time, and all processes share the
device.

Ends by SIGTERM, or when its parent is gone, with one line of JSON: what its own clocks say.
"""
import argparse
import json
import os
import signal
import sys
import time

import _engine
from tensor import WAITS, topk

BATCH = 4000
stopping = False


def stop(_signal, _frame):
    global stopping
    stopping = True


def load_batch(step):
    time.sleep(0.004)  # a disk far away
    return range(step, step + BATCH)


def forward(batch):
    return [(sample * 7919) % 104729 for sample in batch]


def update(batch):
    return sum(sample * sample for sample in batch)


def train_step(batch):
    best = topk(forward(batch), 10)
    update(batch)
    return best.numpy()


def train():
    parent = os.getppid()
    step = 0
    while not stopping and os.getppid() == parent:
        train_step(load_batch(step))
        step += BATCH


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", required=True)
    options.add_argument("--name", default="train", help="of the process")
    arguments = options.parse_args()
    signal.signal(signal.SIGTERM, stop)
    worker = _engine.start(arguments.device, arguments.name)
    print("ready", flush=True)
    train()
    print(json.dumps({"pid": os.getpid(), "worker": worker, "numpy": WAITS, "device": _engine.stop()}))
    sys.stdout.flush()


main()
