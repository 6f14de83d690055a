"""A Debian kernel, fetched with a private apt state and unpacked into a cache outside the tree.

Until 7.0 one package, linux-image-RELEASE, has the kernel and its modules. Since then that package is empty, and depends on
linux-binary-RELEASE and linux-modules-RELEASE.
"""

import contextlib
import fcntl
import glob
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from typing import NamedTuple

SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "7.2": "trixie-backports", "7.3": "trixie-backports"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What a guest needs to have the host's root as its own, or a disk; their dependencies come with them.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "virtio_blk", "crc32c_generic", "ext4")


class Unavailable(Exception):
    """The kernel cannot be had here: a reason to skip, not a failure."""


class Kernel(NamedTuple):
    release: str
    image: str
    modules: list  # paths, in the order in which they are to be loaded


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "profd", "vm")


@contextlib.contextmanager
def locked_cache():
    """The cache folder, for one process at a time: the others then find what the first one has made."""
    folder = cache_folder()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield folder


def run(*command, timeout=300, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, **options).stdout
    except FileNotFoundError as error:
        raise Unavailable(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{command[0]} took longer than {timeout} s") from error
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout).strip().split("\n")
        raise Unavailable(f"{command[0]} failed: {lines[-1]}") from error


def archive_address():
    """The Debian mirror this machine uses; suites are folders of the same archive."""
    listing = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)")
    for line in listing.splitlines():
        origin, label, address = line.split("|", 2)
        if (origin, label) == ("Debian", "Debian"):
            return address
    raise Unavailable("apt knows no Debian archive")


def newest_release(version, packages):
    """The newest release of "6.1" among these packages: "6.1.0-37-amd64". None: there is none."""
    # Neither linux-image-*-amd64-dbg, -cloud-amd64, -rt-amd64, nor -amd64-unsigned.
    plain = re.compile(rf"linux-image-({re.escape(version)}\.\d+(?:-\d+|\+deb\d+)?-amd64)$")
    releases = [match.group(1) for match in map(plain.match, packages) if match]
    return max(releases, key=lambda release: [int(number) for number in re.findall(r"\d+", release)], default=None)


def packages_with_files(release, shown):
    """The packages that have the files of this release; `shown`: what apt says of its linux-image."""
    parts = [f"linux-{part}-{release}" for part in ("binary", "modules")]
    depends = re.search(r"^Depends: (.*)$", shown, re.MULTILINE)
    names = [one.split()[0] for one in depends.group(1).split(",")] if depends else []
    return parts if set(parts) <= set(names) else [f"linux-image-{release}"]


class PrivateApt:
    """apt with lists, cache and sources of its own for one suite; the host's stay untouched."""

    def __init__(self, folder, suite):
        self.suite = suite
        for name in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        sources = os.path.join(folder, "sources.list")
        with open(sources, "w", encoding="utf-8") as file:
            file.write(f"deb [arch=amd64 signed-by={KEYRING}] {archive_address()} {suite} main\n")
        status = os.path.join(folder, "status")
        with open(status, "w", encoding="utf-8"):
            pass
        self.options = []
        for name, value in (("Dir::Etc::sourcelist", sources), ("Dir::Etc::sourceparts", "/dev/null"),
                            ("Dir::State::lists", os.path.join(folder, "lists")),
                            ("Dir::State::status", status), ("Dir::Cache", folder),
                            ("Dir::Cache::archives", os.path.join(folder, "archives")),
                            ("APT::Sandbox::User", ""), ("Acquire::Languages", "none"),
                            ("Acquire::Retries", "2"), ("Acquire::http::Timeout", "30")):
            self.options += ["-o", f"{name}={value}"]

    def update(self):
        run("apt-get", *self.options, "update", timeout=300)

    def newest_release(self, version):
        release = newest_release(version, run("apt-cache", *self.options, "pkgnames", "linux-image-").split())
        if release is None:
            raise Unavailable(f"{self.suite} has no kernel {version}")
        return release

    def packages(self, release):
        return packages_with_files(release, run("apt-cache", *self.options, "show", f"linux-image-{release}"))

    def download(self, packages, folder):
        run("apt-get", *self.options, "download", *packages, cwd=folder, timeout=600)
        return glob.glob(os.path.join(folder, "*.deb"))


def module_order(tree, wanted):
    """Files of the wanted modules and of what they depend on, each after its dependencies."""
    files = {}
    for path in glob.glob(os.path.join(tree, "**", "*.ko*"), recursive=True):
        files[os.path.basename(path).split(".ko")[0].replace("-", "_")] = path
    ordered = []

    def add(name):
        path = files.get(name)
        if path is None or path in ordered:  # None: built into the kernel
            return
        for dependency in run("modinfo", "-F", "depends", path).strip().split(","):
            if dependency:
                add(dependency.replace("-", "_"))
        ordered.append(path)

    for name in wanted:
        add(name)
    return ordered


def image_in(tree):
    """The kernel image in an unpacked package; since 7.0 it is beside its modules."""
    for pattern in ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz"):
        for path in glob.glob(os.path.join(tree, pattern)):
            return path
    raise Unavailable("the packages have no vmlinuz")


def unpack(packages, target):
    """Leaves the image and the needed modules, uncompressed, in `target`; all of it or nothing."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as scratch:
        tree = os.path.join(scratch, "tree")
        for package in packages:
            run("dpkg-deb", "-x", package, tree)
        ready = os.path.join(scratch, "ready")
        os.makedirs(os.path.join(ready, "modules"))
        shutil.copy(image_in(tree), os.path.join(ready, "vmlinuz"))
        for number, path in enumerate(module_order(tree, MODULES)):
            name = os.path.basename(path).split(".ko")[0]
            opener = lzma.open if path.endswith(".xz") else open
            with opener(path, "rb") as source, \
                    open(os.path.join(ready, "modules", f"{number:02}-{name}.ko"), "wb") as copy:
                shutil.copyfileobj(source, copy)
        with open(os.path.join(ready, "wanted"), "w", encoding="utf-8") as file:
            file.write(" ".join(MODULES))
        shutil.rmtree(target, ignore_errors=True)
        os.rename(ready, target)


def has_all_modules(folder):
    try:
        with open(os.path.join(folder, "wanted"), encoding="utf-8") as file:
            return file.read() == " ".join(MODULES)
    except FileNotFoundError:
        return False


def find(version):
    """The kernel of this version ("6.1"), fetched when the cache does not hold it."""
    suite = SUITES.get(version)
    if suite is None:
        raise SystemExit(f"vm: no kernel {version}; there are {', '.join(SUITES)}")
    with locked_cache() as folder:
        cached = sorted(filter(has_all_modules, glob.glob(os.path.join(folder, f"linux-image-{version}.*"))))
        if not cached:
            apt = PrivateApt(os.path.join(folder, f"apt-{suite}"), suite)
            apt.update()
            release = apt.newest_release(version)
            target = os.path.join(folder, f"linux-image-{release}")
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                unpack(apt.download(apt.packages(release), scratch), target)
            shutil.rmtree(os.path.join(folder, f"apt-{suite}"))
            cached = [target]
    found = cached[-1]
    return Kernel(release=os.path.basename(found).removeprefix("linux-image-"),
                  image=os.path.join(found, "vmlinuz"),
                  modules=sorted(glob.glob(os.path.join(found, "modules", "*.ko"))))
