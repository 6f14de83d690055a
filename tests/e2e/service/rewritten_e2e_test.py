"""A library that is rewritten, replaced or removed while profd looks: each frame has the name of the contents that ran."""

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
# A wait gets its stack when it is over. The file is another one, or gone, before that stack can have a name.
WAITING = r"""
#include <unistd.h>
__attribute__((noinline)) void wait_of_the_first(double seconds) {
  usleep((useconds_t)(seconds * 1e6));
  __asm__ volatile("");
}
void run(double seconds) {
  wait_of_the_first(seconds);
  __asm__ volatile("");
}
"""
CHANGING = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char contents[1 << 20];
int main(int count, char** arguments) {
  if (count != 5) return 1;
  const char* path = arguments[1];
  int other = open(arguments[2], O_RDONLY);
  ssize_t size = read(other, contents, sizeof contents);
  char new_path[4096];
  snprintf(new_path, sizeof new_path, "%s.new", path);
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL || size <= 0) return 2;
  ((void (*)(double))dlsym(library, "run"))(atof(arguments[4]));
  dlclose(library);
  if (strcmp(arguments[3], "remove") == 0) return unlink(path);
  int replaces = strcmp(arguments[3], "replace") == 0;
  int file = replaces ? open(new_path, O_WRONLY | O_CREAT, 0755) : open(path, O_WRONLY | O_TRUNC);
  if (write(file, contents, (size_t)size) != size) return 3;
  return replaces ? rename(new_path, path) : 0;
}
"""
SECONDS = 1


@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
class Rewritten(RunningProfd):
    def seconds_in(self, profile, function, of_state="STATE_ON_CPU"):
        frames = [frame.get("name") == function for frame in profile["frames"]]
        inside = [False]
        for node in profile["nodes"]:
            inside.append(frames[node.get("frame", 0)] or inside[node.get("parent", 0)])
        samples = profile["samples"]
        return sum(int(ns) for ns, node, state in zip(samples["weight_ns"], samples["node"], samples["state"])
                   if inside[node] and state == of_state) / 1e9

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

    def test_names_are_kept_of_what_is_changed_before_it_has_any(self):
        second = self.compile(PLUGIN, "second.so", "-shared", "-fPIC", "-DNAME=work_of_the_second")
        changing = self.compile(CHANGING, "changing", "-ldl")
        out = self.path("out.json")
        self.start()
        for change in ("rewrite", "replace", "remove"):
            with self.subTest(change):
                plugin = self.compile(WAITING, change + ".so", "-shared", "-fPIC")
                said = self.profctl("collect", "-q", "-F", "499", "-o", out, "--", changing, plugin, second, change,
                                    str(SECONDS))
                self.assertEqual(said.returncode, 0, said.stderr)
                with open(out, encoding="utf-8") as file:
                    profile = json.load(file)["profile"]
                self.assertGreater(self.seconds_in(profile, "wait_of_the_first", "STATE_BLOCKED"), 0.9 * SECONDS)


if __name__ == "__main__":
    unittest.main()
