"""scripts/checks/typescript: scripts with sound types, and such with a wrong one."""

import shutil
import unittest

from small_tree import SmallTreeTest

CONFIGURATION = '{"compilerOptions": {"strict": true, "noEmit": true, "target": "es2020"}, "include": ["*.ts"]}\n'


@unittest.skipUnless(shutil.which("tsc"), "tsc is not installed")
class Typescript(SmallTreeTest):
    def test_good(self):
        self.write("client/web/page/tsconfig.json", CONFIGURATION)
        self.write("client/web/page/a.ts", "export const one: number = 1;\n")
        self.assert_passes("typescript")

    def test_wrong_type(self):
        self.write("client/web/page/tsconfig.json", CONFIGURATION)
        self.write("client/web/page/a.ts", "\nexport const one: number = \"1\";\n")
        self.assert_finds("typescript", "client/web/page/a.ts:2", "not assignable")

    def test_a_check_that_sees_nothing_fails(self):
        self.write("client/web/README.md")
        self.assert_finds("typescript", "client/web/page:1", "saw nothing")


if __name__ == "__main__":
    unittest.main()
