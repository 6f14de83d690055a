"""The pure parts of scripts/bench gdb: what follows a call, what .eh_frame says nothing of, and the comparison."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

for folder in ("callers", "frameworks"):
    sys.path.insert(0, os.path.join(os.environ["PROFD_SOURCE_DIR"], "tests/bench", folder))

import beside_gdb  # noqa: E402
import comparison  # noqa: E402
import target_code  # noqa: E402
from comparison import COMPLETE, EQUAL, GUESSED, LOST, WRONG, Ours, Stack  # noqa: E402

CERTAIN = 0xFFFF
CALLS = ("e8 11 22 33 44", "ff d0", "41 ff d3", "ff 10", "ff 14 24", "ff 14 c8", "ff 50 08", "41 ff 54 24 08", "ff 90 11 22 33 44",
         "ff 94 24 11 22 33 44", "ff 15 11 22 33 44", "ff 14 25 11 22 33 44")
OTHERS = ("e9 11 22 33 44", "ff e0", "ff 20", "ff 30", "ff c0", "e8 11 22 33", "ff 15 11 22", "ff 50 08 00", "90 90 90")
# Two functions, of which only the first has an entry in .eh_frame.
SOURCE = """
int described(int value) { return value + 1; }
__asm__(".pushsection .text\\n.globl bare\\n.type bare, @function\\nbare: push %rbx\\n nop\\n pop %rbx\\n ret\\n.popsection");
"""


def ours(frames, flags=COMPLETE, uncertain_from=CERTAIN):
    return Ours(1, False, flags, uncertain_from, frames)


class FollowsCall(unittest.TestCase):
    def test_every_form_of_a_call(self):
        for text in CALLS:
            self.assertTrue(target_code.ends_with_call(bytes.fromhex("90 90" + text)), text)

    def test_nothing_else(self):
        for text in OTHERS:
            self.assertFalse(target_code.ends_with_call(bytes.fromhex(text)), text)
        self.assertFalse(target_code.ends_with_call(b""))


@unittest.skipUnless(shutil.which("cc") and shutil.which("nm"), "no compiler")
class Rules(unittest.TestCase):
    def test_of_each_byte_of_two_functions(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "x.so")
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SOURCE, text=True, check=True)
            elf = target_code.Elf(library)
            said = subprocess.run(["nm", "-S", library], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
            symbols = {line.split()[-1]: line.split() for line in said if line}
            begin, size = (int(word, 16) for word in symbols["described"][:2])
            for address in range(begin, begin + size):
                self.assertTrue(elf.has_rules(elf.offset_of(address)))
            bare = int(symbols["bare"][0], 16)
            for address in range(bare, bare + 4):
                self.assertFalse(elf.has_rules(elf.offset_of(address)))

    def test_a_file_that_is_no_elf_file_has_none(self):
        self.assertFalse(target_code.Elf(__file__).has_rules(0))


class Judge(unittest.TestCase):
    def verdict(self, *arguments):
        return comparison.judge(*arguments)[:2]

    def test_the_same_callers(self):
        self.assertEqual(self.verdict(ours([1, 2, 3]), [1, 2, 3], True), (EQUAL, 0))
        self.assertEqual(self.verdict(ours([1, 2, 3]), [1, 2], False), (EQUAL, 0))

    def test_an_early_end_counts_as_lost_only_where_the_stack_says_so(self):
        self.assertEqual(self.verdict(ours([1, 2], flags=4), [1, 2, 3], True), (LOST, 2))
        self.assertEqual(self.verdict(ours([1, 2]), [1, 2, 3], True), (WRONG, 2))
        self.assertEqual(self.verdict(ours([1]), [1, 2], False), (WRONG, 1))

    def test_another_caller(self):
        self.assertEqual(self.verdict(ours([1, 3]), [1, 2, 3], True), (WRONG, 1))
        self.assertEqual(self.verdict(ours([1, 2, 3, 4]), [1, 2, 3], True), (WRONG, 3))
        self.assertEqual(self.verdict(ours([1, 9, 3]), [1, 2], False), (WRONG, 1))

    def test_a_guess_that_says_so(self):
        self.assertEqual(self.verdict(ours([1, 2, 9], uncertain_from=2), [1, 2, 3], True), (GUESSED, 2))
        self.assertEqual(self.verdict(ours([1, 9, 3], uncertain_from=2), [1, 2, 3], True), (WRONG, 1))


class Results(unittest.TestCase):
    def result_of(self, mine, **stack):
        result = beside_gdb.Result()
        result.add(mine, Stack(**{"tid": 1, "frames": [1, 2, 3], "kind": target_code.RULES, "reason": "outermost",
                                  "in_syscall": False, "is_right": True, "returned": [], **stack}))
        return result

    def test_gdb_is_compared_with_where_it_is_right(self):
        self.assertEqual(self.result_of(ours([1, 2, 3])).gdb, {EQUAL: 1})
        result = self.result_of(ours([1, 9, 3]))
        self.assertEqual((result.gdb, len(result.wrong), result.neither), ({WRONG: 1}, 1, {}))
        result = self.result_of(ours([1, 9, 3]), is_right=False)
        self.assertEqual((result.gdb, result.wrong, sum(result.neither.values())), ({}, [], 1))

    def test_where_a_thread_returned_to_is_above_gdb(self):
        result = self.result_of(ours([1, 9, 3]), returned=[9])
        self.assertEqual((result.gdb, result.returns), ({}, {EQUAL: 1}))
        result = self.result_of(ours([1, 9, 3]), returned=[2])
        self.assertEqual((result.gdb, result.returns), ({WRONG: 1}, {WRONG: 1}))

    def test_stacks_of_another_place_are_not_compared(self):
        result = self.result_of(ours([7, 2, 3]))
        self.assertEqual((result.gdb, result.neither), ({}, {beside_gdb.ELSEWHERE: 1}))
        self.assertEqual(beside_gdb.cells(result)[9:], [1, 0, 0])

    def test_the_table_adds_up(self):
        one = self.result_of(ours([1, 2, 3]))
        two = self.result_of(ours([1, 2], flags=4), returned=[2])
        lines = beside_gdb.table({"a": one, "b": two}).splitlines()
        self.assertEqual(lines[-1], "| all | 0 | 2 | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 2 | 2 |")
        self.assertEqual(two.reasons, {"memory not readable": 1})


if __name__ == "__main__":
    unittest.main()
