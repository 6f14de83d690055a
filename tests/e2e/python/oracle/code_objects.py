"""Cases of code objects: made from text, gone, loaded again; twins, lines and names."""
import functools
import importlib
import os
import sys
import tempfile
import time

from oracle import SOURCES, case, frames_of, measure, now, publish, spin


# 18: code from text.

def texts18():
    exec("def f18():\n    return spin(50)\n\nf18()\nspin(20)", {"spin": spin})
    eval("spin(50) + spin(20)", {"spin": spin})
    exec(compile("spin(50)\nspin(60)", "<text of 18>", "exec"), {"spin": spin})
    return (lambda: spin(50))()


@case(18)
def code_from_text():
    measure(18, texts18, gaps=True)


# 19: functions that come and go at the same addresses.

@case(19)
def code_comes_and_goes():
    clock, which = time.clock_gettime_ns, time.CLOCK_MONOTONIC
    times = []
    prefix = frames_of(sys._getframe())
    begin = now()
    for i in range(1500):
        name = "churn19_%d" % i
        space = {"spin": spin}
        exec("def %s():\n    return spin(2500)\n" % name, space)
        function = space[name]
        entered = clock(which)
        function()
        times.append([name, entered, clock(which)])
        del space, function
    publish(19, begin, now(), prefix[:-1], [], churn=times, gaps=True)


# 20: the same module, other code.

@case(20)
def modules_are_loaded_again():
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        try:
            module = None
            for turn in range(4):
                with open(os.path.join(folder, "module20.py"), "w") as file:
                    file.write("from oracle import spin\n" + "\n" * turn * 5)
                    file.write("def function20():\n    spin(20)\n    return helper20_%d()\n" % turn)
                    file.write("def helper20_%d():\n    return spin(50)\n" % turn)
                os.utime(os.path.join(folder, "module20.py"), (turn + 1, turn + 1))
                importlib.invalidate_caches()
                module = importlib.reload(module) if module else importlib.import_module("module20")
                measure(20, module.function20, 0.03)
        finally:
            sys.path.remove(folder)


# 21: while modules are loaded.

@case(21)
def imports():
    with tempfile.TemporaryDirectory() as folder:
        names = ["module21_%d" % i for i in range(5)]
        for name in names:
            with open(os.path.join(folder, name + ".py"), "w") as file:
                file.write("from oracle import spin\nspin(100)\nVALUE = [spin(20) for _ in range(3)]\n")
        sys.path.insert(0, folder)

        def import21():
            importlib.invalidate_caches()
            for name in names:
                sys.modules.pop(name, None)
                importlib.import_module(name)

        try:
            import21()
            measure(21, import21, 0.15, times=3, loose=True, gaps=True)
        finally:
            sys.path.remove(folder)


# 22: functions that differ by name alone.

def make22(number):
    space = {"spin": spin}
    exec("def twin22_%d():\n    return spin(60)\n" % number, space)
    return space["twin22_%d" % number]


def decorate22(function):
    @functools.wraps(function)
    def wrapper22():
        return function()

    return wrapper22


@case(22)
def twins():
    twins = [decorate22(make22(i)) for i in range(60)]

    def body22():
        for twin in twins:
            twin()

    measure(22, body22)


# 23: lines.

def make23():
    lines = ["def long23(spin):", "    total = 0"]
    for i in range(4500):
        lines.append("    total += spin(%d)" % (20 + i % 7) if i % 450 == 7 else "    total += 1")
    lines += ["    total += spin(", "        10", "        +", "        spin(10)", "    ) + spin(20)"]
    lines += ["    for value in (1,", "                  spin(20),", "                  3):"]
    lines += ["        total += (", "            value", ""] + [""] * 300 + ["            + spin(20)", "        )"]
    lines += ["    return (spin(10) if total else", "            0), \\", "        spin(10)"]
    text = "\n".join(lines) + "\n"
    space = {}
    SOURCES["<long 23>"] = text
    exec(compile(text, "<long 23>", "exec"), space)
    return space["long23"]


@case(23)
def lines():
    long23 = make23()

    def body23():
        long23(spin)

    measure(23, body23, 0.15, times=1)


# 24: names.

@case(24)
def names():
    long_name = "name24_" + "x" * 300
    path = "/tmp/ünïcode_日本_\U0001f600_" + "d" * 280 + "/file24.py"
    text = "\n".join([
        "def größe24_Ω():", "    return 漢字24()", "def 漢字24():", "    return \U00010437\U0001043724()",
        "def \U00010437\U0001043724():", "    return %s()" % long_name, "def %s():" % long_name, "    return spin(100)"])
    SOURCES[path] = text
    space = {"spin": spin}
    exec(compile(text, path, "exec"), space)
    measure(24, space["größe24_Ω"])
