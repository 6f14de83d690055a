"""Cases of processes and interpreters: forks, programs that execute others, odd conditions."""
import ctypes
import faulthandler
import functools
import gc
import importlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from hosts import HOST, PROGRAM, program_file, shared_library
from language import nested7, outer1
from oracle import HERE, Skip, case, in_thread, marks, measure, now, rehearse, spin


def run_program(arguments, environment=None, interpreter=sys.executable):
    subprocess.run([interpreter, PROGRAM, *arguments], check=True, env=dict(os.environ, **environment or {}))


def wait_for(pid):
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError("child ended with %d" % status)


def fork(body):
    """The child's pid; it runs `body`."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            body()
            status = 0
        finally:
            os._exit(status)
    return pid


# 25: children that execute nothing.

def child25():
    measure(25, outer1, 0.05)


@case(25)
def forks():
    wait_for(fork(child25))
    in_thread(lambda: wait_for(fork(child25)))
    for method in ("fork", "spawn", "forkserver"):
        process = multiprocessing.get_context(method).Process(target=child25)
        process.start()
        process.join()
        if process.exitcode:
            raise RuntimeError("%s: %d" % (method, process.exitcode))


# 26: programs that execute others.

@case(26)
def programs_execute_others():
    script = "exec %s %s --measure 26" % (sys.executable, PROGRAM)
    subprocess.run(["/bin/bash", "-c", script], check=True)
    wait_for(fork(lambda: os.execv(sys.executable, [sys.executable, PROGRAM, "--measure", "26"])))
    wait_for(fork(lambda: os.execv(HOST, [HOST, "spin", "50"])))
    other = os.environ.get("ORACLE_OTHER")
    if other:
        # This one may know where its modules are.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
        wait_for(fork(lambda: os.execve(other, [other, PROGRAM, "--measure", "26"], environment)))


# 27: processes that live for a moment.

def short27(seconds):
    end = now() + int(seconds * 1e9)
    while now() < end:
        spin()


@case(27)
def short_lives():
    for milliseconds in (20, 50, 200):
        wait_for(fork(functools.partial(measure, 27, outer1, milliseconds / 1000)))
        run_program(["--measure", "27", str(milliseconds / 1000)])


# 31: several interpreters of one runtime.

SUB31 = """
import sys
sys.path.insert(0, %r)
import program
program.measure_here(31, 0.05, %r)
"""


@case(31)
def subinterpreters():
    for name in ("_xxsubinterpreters", "_interpreters", None):
        if name is None:
            raise Skip("no module makes interpreters")
        try:
            interpreters = importlib.import_module(name)
            break
        except ImportError:
            continue
    # The C part of ctypes is for interpreters that share the GIL, in 3.12.
    shared = {"isolated": False} if sys.version_info[:2] == (3, 12) else {}
    # Without anchors it is unknown which calls are whose.
    how = "apart" if sys.version_info < (3, 10) else ""

    def in_another():
        one = interpreters.create(**shared)
        interpreters.run_string(one, SUB31 % (HERE, how))
        interpreters.destroy(one)

    in_thread(in_another)
    in_another()


# 37: files without symbols, without sections, without a name.

def without_sections(path):
    with open(path, "r+b") as file:
        file.seek(40)
        file.write(bytes(8))
        file.seek(60)
        file.write(bytes(4))


@case(37)
def odd_files():
    with tempfile.TemporaryDirectory() as folder:
        for change in ("strip", "sections", "deleted"):
            try:
                library = shared_library()
            except Skip:
                library = ""
            target = os.path.join(folder, change)
            os.mkdir(target)
            name = os.path.basename(library) if library else "python"
            file = shutil.copy(library or program_file(), os.path.join(target, name))
            if change == "strip":
                subprocess.run(["strip", file], check=True)
            elif change == "sections":
                without_sections(file)
            environment = {"PYTHONHOME": sys.base_prefix}
            if library:
                environment["LD_LIBRARY_PATH"] = target
            process = subprocess.Popen(
                [sys.executable if library else file, PROGRAM, "--measure", "37", "0.05", "ready"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ, **environment))
            process.stdout.readline()
            if change == "deleted":
                os.unlink(file)
            process.communicate(b"go\n")
            if process.returncode:
                raise RuntimeError("%s: %d" % (change, process.returncode))


@case(38)
def builds():
    # This interpreter, whatever its build is; musl and conda are not among those that tests can find.
    measure(38, nested7, 0.05, before={"inner7": ["oracle_outer_call", "oracle_call"]})


@case(39)
def namespaces():
    command = ["unshare", "--pid", "--mount", "--fork", "--mount-proc"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no namespaces can be made")
    subprocess.run([*command, sys.executable, PROGRAM, "--measure", "39", "0.1", "named"], check=True)


@case(40)
def late_pthread_keys():
    marks_file = os.environ["ORACLE_MARKS"]
    run_program(["--measure", "40"], {"LD_PRELOAD": marks_file, "ORACLE_TAKE_KEYS": "1"})


# 41: signals.

@case(41)
def signal_handlers():
    def handler41(number, frame):
        spin(100)

    def call41():
        handler41(0, None)

    interrupts = {chain[1:] for chain in rehearse(call41) if len(chain) > 1}
    before = signal.signal(signal.SIGALRM, handler41)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        measure(41, outer1, 0.15, chains=rehearse_without_signals(outer1), interrupts=interrupts)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    marks.oracle_handle(int(signal.SIGUSR1))
    stop = threading.Event()
    main = threading.get_ident()

    def send41():
        while not stop.wait(0.001):
            signal.pthread_kill(main, signal.SIGUSR1)

    sender = threading.Thread(target=send41)
    sender.start()
    names = {name: ["oracle_on_signal", "oracle_spin"] for name in ("outer1", "middle1", "inner1", "spin", "repeat")}
    measure(41, outer1, 0.1, after=names)
    stop.set()
    sender.join()


def rehearse_without_signals(body):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        return rehearse(body)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})


# 42: under a debugger or a coverage tool.

@case(42)
def traced():
    def tracer42(frame, event, argument):
        spin(20)
        return tracer42

    def call42():
        tracer42(None, "line", None)

    chains = rehearse(outer1)
    interrupts = {chain[1:] for chain in rehearse(call42) if len(chain) > 1}
    sys.settrace(tracer42)
    try:
        measure(42, outer1, 0.1, chains=chains, interrupts=interrupts)
    finally:
        sys.settrace(None)
    if not hasattr(sys, "monitoring"):
        return

    def monitor42(code, line):
        spin(20)

    interrupts = {chain[1:] for chain in rehearse(lambda: monitor42(None, 1)) if len(chain) > 1}
    tool, events = sys.monitoring.COVERAGE_ID, sys.monitoring.events
    sys.monitoring.use_tool_id(tool, "oracle")
    sys.monitoring.register_callback(tool, events.LINE, monitor42)
    sys.monitoring.set_events(tool, events.LINE)
    try:
        measure(42, outer1, 0.1, chains=chains, interrupts=interrupts)
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.free_tool_id(tool)


# 43: the collector.

class Cycle43:
    def __init__(self):
        self.me = self

    def __del__(self):
        spin(100)


def collecting43(phase, information):
    spin(100)


def collect43():
    for _ in range(3):
        Cycle43()
    gc.collect(0)


@case(43)
def garbage():
    gc.callbacks.append(collecting43)
    try:
        measure(43, collect43, 0.1)
    finally:
        gc.callbacks.remove(collecting43)


# 44: threads that end, and others with their numbers.

@case(44)
def threads_come_and_go():
    chains = rehearse(outer1)
    for _ in range(60):
        in_thread(functools.partial(measure, 44, outer1, 0.002, chains=chains))


@case(45)
def memory_that_is_away():
    # A sample that meets memory that is away may be flagged; the next ones have it, though the program touches none.
    run_program(["--away", "45"], {"LD_PRELOAD": os.environ["ORACLE_MARKS"], "ORACLE_MEMORY": "away"})


# 46: crowds.

@case(46)
def crowds():
    size = threading.stack_size(256 << 10)
    ready, end = threading.Semaphore(0), threading.Event()
    count = 400

    def one46():
        ready.release()
        end.wait()

    threads = [threading.Thread(target=one46) for _ in range(count)]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.acquire()
    measure(46, outer1, 0.1)
    end.set()
    for thread in threads:
        thread.join()
    threading.stack_size(size)
    children = [fork(functools.partial(measure, 46, outer1, 0.002)) for _ in range(60)]
    for child in children:
        wait_for(child)


# 47: frames that lead in a circle.

@case(47)
def circles():
    def circle47():
        frame = sys._getframe()
        address = id(frame)
        if sys.version_info >= (3, 11):
            word = ctypes.c_uint64.from_address(address + 24).value  # f_frame
            address = word + (48 if sys.version_info < (3, 12) else 8)
            value = word
        else:
            address, value = address + 24, address
        marks.oracle_sleep_with(ctypes.c_void_p(address), ctypes.c_uint64(value), ctypes.c_int64(50000000))

    in_thread(circle47)
    # What was seen of it is not judged: that all goes on is.
    measure(47, outer1, 0.05)


# 48: the end of an interpreter.

@case(48)
def the_end():
    run_program(["--end", "48"])


@case(49)
def stopped():
    process = subprocess.Popen([sys.executable, PROGRAM, "--measure", "49", "0.3"])
    time.sleep(0.15)
    for _ in range(3):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.03)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.03)
    if process.wait():
        raise RuntimeError(str(process.returncode))


@case(50)
def other_observers():
    # Not dump_traceback_later(): that reads without the GIL, and the interpreter crashes now and then.
    done = threading.Event()

    def look():
        with open(os.devnull, "w") as nothing:
            while not done.wait(0.005):
                faulthandler.dump_traceback(file=nothing, all_threads=True)

    observer = threading.Thread(target=look)
    observer.start()
    try:
        measure(50, outer1, 0.1)
    finally:
        done.set()
        observer.join()
    if not shutil.which("gdb"):
        return
    process = subprocess.Popen([sys.executable, PROGRAM, "--measure", "50", "0.4"])
    time.sleep(0.1)
    subprocess.run(["gdb", "-nx", "-batch", "-p", str(process.pid), "-ex", "thread apply all backtrace 3"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if process.wait():
        raise RuntimeError(str(process.returncode))
