"""scripts/vm where there is no qemu."""

import os
import subprocess
import tempfile
import unittest

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


if __name__ == "__main__":
    unittest.main()
