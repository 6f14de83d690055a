"""A training loop of MindSpore whose data queue starves at every 20th batch, on purpose; it ends when a line comes on standard input.

Writes "ready" when it is warm, and at the end one line of JSON: of each step when it began and when its batch was there, in ns of
CLOCK_MONOTONIC.
"""

import itertools
import json
import select
import sys
import time

import mindspore
import numpy
from mindspore import dataset, nn

LATE_EVERY = 20
LATE_SECONDS = 1.0
WARM_STEPS = 30


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Samples:
    """Endless; the queue between it and the loop holds few batches."""

    def __init__(self):
        self.data = numpy.random.randn(64, 256).astype("float32")
        self.target = numpy.random.randn(64, 10).astype("float32")

    def __iter__(self):
        for number in itertools.count(1):
            if number % LATE_EVERY == 0:
                time.sleep(LATE_SECONDS)
            yield self.data, self.target


def main():
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    dataset.config.set_prefetch_size(1)
    net = nn.SequentialCell(nn.Dense(256, 512), nn.ReLU(), nn.Dense(512, 10))
    loss = nn.MSELoss()
    optimizer = nn.Adam(net.trainable_params(), 1e-4)
    gradient = mindspore.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
    steps = []
    queue = dataset.GeneratorDataset(Samples(), ["data", "target"], shuffle=False)
    begin = now()
    for data, target in queue.create_tuple_iterator(num_epochs=1):
        steps.append((begin, now()))
        value, gradients = gradient(data, target)
        optimizer(gradients)
        value.asnumpy()
        begin = now()
        if len(steps) == WARM_STEPS:
            print("ready", flush=True)
        if len(steps) > WARM_STEPS and select.select([0], [], [], 0)[0]:
            break
    print(json.dumps(steps), flush=True)


if __name__ == "__main__":
    main()
