"""A small Debian 12 with systemd as its first process, as a disk image in the cache: not ours, only its means."""

import glob
import hashlib
import os
import re
import shutil
import tempfile

from kernel_package import KEYRING, SUITES, Unavailable, archive_address, cache_folder, locked_cache, run

SUITE = SUITES["6.1"]
SIZE = "2G"  # sparse
# No udev, no D-Bus, no login, no network: what is there is systemd, its journal, and what a package asks for.
PACKAGES = ("systemd-sysv",)
MASKED = ("dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer", "getty.target", "systemd-logind.service",
          "systemd-journal-flush.service", "systemd-random-seed.service", "systemd-update-utmp.service",
          "systemd-update-utmp-runlevel.service", "dev-hugepages.mount", "dev-mqueue.mount",
          "proc-sys-fs-binfmt_misc.automount")
FILES = {
    # No first boot: that would enable what the image leaves out.
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "etc/hostname": "guest\n",
    "etc/dpkg/dpkg.cfg.d/unsafe-io": "force-unsafe-io\n",
    "etc/systemd/journald.conf.d/volatile.conf": "[Journal]\nStorage=volatile\n",
    "etc/systemd/system/share.mount":
        "[Mount]\nWhat=share\nWhere=/share\nType=9p\nOptions=trans=virtio,version=9p2000.L,msize=262144,cache=none\n",
    # Runs the commands that come by the second serial port; see debian_guest.py.
    "etc/systemd/system/agent.service":
        "[Unit]\nRequiresMountsFor=/share\nAfter=multi-user.target\n"
        "[Service]\nExecStart=/usr/local/sbin/agent\nStandardInput=tty\nStandardOutput=tty\nStandardError=journal\n"
        "TTYPath=/dev/ttyS1\nEnvironment=HOME=/root\n",
    "usr/local/sbin/agent":
        "#!/bin/bash\nstty -echo\necho ready\nwhile read -r number; do\n"
        "  timeout 600 bash /share/$number.command </dev/null >/share/$number.output 2>&1\n"
        "  echo $number $?\ndone\n",
}
LINKS = {
    "etc/systemd/system/default.target": "/lib/systemd/system/multi-user.target",
    "etc/systemd/system/multi-user.target.wants/agent.service": "/etc/systemd/system/agent.service",
    **{f"etc/systemd/system/{unit}": "/dev/null" for unit in MASKED},
}


def dependencies(package):
    """What a .deb depends on, the first of alternatives, without versions: dpkg looks at these when it installs."""
    depends = run("dpkg-deb", "--field", package, "Depends")
    return sorted({re.match(r"[\w.+-]+", one.strip()).group(0) for one in depends.split(",") if one.strip()})


def furnish(tree):
    for name, text in FILES.items():
        path = os.path.join(tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755 if text.startswith("#!") else 0o644)
    for name, target in LINKS.items():
        path = os.path.join(tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(target, path)
    os.makedirs(os.path.join(tree, "share"))


def make(packages, target):
    if os.geteuid() != 0:
        raise Unavailable("only root can make a root file system")
    if shutil.which("mke2fs", path=os.environ["PATH"] + ":/usr/sbin") is None:
        raise Unavailable("mke2fs is not installed")
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        tree = os.path.join(scratch, "tree")
        source = f"deb [arch=amd64 signed-by={KEYRING}] {archive_address()} {SUITE} main"
        run("mmdebstrap", "--variant=essential", "--mode=root", "--format=directory",
            f"--include={','.join(packages)}", SUITE, tree, source, timeout=900)
        furnish(tree)
        image = os.path.join(scratch, "image")
        run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", tree, image, SIZE,
            env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
        os.rename(image, target)


def find(package):
    """Path of an image in which this .deb can be installed; made when the cache does not hold it."""
    packages = [*PACKAGES, *dependencies(package)]
    with open(__file__, "rb") as file:
        version = hashlib.sha256(file.read() + " ".join(packages).encode()).hexdigest()[:16]
    with locked_cache() as folder:
        path = os.path.join(folder, f"debian-{version}.ext4")
        if not os.path.exists(path):
            make(packages, path)
            for other in set(glob.glob(os.path.join(folder, "debian-*.ext4"))) - {path}:
                os.remove(other)
    return path
