"""scripts/bench frameworks: what profiles of training and inference programs have lost, and whether operators agree."""

import json
import os
import subprocess
import sys
import tempfile
import time

import operators
import shares
import tables
from environments import Missing, python_of

HERE = os.path.dirname(os.path.abspath(__file__))
HERTZ = 199
WARM_SECONDS, SHORT_WARM_SECONDS = 5, 1
SECONDS, SHORT_SECONDS = 10, 3
AROUND_SECONDS = 2.0  # torch.profiler begins so long before a collection, and ends so long after it
# Loop -> its environment.
PROGRAMS = {"pytorch-mlp": "torch", "pytorch-conv": "torch", "pytorch-transformer": "torch",
            "onnxruntime": "onnxruntime", "paddlepaddle": "paddlepaddle", "mindspore": "mindspore",
            "tensorflow": "tensorflow-cpu", "scikit-learn": "scikit-learn"}
LONG_ONLY = ("pytorch-conv", "pytorch-transformer")


class Failed(Exception):
    """What went wrong with a program or its collection."""


class Loop:
    """A context: the program, warm. It works all the time."""

    def __init__(self, python, name, warm):
        self.command = [python, os.path.join(HERE, "loops.py"), name, str(warm)]

    def __enter__(self):
        self.words = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.words, text=True,
                                        env={**os.environ, "OMP_NUM_THREADS": "2"})
        try:
            self.answer()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.words.close()

    def request(self, words):
        try:
            self.process.stdin.write(words + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed("the program has ended") from None

    def answer(self):
        """The next line of JSON; libraries may print others."""
        for line in self.process.stdout:
            try:
                return json.loads(line)
            except ValueError:
                continue
        self.words.seek(0)
        said = self.words.read().strip().splitlines()
        raise Failed(f"the program ended: {said[-1] if said else 'without a word'}")


class Daemon:
    """A context: a profd that knows no program yet."""

    def __init__(self, profctl, options=()):
        self.profctl, self.options = profctl, options
        self.profd = os.path.join(os.path.dirname(profctl), "profd")

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bench-frameworks-")
        socket = os.path.join(self.folder.name, "socket")
        self.host = f"unix:{socket}"
        config = os.path.join(self.folder.name, "profd.toml")
        with open(config, "w", encoding="utf-8"):
            pass
        self.process = subprocess.Popen([self.profd, "--config", config, "--listen", self.host, "--history-directory", "off",
                                         *self.options],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(socket) and self.process.poll() is None:
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def dump(self, pid):
        done = subprocess.run([self.profctl, "dump", "--host", self.host, "--pid", str(pid), "--json", "--no-lines", "--no-inlines"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"profctl ended with {done.returncode}: {done.stderr}")

    def collect(self, pid, seconds):
        file = os.path.join(self.folder.name, "x.json")
        done = subprocess.run(
            [self.profctl, "collect", "-q", "--host", self.host, "--budget", "off", "--pid", str(pid), "-F", str(HERTZ),
             "-d", str(seconds), "-o", file], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"profctl ended with {done.returncode}: {done.stderr}")
        with open(file, encoding="utf-8") as profile:
            return json.load(profile)["profile"]


def compare_operators(loop, daemon, seconds):
    """Both at once; then the rows, and steps a second without torch.profiler and with it, without profd."""
    loop.request(f"profile {seconds + 2 * AROUND_SECONDS}")
    time.sleep(AROUND_SECONDS)
    profile = daemon.collect(loop.process.pid, seconds)
    seen = loop.answer()
    known = {event[0] for event in seen["events"]}
    rows = operators.compare(operators.in_profile(profile, True, known), operators.in_profile(profile, False, known),
                             operators.in_events(seen["events"]))
    rates = []
    for request in ("count", "profile"):
        loop.request(f"{request} {seconds}")
        answer = loop.answer()
        rates.append(answer["rate"] if request == "profile" else answer)
    return rows, tuple(rates)


def main(profctl, only, seconds, short):
    seconds = seconds or (SHORT_SECONDS if short else SECONDS)
    unknown = [one for one in only or [] if one not in PROGRAMS]
    if unknown:
        sys.exit(f"bench: no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    first, results, compared, rates = {}, {}, {}, {}
    status = 0
    for name, environment in PROGRAMS.items():
        if name not in only if only else short and name in LONG_ONLY:
            continue
        print(name, file=sys.stderr, flush=True)
        try:
            with Loop(python_of(environment), name, SHORT_WARM_SECONDS if short else WARM_SECONDS) as loop, \
                    Daemon(profctl) as daemon:
                found = [shares.shares_of(daemon.collect(loop.process.pid, seconds)) for _ in range(2)]
                if not all(found):
                    raise Failed("no running time was seen")
                first[name], results[name] = found
                if environment == "torch":
                    compared[name], rates[name] = compare_operators(loop, daemon, seconds)
        except Missing as missing:
            print(f"SKIPPED: {name}: {missing}")
        except Failed as failed:
            print(f"FAILED: {name}: {failed}")
            status = 1
    print(f"Kernel {os.uname().release}, {len(os.sched_getaffinity(0))} CPUs, {HERTZ} Hz, {seconds} s each.")
    if results:
        print(f"\n{tables.program_table('running time, seen before', results)}\n\n{tables.reason_lines(results)}\n")
        print(tables.program_table("running time, unknown program", first))
    if compared:
        print(f"\n{tables.operator_table(compared)}\n\n{tables.agreement(compared)}\n\n{tables.overhead_table(rates)}")
    return status
