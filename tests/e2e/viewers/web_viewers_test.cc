// The page as a file, and as profctl web serves it.
#include <signal.h>
#include <unistd.h>

#include "tests/e2e/viewers/in_chromium.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_folder.h"

namespace profd::testing {
namespace {

TEST_F(InChromium, ThePageHasTheNumbersOfTheReport) { RunChecks("html.test.mjs"); }

TEST_F(InChromium, TheServedPageHasTheNumbersOfTheReport) { RunChecks("web.test.mjs"); }

TEST_F(InChromium, TheServedPageShowsTheHistoryAndWhatRuns) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: real BPF programs are loaded";
  const test::TempFolder folder;
  const std::string host = "unix:" + folder.Path("profd.sock");
  auto daemon = Subprocess::Start({test::BinaryDirectory() + "/bin/profd", "--listen", host,
                                   "--history-directory", folder.Path("history"),
                                   "--history-window", "2s", "--history-compact", "0s"});
  ASSERT_TRUE(daemon) << daemon.error().message;
  const auto serving = daemon->WaitForStderr("serving");
  ASSERT_TRUE(serving) << serving.error().message;
  // It is seen in the strip by its name, and live.
  const auto spins = Subprocess::Start({folder.Link("web-spins", "/usr/bin/python3"), "-c",
                                        "def turning():\n  while True: pass\nturning()"});
  ASSERT_TRUE(spins) << spins.error().message;
  RunChecks("web_host.test.mjs", host);
  daemon->Signal(SIGTERM);
  const Outcome ended = daemon->Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

}  // namespace
}  // namespace profd::testing
