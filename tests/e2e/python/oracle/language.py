"""Cases of the language: calls, C in between, generators, exceptions, names and lines."""
import asyncio
import ctypes
import functools
import hashlib
import itertools
import select
import socket
import sys
import threading
import time
import zlib

from oracle import Skip, case, hold, in_thread, marks, measure, rehearse, spin

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
CALLBACK = ctypes.CFUNCTYPE(None)


# 1: functions, one in the other; lines.

def outer1():
    spin()
    middle1(
        spin(),
        spin(200)
    )
    return spin()


def middle1(first, second):
    def inner1():
        return spin() + first

    return inner1() + second


@case(1)
def nested_functions():
    measure(1, outer1)


# 2: blocked without the GIL.

def sleeping2():
    time.sleep(0.002)


def receiving2(left):
    try:
        left.recv(1)
    except OSError:
        spin(10)


def polling2():
    select.select([], [], [], 0.002)


@case(2)
def blocked_threads_keep_their_frames():
    left, right = socket.socketpair()
    left.settimeout(0.002)

    def body2():
        sleeping2()
        receiving2(left)
        polling2()

    measure(2, body2, 0.15, waits={"sleeping2": ["SLEEP", "GIL"], "receiving2": ["POLL", "NET", "GIL"],
                                   "polling2": ["POLL", "SLEEP", "GIL"]}, needs=["SLEEP", "POLL"])
    left.close()
    right.close()


# 3: for the GIL.

def contend3():
    spin(20000)


