"""The code of a process: in which kind of it an address lies, and whether it follows a call."""

import bisect
import mmap
import os
import struct
from typing import NamedTuple

RULES, BARE, MADE, NONE = "with .eh_frame", "without .eh_frame", "made at run time", "no code"
PT_LOAD, PT_GNU_EH_FRAME = 1, 0x6474E550
# Of a pointer's encoding: the bytes that it takes.
SIZES = {0x0: 8, 0x2: 2, 0x3: 4, 0x4: 8, 0xA: 2, 0xB: 4, 0xC: 8}
BINARY_SEARCH_TABLE = 0x3B  # relative to the header, four bytes


class Elf:
    """Which parts of a file .eh_frame has an entry for, by file offset."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.loads, self.header = [], None
        if self.data[:5] != b"\x7fELF\x02":
            return
        table, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        for number in range(count):
            kind, _, offset, address, _, bytes_in_file = struct.unpack_from("<IIQQQQ", self.data, table + number * size)
            if kind == PT_LOAD:
                self.loads.append((offset, address, bytes_in_file))
            elif kind == PT_GNU_EH_FRAME:
                self.header = offset, address
        if self.header and self.data[self.header[0] + 3] != BINARY_SEARCH_TABLE:
            self.header = None

    def address_of(self, wanted):
        return next((wanted - offset + address for offset, address, size in self.loads if offset <= wanted < offset + size), None)

    def offset_of(self, wanted):
        return next((wanted - address + offset for offset, address, size in self.loads if address <= wanted < address + size), None)

    def has_rules(self, offset):
        address = self.address_of(offset)
        if address is None or self.header is None:
            return False
        at, base = self.header
        low, high = 0, struct.unpack_from("<I", self.data, at + 8)[0]
        while low < high:  # the last entry that does not begin above the address
            middle = (low + high) // 2
            if base + struct.unpack_from("<i", self.data, at + 12 + middle * 8)[0] <= address:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return False
        begin, entry = struct.unpack_from("<ii", self.data, at + 12 + (low - 1) * 8)
        return address < base + begin + self.range_of(self.offset_of(base + entry))

    def range_of(self, entry):
        """How many bytes the frame description entry at this file offset is for."""
        cie = entry + 4 - struct.unpack_from("<I", self.data, entry + 4)[0]
        size = SIZES[self.encoding(cie) & 0xF]
        return int.from_bytes(self.data[entry + 8 + size:entry + 8 + 2 * size], "little")

    def encoding(self, cie):
        """Of the addresses of entries with this common information entry."""
        end = self.data.find(b"\0", cie + 9)
        letters, at = self.data[cie + 9:end], end + 1
        for _ in range(2):  # alignments of code and data
            at = self.skip_number(at)
        at += 1  # the return address's register
        if not letters.startswith(b"z"):
            return 0
        at = self.skip_number(at)
        for letter in letters[1:]:
            if letter == ord("R"):
                return self.data[at]
            if letter == ord("L"):
                at += 1
            elif letter == ord("P"):
                at += 1 + SIZES[self.data[at] & 0xF]
        return 0

    def skip_number(self, at):
        while self.data[at] & 0x80:
            at += 1
        return at + 1


def ends_with_call(code):
    """Do these bytes end with a call? `e8` and four bytes; or `ff`, whose second byte says 2 and what its operand takes."""
    if len(code) >= 5 and code[-5] == 0xE8:
        return True
    for length in range(2, 8):
        if len(code) < length or code[-length] != 0xFF:
            continue
        second = code[1 - length]
        mod, middle, base = second >> 6, second >> 3 & 7, second & 7
        if middle != 2:
            continue
        needed = 2
        if mod != 3 and base == 4:
            needed += 1
            base = code[2 - length] & 7 if length > 2 else 0
        needed += {0: 4 if base == 5 else 0, 1: 1, 2: 4, 3: 0}[mod]
        if needed == length:
            return True
    return False


class Mapping(NamedTuple):
    begin: int
    end: int
    offset: int
    path: str


class Code:
    """Of one process, which stands still. `files` are those that are open already: path -> Elf."""

    def __init__(self, pid, files):
        self.files = files
        self.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        self.mappings, self.regions = [], []
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                words = line.split(None, 5)
                begin, end = (int(word, 16) for word in words[0].split("-"))
                self.regions.append((begin, end))
                if "x" in words[1]:
                    self.mappings.append(Mapping(begin, end, int(words[2], 16), words[5].strip() if len(words) > 5 else ""))
        self.begins = [one.begin for one in self.mappings]

    def close(self):
        os.close(self.memory)

    def read(self, address, size):
        try:
            return os.pread(self.memory, size, address)
        except OSError:
            return b""

    def mapping_of(self, address):
        at = bisect.bisect_right(self.begins, address) - 1
        return self.mappings[at] if at >= 0 and address < self.mappings[at].end else None

    def region_of(self, address):
        return next((one for one in self.regions if one[0] <= address < one[1]), None)

    def kind_of(self, address):
        mapping = self.mapping_of(address)
        if mapping is None:
            return NONE
        if mapping.path == "[vdso]":
            return RULES
        if not mapping.path.startswith("/") or not os.path.exists(mapping.path):
            return MADE
        if mapping.path not in self.files:
            self.files[mapping.path] = Elf(mapping.path)
        return RULES if self.files[mapping.path].has_rules(address - mapping.begin + mapping.offset) else BARE

    def follows_call(self, address):
        return self.mapping_of(address - 1) is not None and ends_with_call(self.read(address - 8, 8))

    def return_addresses(self, rsp, size):
        """Of the words from the stack pointer on those that follow a call: place -> word."""
        words = self.read(rsp, size)
        found = {}
        for number, (word,) in enumerate(struct.iter_unpack("<Q", words[:len(words) & ~7])):
            if self.mapping_of(word) and self.follows_call(word):
                found[rsp + 8 * number] = word
        return found
