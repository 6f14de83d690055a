"""What a user gets at the public socket of a real profd that sees all kinds of other users' processes.

Whatever belongs to others has the word "secret" in its name, its path, its arguments and its functions; whatever the
user owns has not. So the word must be in no answer, and in no error."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from running_profd import PROFCTL, RunningProfd, as_user  # noqa: E402

# No user of the host has these ids.
ALICE = 4_200_600
BOB = 4_200_610
CONTAINER = 4_200_620  # to whom a container's root is mapped
PUPPET = r"""
#include <stdio.h>
#include <unistd.h>
#include <sys/prctl.h>
static volatile unsigned long count;
__attribute__((noinline)) void NAME(void) {
  for (int i = 0; i < 3000000; i++) ++count;
#ifdef WRITES
  if (write(9, "x", 1) != 1) _exit(1);
#endif
  usleep(1000);
}
int main(int argc, char** argv) {
#ifdef BECOME
  puts("ready"); fflush(stdout);
  while (access(argv[1], F_OK) != 0) NAME();
  if (setresgid(BECOME, BECOME, BECOME) != 0 || setresuid(BECOME, BECOME, BECOME) != 0) return 1;
  execv(argv[2], &argv[2]);
  return 1;
#endif
  puts("ready"); fflush(stdout);
  for (;;) NAME();
}
"""


def of_container(uid, *command):
    """Root in namespaces of its own, who is `uid` outside."""
    return [*as_user(uid), "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child",
            "--mount-proc", *command]


def namespaces_are_forbidden():
    return subprocess.run(of_container(CONTAINER, "true"), capture_output=True, check=False).returncode != 0


@unittest.skipIf(shutil.which("setpriv") is None, "setpriv is not installed")
@unittest.skipIf(shutil.which("cc") is None, "no C compiler is installed")
@unittest.skipIf(os.geteuid() == 0 and namespaces_are_forbidden(), "this kernel forbids user namespaces to users")
class Access(RunningProfd):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.profctl_of_all = shutil.copy(PROFCTL, self.folder)
        self.public = "unix:" + self.path("public.sock")
        for name, owner in (("alice", ALICE), ("secret", BOB)):
            os.mkdir(self.path(name))
            os.chown(self.path(name), owner, owner)
        self.own = self.build("alice/own", "own_work", ALICE)
        self.foreign = []  # pids

    def build(self, path, function, owner, mode=0o755, *flags):
        made = self.path(path)
        subprocess.run(["cc", "-g", "-O1", "-D_GNU_SOURCE", f"-DNAME={function}", *flags, "-x", "c", "-o", made, "-"], input=PUPPET,
                       text=True, check=True, cwd=self.folder)
        os.chown(made, owner, owner)
        os.chmod(made, mode)
        return made

    def run_puppet(self, *command):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/")
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(self.kill_all_of, process.pid)
        self.assertEqual(process.stdout.readline(), "ready\n", command)
        return process.pid

    def kill_all_of(self, pid):
        """Another user's process is not killed with its parent."""
        for one in reversed(self.descendants(pid)):
            os.kill(one, signal.SIGKILL)

    @staticmethod
    def descendants(pid):
        """The process and those that it has made; unshare makes one."""
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [pid, *(one for child in file.read().split() for one in Access.descendants(int(child)))]

    def run_foreign(self, *command):
        self.foreign += self.descendants(self.run_puppet(*command))

    def run_all_kinds(self):
        secret = self.build("secret/secret_program", "secret_work", BOB)
        self.run_foreign(secret, "secret_argument")  # root's
        self.run_foreign(*as_user(BOB), secret, "secret_argument")
        # The path is one of Alice's, and means another file there.
        self.run_foreign("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                         f'mount --bind "{secret}" "{self.own}" && exec "$@"', "sh", *as_user(BOB), self.own,
                         "secret_argument")
        self.run_foreign(*of_container(CONTAINER, secret, "secret_argument"))
        # Alice's programs, but not her processes.
        lent = self.build("alice/lent", "secret_lent", ALICE)
        self.run_foreign(*as_user(BOB), lent, "secret_argument")
        self.build("alice/setuid", "secret_setuid", ALICE, 0o4755)
        self.run_foreign("setpriv", f"--reuid={BOB}", f"--regid={BOB}", "--clear-groups", self.path("alice/setuid"),
                         "secret_argument")
        # What she starts and then does not own alone.
        self.build("secret/secret_setuid", "secret_setuid", BOB, 0o4755)
        self.run_foreign("setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups",
                         self.path("secret/secret_setuid"), "secret_argument")
        # One file with two names.
        self.shared = self.build("alice/shared", "shared_work", ALICE)
        os.link(self.shared, self.path("secret/secret_shared"))
        self.run_foreign(*as_user(BOB), self.path("secret/secret_shared"), "secret_argument")

    def call(self, before, host, *arguments):
        return subprocess.run([*before, self.profctl_of_all, arguments[0], "--host", host, *arguments[1:]],
                              capture_output=True, text=True, check=False, cwd="/")

    def as_root(self, *arguments):
        return self.call([], self.address, *arguments)

    def as_alice(self, *arguments, before=None):
        """What she is answered; it never has what is not hers."""
        said = self.call(as_user(ALICE) if before is None else before, self.public, *arguments)
        self.assertNotIn("secret", said.stdout + said.stderr, arguments)
        return said

    @staticmethod
    def pids(text):
        """A group of short-lived processes has none."""
        return {process["pid"] for process in json.loads(text)["profile"]["processes"] if "group_size" not in process}

    def collected(self, call, *target):
        return call("collect", "-q", *(target or ("-a",)), "-d", "300ms", "-f", "json", "-o", "-")

    def collected_with(self, words, call, *target):
        """A collection that has all the words: a name can be late, since readers read the files."""
        def whole():
            said = self.collected(call, *target)
            self.assertEqual(said.returncode, 0, said.stderr)
            return all(word in said.stdout for word in words) and said.stdout

        return self.await_true(whole, f"a collection with {words}")

    def query(self, call, *filters):
        return call("query", "-q", *filters, "-f", "json", "-o", "-")

    def kept(self):
        """The whole history, or "" as long as there is none."""
        return self.call([], self.address, "query", "-q", "-f", "json", "-o", "-").stdout

    def test_nothing_of_others_is_in_any_answer(self):
        self.start("--public-socket", self.public, "--history-directory", self.path("history"), "--history-window", "1s")
        self.run_all_kinds()
        # The first collection makes profd read the files; so what it remembers has the paths of others.
        everything = self.collected_with(
            ("secret_work", "secret_lent", "secret_setuid", "secret_argument", "secret/secret_shared"), self.as_root,
            *(word for pid in self.foreign for word in ("-p", str(pid))))
        self.assertLessEqual(set(self.foreign), self.pids(everything))
        own = {self.run_puppet(*as_user(ALICE), self.own), self.run_puppet(*as_user(ALICE), self.shared)}
        contained = self.run_puppet(*of_container(ALICE, self.own))
        inside = self.descendants(contained)[-1]

        seen = self.pids(self.collected_with(("own_work", "shared_work", self.shared), self.as_alice))
        self.assertLessEqual(own | {inside}, seen)
        self.assertFalse(set(self.foreign) & seen)
        for pid in self.foreign:
            with self.subTest(pid=pid):
                self.assertEqual(self.collected(self.as_alice, "-p", str(pid)).returncode, 5)
                self.assertEqual(self.as_alice("dump", "-p", str(pid)).returncode, 5)
                self.assertEqual(self.collected(self.as_alice, "-t", str(pid)).returncode, 5)
        # One that does not exist is answered like one of others.
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            missing = int(file.read()) - 1
        said = [self.as_alice("dump", "-p", str(pid)).stderr.replace(str(pid), "PID") for pid in (self.foreign[0], missing)]
        self.assertEqual(said[0], said[1])
        for arguments in (["status"], ["status", "--json"], ["dump", "-p", str(min(own))], ["list"], ["list", "--json"],
                          ["symbols", "-p", str(min(own))]):
            self.as_alice(*arguments)

        def has_all():
            kept = self.kept()
            return "secret_work" in kept and "shared_work" in kept and set(self.foreign) | own <= self.pids(kept)

        self.await_true(has_all, "the history has all processes")
        said = self.query(self.as_alice)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertTrue(own & self.pids(said.stdout))
        self.assertFalse(set(self.foreign) & self.pids(said.stdout))
        for filters in (["--user", "root"], ["--user", str(BOB)], ["--pid", str(self.foreign[0])], ["--unit", "x"]):
            self.query(self.as_alice, *filters)

    def test_the_root_of_a_container_is_an_ordinary_user(self):
        self.start("--public-socket", self.public)
        secret = self.build("secret/secret_program", "secret_work", BOB)
        self.run_foreign(secret)
        self.run_puppet(*of_container(CONTAINER, self.own))
        caller = of_container(CONTAINER)
        said = self.collected_with(("own_work",), lambda *arguments: self.as_alice(*arguments, before=caller))
        self.assertEqual({process["uid"] for process in json.loads(said)["profile"]["processes"]}, {CONTAINER})
        # At the main socket it is an ordinary user, too, although it calls itself root.
        os.chmod(self.path("profd.sock"), 0o666)
        said = self.call(caller, self.address, "status")
        self.assertEqual(said.returncode, 5, said.stdout)
        self.assertIn(f"not for uid {CONTAINER}", said.stderr)

    def test_what_a_process_did_before_it_was_theirs(self):
        self.start("--public-socket", self.public, "--history-directory", self.path("history"), "--history-window", "1s",
                   "--history-compact", "3s")
        login = self.build("secret/secret_login", "secret_work", 0, 0o755, f"-DBECOME={ALICE}")
        pid = self.run_puppet(login, self.path("go"), self.own)
        self.await_true(lambda: "secret_work" in self.kept(), "the history has the time before")
        with open(self.path("go"), "w", encoding="ascii"):
            pass

        def is_hers():
            said = self.query(self.as_alice)
            return said.returncode == 0 and pid in self.pids(said.stdout) and "own_work" in said.stdout

        self.await_true(is_hers, "the history has the time since it is hers")
        # Windows that are folded into one have both.
        folded = self.kept()
        self.assertIn("secret_work", folded)
        self.assertIn("own_work", folded)

    def test_who_ends_waits_is_another_user(self):
        self.start("--public-socket", self.public)
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        os.chmod(pipe, 0o666)
        # It is woken every few ms, and all its waits are ended by a process that is not Alice's.
        reader = subprocess.Popen([*as_user(ALICE), "cat", pipe], stdout=subprocess.DEVNULL, cwd="/")
        self.addCleanup(reader.wait)
        self.addCleanup(reader.kill)
        writer = self.build("secret/secret_writer", "secret_work", BOB, 0o755, "-DWRITES")
        self.run_foreign(*as_user(BOB), "sh", "-c", 'exec 9>"$1"; exec "$2"', "sh", pipe, writer)
        arguments = ("collect", "-q", "-p", str(reader.pid), "-d", "1s", "-f", "json", "-o", "-")
        said = json.loads(self.as_alice(*arguments).stdout)["profile"]
        kinds = {path["kind"] for path in said["paths"]}
        self.assertIn("PATH_OTHER_USER", kinds)
        self.assertNotIn("path_threads", said)
        whole = self.as_root(*arguments).stdout
        self.assertIn("secret_writer", {thread["comm"] for thread in json.loads(whole)["profile"]["path_threads"]})
        self.assertIn("secret_work", whole)

    def test_history_and_main_socket_cannot_be_opened(self):
        self.start("--public-socket", self.public, "--history-directory", self.path("history"))
        self.assertEqual(stat.S_IMODE(os.stat(self.path("history")).st_mode), 0o700)
        said = self.call(as_user(ALICE), self.address, "status")
        self.assertEqual(said.returncode, 5, said.stdout)


if __name__ == "__main__":
    unittest.main()
