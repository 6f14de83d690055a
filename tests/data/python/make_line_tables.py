"""Prints one version's part of line_tables.json: run by each interpreter in turn, put into one list."""
import ctypes
import json
import sys

SOURCE = "\n".join([
    "def multi(a, b):", "    x = max(", "        a,", "        min(b,", "            3),", "    )",
    "    return [y for y in range(x)", "            if y]", "@staticmethod", "def decorated():", "    pass",
    "def back(a):", "    try:", "        a(", "            1)", "    except ValueError as e:", "        raise KeyError(",
    "            e)", "    finally:", "        a()", "    with a as b:", "        b()", "    while a:",
    "        a = (yield", "             a)"] + ["def far():", "    a = 1"] + [""] * 400 + ["    return a"] +
    ["def wide(a):", "    return (" + " + ".join("a[%d]" % i for i in range(150)), "        + a)"]) + "\n"
line_of = ctypes.pythonapi.PyCode_Addr2Line
line_of.argtypes = [ctypes.py_object, ctypes.c_int]


def describe(code, found):
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    found.append({"name": code.co_name, "first": code.co_firstlineno, "table": table.hex(),
                  "lines": [max(line_of(code, at), 0) for at in range(0, len(code.co_code), 2)]})
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            describe(constant, found)
    return found


print(json.dumps({"version": sys.hexversion, "codes": describe(compile(SOURCE, "x", "exec"), [])}))
