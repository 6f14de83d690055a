"""A process with runtimes of its interpreter's library, as many as requested beside its own; each has a thread that waits."""
import ctypes
import os
import shutil
import sys
import sysconfig
import tempfile
import threading

# Modules of C that are not built in would use the first one.
WAIT = b"import posix\nposix.write(%d, b'x')\nposix.read(%d, 1)\n"


def run(path, ready, end):
    library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
    library.Py_InitializeEx(0)
    library.PyRun_SimpleString(WAIT % (ready, end))


def main():
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or not os.path.isfile(library):
        print("this interpreter has no shared library", flush=True)
        return
    os.environ["PYTHONHOME"] = sys.base_prefix + ":/nowhere"
    ready, end = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        # One after the other: the environment is read as each begins.
        for number in range(int(sys.argv[1])):
            path = shutil.copy(library, os.path.join(folder, "engine%d.so" % number))
            threading.Thread(target=run, args=(path, ready[1], end[0]), daemon=True).start()
            os.read(ready[0], 1)
    print("ready", flush=True)
    sys.stdin.readline()
    os._exit(0)


main()
