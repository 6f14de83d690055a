"""Runs one command in a guest: makes its initramfs, starts qemu, passes the command's output on."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

from kernel_package import Unavailable, cache_folder, run

FOLDER = os.path.dirname(os.path.abspath(__file__))
FAILED = 125  # the guest did not get to the end of the command
# A guest with a clock of its own: it counts the guest's instructions, 2 ns each, and the host's time only while the guest is
# idle. In its own eyes it is as fast on a busy host as on any other. Its CPUs take turns, and one that spins for another one
# keeps its turn for long: so the kernel boots with one, and init.c adds the others.
OWN_CLOCK = ["-icount", "shift=1"]
WORDS_OF_OWN_CLOCK = "maxcpus=1 tsc=reliable"


def cpio_entry(name, mode, content=b""):
    """One file of an initramfs (cpio "newc"); see usr/gen_init_cpio.c of the kernel."""
    def pad(data):
        return data + b"\0" * (-len(data) % 4)
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return pad(header + name.encode() + b"\0") + pad(content)


def initramfs(kernel):
    """Path of the initramfs for this kernel: our init and the modules it loads."""
    with open(os.path.join(FOLDER, "init.c"), "rb") as file:
        of = [kernel.release, *map(os.path.basename, kernel.modules)]
        version = hashlib.sha256(file.read() + " ".join(of).encode()).hexdigest()[:16]
    path = os.path.join(cache_folder(), f"initramfs-{kernel.release}-{version}")
    if os.path.exists(path):
        return path
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        init = os.path.join(scratch, "init")
        run("gcc", "-static", "-O1", "-Wall", "-D_GNU_SOURCE", "-o", init, os.path.join(FOLDER, "init.c"))
        ready = os.path.join(scratch, "initramfs")
        with open(ready, "wb") as out:
            for name in ("dev", "modules"):
                out.write(cpio_entry(name, 0o40755))
            with open(init, "rb") as file:
                out.write(cpio_entry("init", 0o100755, file.read()))
            for module in kernel.modules:
                with open(module, "rb") as file:
                    out.write(cpio_entry(f"modules/{os.path.basename(module)}", 0o100644, file.read()))
            out.write(cpio_entry("TRAILER!!!", 0))
        os.rename(ready, path)
    return path


def write_words(path, words):
    with open(path, "wb") as file:
        file.write(b"".join(word.encode() + b"\0" for word in words))


class Tail:
    """Passes on what has been appended to a file since the last look."""

    def __init__(self, path, target):
        with open(path, "wb"):
            pass
        self.file = open(path, "rb")
        self.target = target

    def look(self):
        text = self.file.read()
        if text:
            self.target.buffer.write(text)
            self.target.flush()


def require_qemu():
    if shutil.which("qemu-system-x86_64") is None:
        raise Unavailable("qemu-system-x86_64 is not installed")


# Two NUMA nodes, each with one core of two CPUs. The kernel believes only Intel's CPUs that they have two.
TWO_NODES_CPU = "max,vendor=GenuineIntel"
TWO_NODES_SMP = "4,sockets=2,cores=1,threads=2"


def two_node_devices(memory):
    half = f"{int(memory.removesuffix('G')) * 512}M"
    devices = []
    for node in range(2):
        devices += ["-object", f"memory-backend-ram,id=memory{node},size={half}",
                    "-numa", f"node,nodeid={node},cpus={2 * node}-{2 * node + 1},memdev=memory{node}"]
    return devices


def qemu_command(kernel, cpus, memory, console, shares, words="", own_clock=False, two_nodes=False, more=()):
    """`shares`: tag -> folder, of which `root` is read-only; `words`: further arguments of the kernel; `memory`: "2G"."""
    accelerator = os.environ.get("PROFD_VM_ACCEL", "tcg,thread=single")
    own_clock = own_clock and accelerator.startswith("tcg")  # others cannot count
    clock, words = (OWN_CLOCK, f"{WORDS_OF_OWN_CLOCK} {words}") if own_clock else ([], words)
    command = ["qemu-system-x86_64", "-accel", accelerator, *clock, "-cpu", TWO_NODES_CPU if two_nodes else "max",
               "-smp", TWO_NODES_SMP if two_nodes else str(cpus), "-m", memory,
               *(two_node_devices(memory) if two_nodes else []),
               "-nodefaults", "-nic", "none", "-display", "none", "-no-reboot", "-serial", f"file:{console}",
               "-kernel", kernel.image, "-initrd", initramfs(kernel),
               "-append", f"console=ttyS0 quiet panic=-1 oops=panic mitigations=off {words}"]
    for tag, folder in shares.items():
        access = "readonly=on," if tag == "root" else ""
        command += ["-virtfs", f"local,path={folder},mount_tag={tag},{access}security_model=none,multidevs=remap"]
    return command + list(more)


def last_words(console):
    """The end of what the guest's kernel and first process have said."""
    if not os.path.exists(console):
        return ""
    with open(console, errors="replace", encoding="utf-8") as file:
        return "".join(f"  {line}" for line in file.readlines()[-30:])


def run_in_guest(kernel, command, environment, folders, out, timeout_s, cpus, memory, own_clock, two_nodes=False):
    """Exit status of the command, or FAILED; the end of the guest's console says why."""
    require_qemu()
    with tempfile.TemporaryDirectory(prefix="profd-vm-") as share:
        write_words(os.path.join(share, "command"), command)
        write_words(os.path.join(share, "environment"), [f"{k}={v}" for k, v in environment.items()])
        write_words(os.path.join(share, "folders"), folders)
        tails = [Tail(os.path.join(share, "stdout"), sys.stdout), Tail(os.path.join(share, "stderr"), sys.stderr)]
        console = os.path.join(share, "console")
        shares = {"root": "/", "share": share} | ({"out": out} if out else {})
        qemu = subprocess.Popen(qemu_command(kernel, cpus, memory, console, shares, own_clock=own_clock,
                                             two_nodes=two_nodes),
                                stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + timeout_s
        try:
            while qemu.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
                for tail in tails:
                    tail.look()
        finally:
            late = qemu.poll() is None
            if late:
                qemu.kill()
                qemu.wait()
        for tail in tails:
            tail.look()
        try:
            with open(os.path.join(share, "status"), encoding="utf-8") as file:
                return int(file.read())
        except (FileNotFoundError, ValueError):
            pass
        why = f"it ran longer than {timeout_s} s" if late else "it died"
        print(f"vm: kernel {kernel.release} did not finish {command[0]}: {why}; its console:", file=sys.stderr)
        sys.stderr.write(last_words(console))
        return FAILED
