"""profd under a real systemd: readiness, rights, limits, journal, reload, watchdog, socket activation and the end."""

import json
import os
import re
import unittest

from packaged_profd import SOCKET, PackagedProfd

UNITS = os.path.join(os.environ["PROFD_SOURCE_DIR"], "deploy/systemd")
DROP_IN = "/run/systemd/system/profd.service.d"
ERROR, INFO = 3, 6
# Numbers of linux/capability.h.
CAPABILITIES = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYSLOG": 34, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
# Stops one thread of a process (PTRACE_SEIZE, PTRACE_INTERRUPT) until it is killed; the others run on.
FREEZE = r"""
my $thread = shift;
for my $request (0x4206, 0x4207) { syscall(101, $request, $thread + 0, 0, 0) == 0 or die "ptrace: $!\n"; }
my $stopped = waitpid($thread, 0x40000000);
open(my $file, ">", "/share/frozen") or die; print $file "$stopped\n"; close $file;
waitpid($thread, 0x40000000);
"""


def of_unit(name, pattern):
    """What an installed unit says at the beginning of a line."""
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        return re.search(rf"(?m)^{pattern}(.*)$", file.read()).group(1)


class Service(PackagedProfd):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        installed = cls.guest.run(f"dpkg -i {cls.package}")
        if installed.status != 0:
            raise AssertionError(installed.output)

    def setUp(self):
        self.configure("")
        self.do("systemctl stop profd.socket; systemctl start profd.service")
        self.pid = self.show("MainPID")
        self.begin = self.journal_end()

    def test_is_ready_when_it_says_so(self):
        self.assertEqual([self.show(name) for name in ("Type", "ActiveState", "SubState", "Result", "StatusText")],
                         ["notify", "active", "running", "success", f"serving at unix://{SOCKET}"])
        self.assertIn("profd ", self.do("profctl status"))

    def test_limits_are_those_of_the_unit(self):
        memory = int(of_unit("profd.service", "MemoryMax=").removesuffix("M")) << 20
        percent = int(of_unit("profd.service", "CPUQuota=").removesuffix("%"))
        self.assertEqual(self.show("MemoryMax"), str(memory))
        self.assertEqual(self.show("CPUQuotaPerSecUSec"), "1s" if percent == 100 else f"{percent * 10}ms")
        cgroup = "/sys/fs/cgroup" + self.show("ControlGroup")
        self.assertEqual(self.do(f"cat {cgroup}/memory.max"), str(memory))
        quota, period = map(int, self.do(f"cat {cgroup}/cpu.max").split())
        self.assertEqual(quota * 100, percent * period)

    def test_is_confined(self):
        status = dict(re.findall(r"(?m)^(\w+):\s+(\S+)", self.do(f"cat /proc/{self.pid}/status")))
        wanted = sum(1 << number for number in CAPABILITIES.values())
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[kind], 16), wanted, kind)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        self.assertEqual(status["Uid"], self.do("id -u profd"))
        # What ProtectSystem and PrivateTmp leave to it.
        self.assertEqual(self.ask(f"nsenter -m -t {self.pid} touch /usr/x").status, 1)
        self.do(f"nsenter -m -t {self.pid} touch /tmp/x /var/lib/profd/x; test ! -e /tmp/x; rm /var/lib/profd/x")

    def test_keeps_a_history_as_it_is_installed(self):
        self.await_history()
        # Others of its files come and go while they are listed.
        self.assertIn("/var/lib/profd/history.db", self.ask(f"ls -l /proc/{self.pid}/fd").output)

    def test_sees_the_whole_host(self):
        self.do("profctl collect -a -d 2s -o /share/x.json")
        profile = json.loads(self.guest.read("x.json"))["profile"]
        self.assertTrue(profile["samples"]["node"])
        self.assertIn("systemd", [process.get("comm") for process in profile["processes"]])
        # What the unit must not keep from it: the names of the kernel's functions, and perf events.
        self.assertIn("do_syscall_64", [frame.get("name") for frame in profile["frames"]])
        self.assertIn("finish_task_switch", profile["hook"])
        checks = {one["check"]: one for one in json.loads(self.ask("profctl doctor --json").output)["checks"]}
        self.assertEqual((checks["rights"]["verdict"], checks["kernel names"]["verdict"]), ("ok", "ok"), checks)

    def test_lets_in_its_group(self):
        self.assertEqual(self.do(f"stat -c '%U:%G %a' {SOCKET}"), "profd:profd 660")
        user = "setpriv --reuid=4200 --regid=4200"
        self.do(f"{user} --groups=$(id -g profd) profctl status")
        stranger = self.ask(f"{user} --clear-groups profctl status")
        self.assertEqual(stranger.status, 5, stranger.output)
        self.assertIn("permission denied", stranger.output.lower())

    def test_takes_over_a_right_configuration(self):
        self.configure('log_level = "debug"\n')
        self.do("systemctl reload profd")
        self.await_journal(self.begin, "log_level is now 'debug', was 'info'")
        self.assertEqual(self.show("MainPID"), self.pid)

    def test_refuses_a_wrong_configuration_and_goes_on(self):
        self.configure('log_levle = "debug"\n')
        self.assertEqual(self.ask("systemctl reload profd").status, 1)
        self.do("systemctl kill --kill-who=main -s HUP profd")
        self.await_journal(self.begin, "profd goes on with the one it had")
        self.assertIn("the configuration on disk is wrong", self.show("StatusText"))
        self.assertEqual((self.show("ActiveState"), self.show("MainPID")), ("active", self.pid))
        self.do("profctl status")

    def test_its_messages_have_levels(self):
        self.configure('log_levle = "debug"\n')
        self.do("systemctl kill --kill-who=main -s HUP profd")
        self.await_journal(self.begin, "profd goes on with the one it had")
        self.configure("")
        self.do("systemctl reload profd")
        self.await_journal(self.begin, "configuration read again")
        lines = self.do(f"journalctl -o json _PID={self.pid} --after-cursor='{self.begin}'").splitlines()
        levels = {entry["MESSAGE"]: int(entry["PRIORITY"]) for entry in map(json.loads, lines)}
        self.assertEqual(levels["the configuration is wrong; profd goes on with the one it had"], ERROR, levels)
        self.assertEqual(levels["configuration read again: nothing changed"], INFO, levels)
        self.assertEqual([message for message in levels if message.startswith("<")], [])

    def test_a_pipeline_that_is_stuck_is_started_again(self):
        self.addCleanup(self.do, f"rm -r {DROP_IN}; systemctl daemon-reload")
        self.do(f"mkdir -p {DROP_IN}; printf '[Service]\nWatchdogSec=20\n' > {DROP_IN}/watchdog.conf\n"
                "systemctl daemon-reload; systemctl restart profd")
        pid, restarts = self.show("MainPID"), int(self.show("NRestarts"))
        thread = self.do(f"grep -l -x profd-worker /proc/{pid}/task/*/comm").split("/")[4]
        begin = self.journal_end()
        self.do(f"cat > /share/freeze <<'END'\n{FREEZE}\nEND\n"
                f"perl /share/freeze {thread} & until [ -s /share/frozen ]; do :; done")
        self.assertEqual(self.guest.read("frozen").strip(), thread)
        self.await_journal(begin, "Watchdog timeout")
        self.await_journal(begin, "Started profd.service")
        self.assertIn("Failed with result 'watchdog'", self.journal(begin))
        self.assertGreater(int(self.show("NRestarts")), restarts)
        self.assertNotEqual(self.show("MainPID"), pid)
        self.do("profctl status")

    def test_begins_when_someone_connects(self):
        self.addCleanup(self.do, "systemctl disable --now profd.socket; systemctl stop profd.service")
        # As its comment says.
        self.do("systemctl" + of_unit("profd.socket", "#   systemctl"))
        self.assertEqual(self.states(), ("inactive", "active"))
        self.assertEqual(self.do(f"stat -c '%U:%G %a' {SOCKET}"), "profd:profd 660")
        self.await_answer()
        self.assertEqual(self.states(), ("active", "active"))
        # It outlives the service, and who connects is served by the next one.
        inode = self.do(f"stat -c %i {SOCKET}")
        self.do("systemctl stop profd.service 2>&1")
        self.assertEqual(self.do(f"stat -c %i {SOCKET}"), inode)
        self.await_answer()
        self.assertEqual(self.states(), ("active", "active"))

    def await_answer(self):
        """profctl ends after some seconds without an answer, and emulation is slow: profd is there by the second time."""
        begin = self.journal_end()
        self.ask("profctl status")
        self.await_journal(begin, "Started profd.service")
        self.do("profctl status")

    def test_ends_in_time_and_sessions_keep_what_they_have(self):
        self.do("profctl collect -v -p 1 -d 1h -o /share/y.json 2>/share/collecting & echo $! > /run/collect\n"
                "until grep -q collecting /share/collecting; do kill -0 $! || exit; done")
        self.do("systemctl stop profd")
        # Not "timeout", nor a signal: an end of its own.
        self.assertEqual([self.show(name) for name in ("ActiveState", "Result", "ExecMainStatus")],
                         ["inactive", "success", "0"])
        self.assertNotIn("timed out", self.journal(self.begin))
        self.do("tail --pid=$(cat /run/collect) -f /dev/null")
        self.assertTrue(json.loads(self.guest.read("y.json"))["profile"]["samples"]["node"])


if __name__ == "__main__":
    unittest.main()