@case(3)
def threads_fight_for_the_gil():
    threads = [threading.Thread(target=measure, args=(3, contend3, 0.25),
                                kwargs={"waits": {"*": ["GIL"]}, "needs": ["GIL"]}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# 4: on the CPU without the GIL.

BIG = bytes(range(256)) * 400


def deflate4():
    zlib.compress(BIG, 1)


def hash4():
    hashlib.sha256(BIG).digest()


def spin_in_c4():
    marks.oracle_spin(ctypes.c_int64(500000))


@case(4)
def c_without_the_gil():
    def body4():
        deflate4()
        hash4()
        spin_in_c4()

    measure(4, body4, after={"spin_in_c4": ["oracle_spin"]})


# 5: a lock that is not the GIL.

@case(5)
def locks_are_not_the_gil():
    lock = threading.Lock()
    lock.acquire()

    def locked5():
        lock.acquire(True, 0.003)

    measure(5, locked5, waits={"locked5": ["LOCK", "GIL"]}, needs=["LOCK"])


# 6: C functions of the interpreter that call Python.

def key6(value):
    return spin(20) - value


def mapped6(value):
    return spin(20) + value


def reduced6(left, right):
    return spin(20) + left + right


class Number6:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return spin(20) < 0 or self.value < other.value

    @property
    def double6(self):
        return spin(20) + 2 * self.value


def c_then_python6():
    sorted(range(12), key=key6)
    list(map(mapped6, range(12)))
    functools.reduce(reduced6, range(12))
    list(itertools.starmap(reduced6, zip(range(6), range(6))))
    min([Number6(i) for i in range(6)])
    [Number6(1).double6 for _ in range(3)]


@case(6)
def c_between_python():
    measure(6, c_then_python6, 0.15, through={"key6": "sort", "mapped6": "map_next", "__lt__": "min|slot_tp_richcompare"})


# 7: callbacks from C that knows nothing of Python.

def inner7():
    spin(100)


inner_callback = CALLBACK(inner7)


def nested7():
    marks.oracle_outer_call(inner_callback)


@COMPARE
def compare_callback(left, right):
    return compare7(left, right)


def compare7(left, right):
    nested7()
    return left[0] - right[0]


compare_of_sort = COMPARE(compare7)


def sorting7():
    numbers = (ctypes.c_int * 20)(*[(i * 7919) % 701 for i in range(20)])
    marks.oracle_sort(numbers, ctypes.c_size_t(20), compare_of_sort)


@case(7)
def callbacks_from_qsort():
    measure(7, sorting7, 0.15,
            before={"compare7": ["oracle_sort"], "inner7": ["oracle_outer_call", "oracle_call"]})


# 8: threads made by C.

@case(8)
def threads_made_by_c():
    rules = {"before": {"foreign8": ["oracle_thread"], "inner7": ["oracle_outer_call", "oracle_call"]}}

    def foreign8():
        measure(8, nested7, 0.03, **rules)

    marks.oracle_threads(CALLBACK(foreign8), 3, 1)
    marks.oracle_threads(CALLBACK(foreign8), 1, 3)


# 9: threads of C alone; they run for as long as the script does.

@case(9)
def threads_of_c_alone():
    marks.oracle_start_natives(2)
    measure(9, outer1, 0.05)


# 10: generators.

def leaves10(count):
    for i in range(count):
        spin(50)
        yield i


def between10(count):
    yield from leaves10(count)
    spin(50)
    yield from leaves10(count)


def top10():
    for value in between10(4):
        spin(20 + value)
    return sum(value for value in between10(3))


@case(10)
def generators():
    measure(10, top10)


# 11, 12: coroutines.

async def deep11(depth):
    if depth:
        return await deep11(depth - 1)
    await asyncio.sleep(0)
    return spin(200)


async def gather11():
    await asyncio.gather(deep11(3), deep11(5))


async def group11():
    async with asyncio.TaskGroup() as group:
        group.create_task(deep11(2))
        group.create_task(deep11(4))


@case(11)
def coroutines():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    def body11():
        loop.run_until_complete(gather11())
        if hasattr(asyncio, "TaskGroup"):
            loop.run_until_complete(group11())

    # When a task dies its references do, at any time.
    chains = rehearse(body11, 8)
    removals = {chain[-1:] for chain in chains if chain[-1][0].endswith("_remove")}
    measure(11, body11, 0.15, chains=chains, interrupts=removals, loose=True)
    loop.close()


async def numbers12():
    try:
        for i in range(5):
            spin(50)
            yield i
    finally:
        finalize12()


def finalize12():
    spin(100)


async def use12():
    numbers = numbers12()
    async for value in numbers:
        spin(30)
        if value == 3:
            break
    await numbers.aclose()
    async for value in numbers12():
        spin(30)


def drive12():
    try:
        use12().send(None)
    except StopIteration:
        spin(20)


@case(12)
def asynchronous_generators():
    measure(12, drive12)


@case(13)
def greenlets():
    try:
        import greenlet
    except ImportError:
        raise Skip("greenlet is not installed") from None

    def child13(parent):
        for _ in range(5):
            spin(100)
            parent.switch()

    def switch13():
        child = greenlet.greenlet(child13)
        for _ in range(5):
            child.switch(greenlet.getcurrent())
            spin(50)

    # One that ends has no Python frames any more, and is called by another one's calls. An abandoned one has no caller.
    measure(13, switch13, 0.15, apart=True, alone=True)


# 14: depth.

def recurse14(depth):
    if depth:
        recurse14(depth - 1)
    else:
        hold(14)


@case(14)
def recursion():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(8000)
    size = threading.stack_size(512 << 20)
    for depth in (50, 500, 5000):
        in_thread(functools.partial(recurse14, depth))
    threading.stack_size(size)
    sys.setrecursionlimit(limit)


# 15: exceptions.

class Local15:
    def __del__(self):
        spin(20)


def raise15(depth):
    kept = Local15()
    try:
        if depth == 0:
            raise ValueError("the end")
        raise15(depth - 1)
    finally:
        spin(10)
    return kept


def catch15():
    try:
        raise15(60)
    except ValueError:
        spin(100)


@case(15)
def exceptions():
    measure(15, catch15, 0.15)


# 16: classes.

class Meta16(type):
    def __call__(cls, *arguments):
        spin(20)
        return super().__call__(*arguments)


class Base16:
    def __new__(cls, *arguments):
        spin(20)
        return super().__new__(cls)

    def __init__(self, value):
        self.value = spin(50) + value


class Thing16(Base16, metaclass=Meta16):
    def __init__(self, value):
        super().__init__(value)
        spin(50)


def classes16():
    Thing16(1)
    Base16(2)

    class Local16:
        attribute = spin(50)

        def method(self):
            return spin(50)

        @classmethod
        def made(cls):
            return cls().method()

    return Local16.made()


@case(16)
def construction():
    measure(16, classes16)


# 17: comprehensions.

def comprehend17():
    first = [spin(20) + i for i in range(5)]
    second = {spin(20) + i for i in range(5)}
    third = {i: [spin(20) + j for j in range(3)] for i in range(3)}
    return first, second, third, sum(spin(20) for i in range(5))


@case(17)
def comprehensions():
    measure(17, comprehend17)
