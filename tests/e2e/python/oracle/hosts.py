"""Cases of interpreters in programs that are no Python."""
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from oracle import HERE, Skip, case

PROGRAM = os.path.join(HERE, "program.py")
HOST = os.environ.get("ORACLE_HOST", "")
EMBEDDED = "import sys\nsys.argv = ['', '--measure', '%d']\nsys.path.insert(0, %r)\nimport program\nprogram.main()\n"


def shared_library():
    path = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or not os.path.isfile(path):
        raise Skip("this interpreter has no shared library")
    return path


def program_file():
    """The interpreter's own file."""
    file = os.path.realpath(sys.executable)
    if os.path.realpath("/proc/self/exe") != file:
        raise Skip("a loader of its own starts this interpreter")
    return file


@case(28)
def embedded():
    environment = dict(os.environ, PYTHONHOME=sys.base_prefix)
    # 3.12 does not survive it.
    times = "1" if sys.version_info[:2] == (3, 12) else "2"
    subprocess.run([HOST, "embed", times, EMBEDDED % (28, HERE), shared_library()], check=True, env=environment)


@case(29)
def under_another_name():
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, PYTHONHOME=sys.base_prefix)
        try:
            engine = shutil.copy(shared_library(), os.path.join(folder, "engine.so"))
        except Skip:
            server = shutil.copy(program_file(), os.path.join(folder, "webserver"))
            subprocess.run([server, PROGRAM, "--measure", "29"], check=True, env=environment)
            return
        subprocess.run([HOST, "embed", "1", EMBEDDED % (29, HERE), engine], check=True, env=environment)


# 30: two runtimes in one process: of one version, and of two.

FIRST30 = "import sys\nsys.argv = ['']\nsys.path.insert(0, %r)\nimport first_runtime\nfirst_runtime.main()\n"


def library_of(interpreter):
    """Another interpreter's shared library, "" if there is none, and its home."""
    ask = ("import hosts, sys\ntry:\n    print(hosts.shared_library())\nexcept hosts.Skip:\n    print()\n"
           "print(sys.base_prefix)")
    answer = subprocess.run([interpreter, "-c", ask], check=True, stdout=subprocess.PIPE, universal_newlines=True,
                          env=dict(os.environ, PYTHONPATH=HERE, ORACLE_MARKS=""))
    return answer.stdout.split("\n")[:2]


@case(30)
def two_runtimes_in_one_process():
    library = shared_library()
    other = os.environ.get("ORACLE_OTHER")
    with tempfile.TemporaryDirectory() as folder:
        seconds = [(shutil.copy(library, os.path.join(folder, "another.so")), sys.base_prefix)]
        if other:
            seconds.append(library_of(other))
        for second, home in seconds:
            if second:
                # Without modules of C that are not built in: they would use the first one.
                subprocess.run([HOST, "two", FIRST30 % HERE, library, second, home + ":/nowhere"], check=True,
                               env=dict(os.environ, PYTHONHOME=sys.base_prefix))
