// RunningDaemonTest: a profd that serves at a socket of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/profctl.h"

namespace profd::e2e {

class RunningDaemonTest : public ProfctlTest {
 protected:
  void SetUp() override {
    ProfctlTest::SetUp();
    host_ = "unix:" + File("profd.sock");
  }
  // Returns when it serves: `profctl status` answers.
  [[nodiscard]] std::optional<testing::Subprocess> StartDaemon(
      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {Binary("profd"), "--listen", host_};
    command.insert(command.end(), more.begin(), more.end());
    auto daemon = testing::Subprocess::Start(command, options_);
    EXPECT_TRUE(daemon.ok());
    if (!daemon) return std::nullopt;
    const auto serving = daemon->WaitForStderr("serving");
    EXPECT_TRUE(serving.ok()) << (serving ? "" : serving.error().message);
    return std::optional<testing::Subprocess>(std::move(*daemon));
  }
  // What it has said.
  static std::string Stop(testing::Subprocess& daemon) {
    daemon.Signal(SIGTERM);
    auto outcome = daemon.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return std::move(outcome.err);
  }

  std::string host_;
};

}  // namespace profd::e2e
