"""The programs: loops.py NAME WARM_SECONDS, run by the Python of the framework's environment.

It works until its input ends, and answers requests between two steps, each with one line of JSON: `count SECONDS` has the
steps a second, and `profile SECONDS` what torch.profiler says of that time.
"""

import json
import select
import sys
import time


def pytorch(net, make_input, make_target, loss_of):
    import torch
    optimizer = torch.optim.Adam(net.parameters(), 1e-4)
    data, target = make_input(), make_target()

    def step():
        optimizer.zero_grad()
        loss_of(net(data), target).backward()
        optimizer.step()
    return step


def pytorch_mlp():
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.GELU(), nn.LayerNorm(1024),
                        nn.Linear(1024, 10))
    return pytorch(net, lambda: torch.randn(256, 512), lambda: torch.randint(0, 10, (256,)), nn.functional.cross_entropy)


def pytorch_conv():
    import torch
    from torch import nn
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(64 * 8 * 8, 10))
    return pytorch(net, lambda: torch.randn(32, 3, 32, 32), lambda: torch.randint(0, 10, (32,)),
                   nn.functional.cross_entropy)


def pytorch_transformer():
    import torch
    from torch import nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return pytorch(net, lambda: torch.randn(16, 64, 128), lambda: torch.randn(16, 64, 128), nn.functional.mse_loss)


def onnxruntime():
    import numpy
    import onnx
    import onnxruntime as runtime
    from onnx import TensorProto, helper, numpy_helper
    random = numpy.random.default_rng(1)
    weights = [("w1", (32, 3, 3, 3)), ("w2", (64, 32, 3, 3)), ("w3", (64 * 16 * 16, 10))]
    pads = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    halves = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], **pads), helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("MaxPool", ["r1"], ["p1"], **halves),
             helper.make_node("Conv", ["p1", "w2"], ["c2"], **pads), helper.make_node("Sigmoid", ["c2"], ["r2"]),
             helper.make_node("MaxPool", ["r2"], ["p2"], **halves), helper.make_node("Flatten", ["p2"], ["f"]),
             helper.make_node("MatMul", ["f", "w3"], ["m"]), helper.make_node("Softmax", ["m"], ["y"])]
    graph = helper.make_graph(
        nodes, "conv", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 3, 64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 10])],
        [numpy_helper.from_array(random.standard_normal(shape).astype("float32") / 10, name) for name, shape in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    data = random.standard_normal((8, 3, 64, 64)).astype("float32")
    return lambda: session.run(None, {"x": data})


def paddlepaddle():
    import paddle
    from paddle import nn
    net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    optimizer = paddle.optimizer.Adam(1e-4, parameters=net.parameters())
    data, target = paddle.randn([256, 512]), paddle.randint(0, 10, [256])

    def step():
        nn.functional.cross_entropy(net(data), target).backward()
        optimizer.step()
        optimizer.clear_grad()
    return step


def mindspore():
    import mindspore
    import numpy
    from mindspore import nn
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    net = nn.SequentialCell(nn.Dense(512, 1024), nn.ReLU(), nn.Dense(1024, 1024), nn.ReLU(), nn.Dense(1024, 10))
    loss = nn.MSELoss()
    optimizer = nn.Adam(net.trainable_params(), 1e-4)
    data, target = (mindspore.Tensor(numpy.random.randn(256, size).astype("float32")) for size in (512, 10))
    gradient = mindspore.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

    def step():
        value, gradients = gradient(data, target)
        optimizer(gradients)
        value.asnumpy()
    return step


def tensorflow():
    import tensorflow as tf
    sizes = (512, 1024, 1024, 10)
    weights = [tf.Variable(tf.random.normal(shape, stddev=0.05)) for shape in zip(sizes, sizes[1:])]
    data, target = tf.random.normal((256, 512)), tf.random.uniform((256,), 0, 10, tf.int64)

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            value = data
            for weight in weights[:-1]:
                value = tf.nn.relu(value @ weight)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(target, value @ weights[-1]))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(1e-4 * gradient)
        return loss
    return lambda: train().numpy()


def scikit_learn():
    import numpy
    from sklearn.cluster import KMeans
    data = numpy.random.default_rng(1).standard_normal((20_000, 32)).astype("float32")
    return lambda: KMeans(16, n_init=1, max_iter=20).fit(data)


LOOPS = {loop.__name__.replace("_", "-"): loop for loop in (
    pytorch_mlp, pytorch_conv, pytorch_transformer, onnxruntime, paddlepaddle, mindspore, tensorflow, scikit_learn)}


def count(step, seconds):
    begin, steps = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        step()
        steps += 1
    return steps / (time.monotonic() - begin)


def event_us(calls=20_000):
    """What an event costs more under torch.profiler."""
    import torch
    from torch.profiler import ProfilerActivity, profile as profiler
    data = torch.ones(1)

    def seconds():
        begin = time.thread_time()
        for _ in range(calls):
            data.neg_()
        return time.thread_time() - begin
    bare = min(seconds() for _ in range(3))
    with profiler(activities=[ProfilerActivity.CPU]):
        return (min(seconds() for _ in range(3)) - bare) / calls * 1e6


def profile(step, seconds):
    """Of each event of torch.profiler: name, number of its parent or -1, us with its children and without. The times are ns of
    CLOCK_MONOTONIC at the first and after the last step."""
    from torch.profiler import ProfilerActivity, profile as profiler
    with profiler(activities=[ProfilerActivity.CPU]) as seen:
        times = [time.clock_gettime_ns(time.CLOCK_MONOTONIC)]
        rate = count(step, seconds)
        times.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    events = list(seen.events())
    number_of = {id(event): number for number, event in enumerate(events)}
    return {"rate": rate, "times": times, "event_us": event_us(), "events": [
        (event.name, number_of.get(id(event.cpu_parent), -1), event.cpu_time_total, event.self_cpu_time_total)
        for event in events]}


def main():
    step = LOOPS[sys.argv[1]]()
    count(step, float(sys.argv[2]))
    print(json.dumps("ready"), flush=True)
    while True:
        step()
        if not select.select([0], [], [], 0)[0]:
            continue
        words = sys.stdin.readline().split()
        if not words:
            return
        print(json.dumps({"count": count, "profile": profile}[words[0]](step, float(words[1]))), flush=True)


if __name__ == "__main__":
    main()
