"""deploy/container/Containerfile: its instructions, and that everything it copies is there."""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest

SOURCE = os.environ.get("PROFD_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
FILE = os.path.join(SOURCE, "deploy/container/Containerfile")
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "LABEL", "STOPSIGNAL", "ENTRYPOINT"}


def instructions():
    """(word, what follows) of each; lines that end in a backslash go on."""
    with open(FILE, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if not line.startswith("#")]
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


class Containerfile(unittest.TestCase):
    def setUp(self):
        self.instructions = instructions()

    def copies(self, from_stage):
        for word, rest in self.instructions:
            words = rest.split()
            if word == "COPY" and words[0].startswith("--from=") == from_stage:
                yield words

    def test_knows_every_instruction(self):
        self.assertEqual({word for word, _ in self.instructions} - KNOWN, set())
        self.assertEqual(self.instructions[0][0], "FROM")

    def test_every_path_that_it_copies_is_there(self):
        copied = [source for words in self.copies(False) for source in words[:-1]]
        self.assertGreater(len(copied), 5)
        for source in copied:
            self.assertTrue(glob.glob(os.path.join(SOURCE, source)), source)

    def test_copies_all_that_a_build_takes(self):
        copied = {source for words in self.copies(False) for source in words[:-1]}
        with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
            for folder in re.findall(r"^add_subdirectory\((\w+)\)", file.read(), re.MULTILINE):
                self.assertIn(folder, copied)
        self.assertLessEqual({"CMakeLists.txt", "CMakePresets.json", "scripts", "deploy"}, copied)

    def test_takes_the_package_from_the_stage_that_makes_it(self):
        stages = re.findall(r"^FROM \S+ AS (\w+)$", "\n".join(" ".join(one) for one in self.instructions), re.MULTILINE)
        for words in self.copies(True):
            self.assertIn(words[0].removeprefix("--from="), stages)
        # Where scripts/cmake/Packaging.cmake has CPack put it.
        with open(os.path.join(SOURCE, "scripts/cmake/Packaging.cmake"), encoding="utf-8") as file:
            self.assertIn("-B ${PROJECT_BINARY_DIR}/packages", file.read())
        self.assertEqual([words[1] for words in self.copies(True)], ["/src/build/packages/*.deb"])

    def test_begins_profd_and_nothing_else(self):
        entry = [json.loads(rest) for word, rest in self.instructions if word == "ENTRYPOINT"]
        self.assertEqual(entry, [["/usr/bin/profd"]])

    def test_both_stages_are_of_the_release_that_it_is_made_for(self):
        bases = [rest.split()[0] for word, rest in self.instructions if word == "FROM"]
        self.assertTrue(bases)
        for base in bases:
            self.assertRegex(base, r"^debian:12(-slim)?$")

    @unittest.skipIf(shutil.which("docker") is None, "docker is not installed")
    def test_docker_takes_it(self):
        run = subprocess.run(["docker", "build", "--check", "-f", FILE, SOURCE], capture_output=True, text=True,
                             check=False)
        if "unknown flag" in run.stderr or "daemon" in run.stderr:
            self.skipTest("this docker cannot check: " + run.stderr.strip().splitlines()[-1][:200])
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
