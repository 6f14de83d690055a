"""A file system over FUSE that stops answering on request: hanging_files.py FOLDER FILE...

It shows copies of the files in FOLDER, and prints `ready`. The line `hang` on standard input makes it read requests and
answer none: who waits for one cannot be killed from the time that it prints `holds`. After `hang reads` that is so for
reading alone, and files are opened for direct I/O from the first one on. At the end of standard input it ends, and so
do all waits.
"""

import ctypes
import os
import select
import stat
import struct
import sys

ENOENT, ENOSYS = 2, 38
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR = 1, 2, 3, 14, 15, 17, 18, 25, 26, 27
RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 29, 34, 36, 42
WITHOUT_ANSWER = (FORGET, INTERRUPT, BATCH_FORGET)
IN_HEADER = struct.Struct("<IIQQIIII")  # struct fuse_in_header of <linux/fuse.h>
PARALLEL_DIROPS = 1 << 18  # else a name waits for the one before it in the kernel
DIRECT_IO, KEEP_CACHE = 1, 2  # of an open file
VALID_S = 3600  # names and sizes are requested once
MAX_REQUEST = 1 << 20


class Files:
    def __init__(self, device, paths):
        self.device = device
        self.hangs = ()  # opcodes that are not answered; None: all
        self.direct = False
        self.nodes = {1: None}  # the folder
        self.names = {}
        for number, path in enumerate(paths, start=2):
            with open(path, "rb") as file:
                self.nodes[number] = file.read()
            self.names[os.path.basename(path).encode()] = number

    def attributes(self, node):
        content = self.nodes[node]
        size = len(content) if content is not None else 0
        mode = stat.S_IFDIR | 0o755 if content is None else stat.S_IFREG | 0o755
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        if opcode == INIT:
            return struct.pack("<IIIIHHIIHHI7I", 7, 31, 1 << 17, PARALLEL_DIROPS, 12, 9, 1 << 17, 1, 32, 0, 0, *([0] * 7))
        if opcode == LOOKUP:
            found = self.names.get(body.rstrip(b"\0"))
            return -ENOENT if found is None else struct.pack("<QQQQII", found, 0, VALID_S, VALID_S, 0, 0) + self.attributes(found)
        if opcode == GETATTR:
            return struct.pack("<QII", VALID_S, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<QII", node, DIRECT_IO | KEEP_CACHE if self.direct and opcode == OPEN else 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self.nodes[node][offset:offset + size]
        if opcode == STATFS:
            return struct.pack("<5Q4I6I", 1, 0, 0, 1, 0, 4096, 255, 4096, 0, *([0] * 6))
        return b"" if opcode in (FLUSH, RELEASE, RELEASEDIR) else -ENOSYS

    def serve_one(self):
        request = os.read(self.device, MAX_REQUEST)
        _, opcode, unique, node, *_ = IN_HEADER.unpack_from(request)
        if opcode in WITHOUT_ANSWER:
            return
        if self.hangs is None or opcode in self.hangs:
            self.direct = True
            print("holds", flush=True)
            return
        answer = self.answer(opcode, node, request[IN_HEADER.size:])
        error, body = (answer, b"") if isinstance(answer, int) else (0, answer)
        os.write(self.device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def main():
    folder, paths = sys.argv[1], sys.argv[2:]
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"hanging", folder.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    files = Files(device, paths)
    # The first request. Until it is answered who waits for another one can be killed.
    files.serve_one()
    print("ready", flush=True)
    while True:
        ready = select.select([device, sys.stdin], [], [])[0]
        if sys.stdin in ready:
            line = os.read(sys.stdin.fileno(), 100)
            if not line:
                break
            files.hangs = {b"hang": None, b"hang reads": (READ,)}.get(line.strip(), ())
            print("answers" if files.hangs == () else "hangs", flush=True)
        if device in ready:
            files.serve_one()
    libc.umount2(folder.encode(), 2)  # MNT_DETACH


if __name__ == "__main__":
    main()
