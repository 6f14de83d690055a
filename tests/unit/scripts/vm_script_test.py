"""scripts/vm: where there is no qemu; which packages have a kernel."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["PROFD_SOURCE_DIR"], "scripts/vm.d"))

import kernel_package  # noqa: E402

VM = os.path.join(os.environ["PROFD_SOURCE_DIR"], "scripts/vm")


class Vm(unittest.TestCase):
    def test_without_qemu_it_is_skipped_by_name_and_nothing_is_fetched(self):
        for more in ([], ["--debian", "profd.deb"]):
            with self.subTest(more), tempfile.TemporaryDirectory() as cache:
                done = subprocess.run([VM, "6.1", *more, "--", "true"], capture_output=True, text=True, check=False,
                                      env={"PATH": "/nonexistent", "XDG_CACHE_HOME": cache})
                self.assertEqual(done.stderr, "")
                self.assertEqual(done.stdout, "SKIPPED: no kernel 6.1 under qemu here: "
                                              "qemu-system-x86_64 is not installed\n")
                self.assertEqual(done.returncode, 77)
                self.assertEqual(os.listdir(cache), [])


class KernelPackages(unittest.TestCase):
    def test_newest_plain_release_of_a_version(self):
        names = [f"linux-image-{name}" for name in (
            "amd64", "6.1.0-9-amd64", "6.1.0-50-amd64", "6.1.0-50-cloud-amd64", "6.1.0-51-amd64-unsigned",
            "6.1.0-50-amd64-dbg", "6.12.43+deb12-amd64", "7.3.4+deb13-amd64", "7.3.10+deb13-amd64", "7.3.11+deb13-rt-amd64")]
        self.assertEqual(kernel_package.newest_release("6.1", names), "6.1.0-50-amd64")
        self.assertEqual(kernel_package.newest_release("6.12", names), "6.12.43+deb12-amd64")
        self.assertEqual(kernel_package.newest_release("7.3", names), "7.3.10+deb13-amd64")
        self.assertIsNone(kernel_package.newest_release("7.2", names))

    def test_kernel_and_modules_have_packages_of_their_own_since_7_0(self):
        new, old = "7.3.4+deb13-amd64", "6.12.43+deb13-amd64"
        self.assertEqual(
            kernel_package.packages_with_files(
                new, f"Package: linux-image-{new}\nDepends: kmod, linux-binary-{new} (= 7.3.4-1), linux-modules-{new}\n"),
            [f"linux-binary-{new}", f"linux-modules-{new}"])
        self.assertEqual(
            kernel_package.packages_with_files(old, f"Package: linux-image-{old}\nDepends: kmod, linux-base (>= 4.3~)\n"),
            [f"linux-image-{old}"])


if __name__ == "__main__":
    unittest.main()
