"""A program that says where its threads are and what its code objects are, and then waits.

One line of JSON: {"version", "threads": [{"ident", "chain": [frame...]}], "codes": [code...]}; leaf first.
Then it waits for the end of its input, each thread where it said it would. Runs on Python 3.7 and later.
"""
import ctypes
import json
import os
import sys
import threading

THREADS = 3
MODULES = ("argparse", "ast", "inspect", "typing", "_pydecimal", "asyncio.base_events")

line_of = ctypes.pythonapi.PyCode_Addr2Line
line_of.argtypes = [ctypes.py_object, ctypes.c_int]
gate = threading.Event()
published = []
lock = threading.Lock()
lock.acquire()


def chain_of(frame):
    """Frames from this one to the root, as Python itself has them."""
    chain = []
    while frame:
        chain.append({"code": id(frame.f_code), "name": frame.f_code.co_name, "line": frame.f_lineno,
                      "file": frame.f_code.co_filename})
        frame = frame.f_back
    return chain


def publish(frame):
    published.append({"ident": threading.get_ident(), "chain": chain_of(frame)})


def wait_here(depth):
    if depth:
        return wait_here(
            depth -
            1)
    publish(sys._getframe()); lock.acquire()  # one line: it waits where it said


class Ordered:
    def __init__(self, depth):
        self.depth = depth

    def __lt__(self, other):
        return wait_here(self.depth)


def through_c(depth):
    """Python, C, Python."""
    return sorted([Ordered(depth), Ordered(depth)])


def generator(depth):
    yield wait_here(depth)


def big_function():
    """More than 4000 lines, with calls over several lines and lines that go back."""
    lines = ["def grosse_funktion_é(a, b):", "    x = 0"]
    for i in range(1100):
        lines += ["    x += max(", "        a,", "        min(b, %d)," % i, "    )" + ("  # " + "-" * 40) * (i % 2)]
    lines += ["    try:", "        x = [a for a in range(x)", "             if a]", "    except (", "        ValueError,",
              "        KeyError):", "        pass", "    finally:", "        x = 1"] + [""] * 300 + ["    return x"]
    scope = {}
    exec(compile("\n".join(lines), "<gro\u00dfe Datei>", "exec"), scope)
    return scope["grosse_funktion_é"].__code__


def named(name, file):
    scope = {}
    exec(compile("def %s():\n  return 1\n" % name, file, "exec"), scope)
    return scope[name].__code__


def nested_codes(code, found):
    found.append(code)
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            nested_codes(constant, found)


def all_codes():
    found = [big_function(), named("\u51fd\u6570", "/\u76ee\u5f55/\u6587\u4ef6.py"),
             named("\U00020000\U00020001", "/\U0001f40d/x.py"), named("x" * 3000, "/" + "y" * 3500), named("ä", "é.py")]
    for name in MODULES:
        module = __import__(name, fromlist=["x"])
        with open(module.__file__, "rb") as source:
            nested_codes(compile(source.read(), module.__file__, "exec"), found)
    return found


def describe(code):
    """Lines as [first instruction, line]..., where the line changes; 0: none. The unit is a byte."""
    lines = []
    for at in range(0, len(code.co_code), 2):
        line = max(line_of(code, at), 0)
        if not lines or lines[-1][1] != line:
            lines.append([at, line])
    return {"code": id(code), "name": code.co_name, "qualname": getattr(code, "co_qualname", ""),
            "file": code.co_filename, "first": code.co_firstlineno, "bytes": len(code.co_code), "lines": lines}


def main():
    targets = [lambda: wait_here(3), lambda: through_c(2), lambda: list(generator(1))]
    for target in targets[:THREADS]:
        threading.Thread(target=target, daemon=True).start()
    while len(published) < THREADS:
        gate.wait(0.001)
    codes = all_codes()
    truth = {"version": sys.hexversion, "threads": published, "pid": os.getpid(),
             "codes": [describe(code) for code in codes]}
    print(json.dumps(truth), flush=True)
    sys.stdin.readline()
    os._exit(0)


main()
