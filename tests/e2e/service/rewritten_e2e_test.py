"""A library that is rewritten in place and loaded again: no frame has a name of the other contents."""

import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import RunningProfd  # noqa: E402

PLUGIN = r"""
#include <time.h>
static double cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
__attribute__((noinline)) void NAME(double seconds) {
  for (double end = cpu_s() + seconds; cpu_s() < end;) continue;
}
void run(double seconds) {
  NAME(seconds);
  __asm__ volatile("");
}
"""
HOST = r"""
#include <dlfcn.h>
#include <stdlib.h>
int main(int count, char** arguments) {
  for (int i = 3; i < count; ++i) {
    if (system(arguments[i]) != 0) return 1;
    void* library = dlopen(arguments[1], RTLD_NOW);
    if (library == NULL) return 2;
    ((void (*)(double))dlsym(library, "run"))(atof(arguments[2]));
    dlclose(library);
  }
  return 0;
}
"""
SECONDS = 1


@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class Rewritten(RunningProfd):
    def seconds_in(self, profile, function):
        """On a CPU."""
        frames = [frame.get("name") == function for frame in profile["frames"]]
        inside = [False]
        for node in profile["nodes"]:
            inside.append(frames[node.get("frame", 0)] or inside[node.get("parent", 0)])
        samples = profile["samples"]
        return sum(int(ns) for ns, node, state in zip(samples["weight_ns"], samples["node"], samples["state"])
                   if inside[node] and state == "STATE_ON_CPU") / 1e9

    def test_each_version_has_its_own_names(self):
        first = self.compile(PLUGIN, "first.so", "-shared", "-fPIC", "-DNAME=work_of_the_first")
        second = self.compile(PLUGIN, "second.so", "-shared", "-fPIC", "-DNAME=work_of_the_second")
        host = self.compile(HOST, "host", "-ldl")
        plugin = self.path("plugin.so")
        out = self.path("out.json")
        self.start()
        said = self.profctl("collect", "-q", "-F", "499", "--no-children", "-o", out, "--", host, plugin, str(SECONDS),
                            f"cp {first} {plugin}", f"cp {second} {plugin}")
        self.assertEqual(said.returncode, 0, said.stderr)
        with open(out, encoding="utf-8") as file:
            profile = json.load(file)["profile"]
        for function in ("work_of_the_first", "work_of_the_second"):
            # Half of the way from its own time to that of both.
            self.assertLess(self.seconds_in(profile, function), 1.5 * SECONDS, function)
        self.assertGreater(self.seconds_in(profile, "work_of_the_second"), 0.5 * SECONDS)


if __name__ == "__main__":
    unittest.main()
