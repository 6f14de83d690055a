"""Publishes a process context, but has no library with the variable of threads."""
import ctypes
import mmap
import os
import struct
import sys


def field(number, data):
    return bytes((number << 3 | 2, len(data))) + data


def attribute(key, value):
    return field(1, field(1, key) + field(2, field(1, value)))


def publish(memory, address, schema, published_ns):
    payload = attribute(b"threadlocal.schema_version", schema)
    memory[:32] = struct.pack("<8sIIQQ", b"OTEL_CTX", 2, len(payload), published_ns, address + 32)
    memory[32:32 + len(payload)] = payload


def main():
    fd = os.memfd_create("OTEL_CTX")
    os.ftruncate(fd, 4096)
    memory = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for schema, published_ns in ((b"tls_v1", 1), (b"nodejs_v1", 2), (b"tls_v1", 0)):
        publish(memory, address, schema, published_ns)
        print("published", flush=True)
        if not sys.stdin.readline():
            return


main()
