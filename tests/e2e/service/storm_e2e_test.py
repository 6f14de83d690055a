"""A process that maps files without end, with long paths, is named, and costs others nothing."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd  # noqa: E402

STORM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char** arguments) {
  int file = open(arguments[1], O_RDONLY);
  if (count != 2 || file < 0) return 1;
  puts("ready");
  fflush(stdout);
  for (;;) munmap(mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0), 65536);
}
"""
# A library that is loaded while the storm goes on.
PLUGIN = r"""
#include <time.h>
static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
void work_of_the_innocent(double seconds) {
  for (double end = now_s() + seconds; now_s() < end;) continue;
}
"""
INNOCENT = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** arguments) {
  if (count != 3) return 1;
  usleep(500000);
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) return 2;
  ((void (*)(double))dlsym(library, "work_of_the_innocent"))(atof(arguments[2]));
  return 0;
}
"""


@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class Storm(RunningProfd):
    def long_path(self):
        """Of a file, 3,000 bytes long."""
        folder = self.folder
        for letter in "abcdefghijkl":
            folder = os.path.join(folder, 250 * letter)
            os.mkdir(folder)
        path = os.path.join(folder, "mapped")
        with open(path, "wb") as file:
            file.write(bytes(65536))
        return path

    def test_mappings(self):
        storm = self.compile(STORM, "storm")
        plugin = self.compile(PLUGIN, "plugin.so", "-shared", "-fPIC")
        innocent = self.compile(INNOCENT, "innocent", "-ldl")
        out = self.path("out.json")
        daemon = self.start()
        process = subprocess.Popen([storm, self.long_path()], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        background = subprocess.Popen(
            [os.path.join(os.environ["PROFD_BINARY_DIR"], "bin", "profctl"), "collect", "-q", "--host", self.address,
             "-p", str(process.pid), "-d", "60", "-o", self.path("storm.json")])
        self.addCleanup(background.wait)
        self.addCleanup(background.kill)

        # Long enough to be read again after a second, and sampled after that.
        said = self.profctl("collect", "-q", "-F", "199", "-o", out, "--", innocent, plugin, "4")
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(out, encoding="utf-8") as file:
            frames = json.load(file)["profile"]["frames"]
        self.assertIn("work_of_the_innocent", [frame.get("name") for frame in frames])
        status = json.loads(self.profctl("status", "--json").stdout)
        self.assertIn(f"process {process.pid} (storm): maps files too often; is read once a second",
                      status["unreadable"])
        self.end(daemon)


if __name__ == "__main__":
    unittest.main()
