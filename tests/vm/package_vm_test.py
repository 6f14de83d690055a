"""The life of the Debian package under systemd: install, upgrade, removal and purge while profd runs."""

import unittest

from packaged_profd import CONFIG, SOCKET, PackagedProfd

HISTORY = '[history]\ndirectory = "/var/lib/profd"\nwindow = "1s"\nfrequency = 1\n'


class Package(PackagedProfd):
    def setUp(self):
        self.addCleanup(self.ask, "dpkg --purge profd")
        self.said = self.do(f"dpkg -i {self.package}")

    def files(self):
        """What the package has brought, without folders."""
        return self.do('dpkg -L profd | while read -r one; do [ -d "$one" ] || echo "$one"; done').splitlines()

    def there(self, paths):
        return [path for path in paths if self.ask(f"test -e '{path}'").status == 0]

    def test_installed_it_runs(self):
        # dpkg has refused it if a dependency is missing, the loader if one is not named: the image has no others.
        self.assertEqual(self.do("dpkg-query -W -f '${db:Status-Status}' profd"), "installed")
        self.assertNotIn("not found", self.do("ldd /usr/bin/profd /usr/bin/profctl"))
        self.assertEqual(self.states(), ("active", "inactive"))
        self.assertEqual(self.do("systemctl is-enabled profd.service"), "enabled")
        self.assertEqual(self.ask("systemctl is-enabled profd.socket").output.strip(), "disabled")
        self.assertIn("profd", self.do("getent passwd profd").split(":")[0])
        self.assertEqual(self.do(f"stat -c '%U:%G %a' /var/lib/profd {SOCKET} {CONFIG}").splitlines(),
                         ["profd:profd 750", "profd:profd 660", "root:root 644"])
        self.assertIn("profd ", self.do("profctl status"))
        self.assertEqual(self.there(self.files()), self.files())
        self.assertEqual(self.do("systemctl --failed --no-legend --plain"), "")

    def test_upgrade_goes_on_with_configuration_and_history(self):
        self.configure(HISTORY)
        self.do("systemctl restart profd")
        self.await_history()
        before = self.show("MainPID")
        kept = self.do("stat -c %i /var/lib/profd/history.db")
        now = int(self.do("date +%s"))
        self.do(f"dpkg -i {self.later}")
        self.assertTrue(self.do("dpkg-query -W -f '${Version}' profd").endswith("+later"))
        self.assertEqual(self.states()[0], "active")
        after = self.show("MainPID")
        self.assertNotEqual(after, before)
        # The new file, not the one that was replaced.
        self.assertEqual(self.do(f"readlink /proc/{after}/exe"), "/usr/bin/profd")
        self.assertEqual(self.do(f"cat {CONFIG}"), HISTORY.strip())
        self.assertEqual(self.do("stat -c %i /var/lib/profd/history.db"), kept)
        # What was there before the upgrade.
        self.do(f'profctl list --from "$(date -d @{now - 3600} "+%F %T")" --to "$(date -d @{now} "+%F %T")"')
        self.assertEqual(self.show("Result"), "success")

    def test_upgrade_begins_nothing_that_was_stopped(self):
        self.do("systemctl stop profd")
        self.do(f"dpkg -i {self.later}")
        self.assertEqual(self.states()[0], "inactive")

    def test_removal_ends_it_and_leaves_what_is_the_operators(self):
        self.configure(HISTORY)
        self.do("systemctl restart profd")
        self.await_history()
        pid, files = self.show("MainPID"), self.files()
        self.do("dpkg --remove profd")
        self.assertEqual(self.there([f"/proc/{pid}", *files]), [CONFIG])
        self.assertEqual(self.ask("systemctl start profd.service").status, 1)
        self.assertEqual(self.there(["/var/lib/profd/history.db"]), ["/var/lib/profd/history.db"])
        self.assertEqual(self.do("systemctl --failed --no-legend --plain"), "")

        # Installed again it runs again, with all of that.
        self.do(f"dpkg -i {self.package}")
        self.assertEqual(self.states()[0], "active")
        self.assertEqual(self.do("systemctl is-enabled profd.service"), "enabled")
        self.assertEqual(self.do(f"cat {CONFIG}"), HISTORY.strip())

    def test_purge_while_it_runs_leaves_nothing(self):
        self.configure(HISTORY)
        self.do("systemctl restart profd")
        self.await_history()
        pid, files = self.show("MainPID"), self.files()
        self.do("dpkg --purge profd")
        self.assertEqual(self.there([f"/proc/{pid}", *files, "/etc/profd", "/var/lib/profd", "/run/profd"]), [])
        self.assertEqual(self.do("find /etc/systemd /run/systemd/system /var/lib/systemd -name '*profd*'"), "")
        self.assertEqual(self.show("LoadState"), "not-found")
        self.assertEqual(self.ask("dpkg-query -W profd").status, 1)


if __name__ == "__main__":
    unittest.main()
