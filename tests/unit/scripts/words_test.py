"""scripts/checks/words: what it must find, and what is no finding."""

from small_tree import SmallTreeTest


class Words(SmallTreeTest):
    def test_good(self):
        self.write("a.cc", '// see /proc/self/maps, $HOME/work/x, build/work/y and ${root}/root/z\n'
                           'const char* kPath = "/usr/lib/debug/root";\n')
        self.write("tests/data/maps", "7f00-7f01 r-xp 0 08:01 5 /root/bin/x\n")
        self.write("b.cc", '// as was asked for: the user `nobody`, a foretold insight\n'
                           'const auto* user = ::getpwnam("nobody");\n')
        self.write("c.cc", "int recommended_untold_size = 0;  // parts of names are whole words\nvoid AmendTheRule();\n")
        self.assert_passes("words")

    def test_retired_words_may_be_quoted_where_they_are_replaced(self):
        self.write("CONTRIBUTING.md", "| the period in force | the effective period |\n")
        self.assert_passes("words")

    def test_bad(self):
        for text, why in (("cd /work/main\n", "one machine"), ('"/home/anna/profd"\n', "one machine"),
                          ("cp /root/x .\n", "one machine"), ("https://registry.npmjs.org/x\n", "registry"),
                          ("http://deb.debian.org/debian\n", "registry"), ("// TODO: later\n", "put off"),
                          ("// FIXME\n", "put off"), ("as issue 12 says\n", "discussed"),
                          ("// by the kernel's own books\n", "kernel accounting"),
                          ("// The period in force.\n", "effective"), ("// a Stretch of code\n", "chunk"),
                          ("// What is told once.\n", "reported"), ("// A clock tells it.\n", "reported"),
                          ("// Nobody waits.\n", "name the actor"), ('<< "nobody waits"\n', "name the actor"),
                          ("// of somebody else\n", "name the actor"), ("// whoever reads\n", "name the actor"),
                          ("// when it is asked\n", "requested"), ("// made anew\n", "again"),
                          ("// the frame at hand\n", "current"), ("// It goes by the path.\n", "use"),
                          ("// wholly theirs\n", "exclusively"), ("// likewise\n", "say it again"),
                          ("// out of sight\n", "visible"), ("// the hook ladder\n", "levels"),
                          ("// what is mended\n", "fix"), ("// It moves seldom.\n", "rarely"),
                          ("void TellCallers();\n", "in a name"), ("TEST(A, WhatIsAskedFor) {}\n", "in a name"),
                          ("int asked_bytes = 0;\n", "in a name"), ("// the kernel side\n", "BPF side"), ("// the user side\n", "user space")):
            with self.subTest(text):
                self.write("daemon/a.cc", "int a;\n" + text)
                self.assert_finds("words", "daemon/a.cc:2", why)
