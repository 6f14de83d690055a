#include "client/system/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace profd::client {
namespace {

// Waits for what the handler was called with.
class Heard {
 public:
  void Add(int signal, bool from_terminal) {
    const std::scoped_lock lock(mutex_);
    signals_.push_back(signal);
    from_terminal_ = from_terminal_ || from_terminal;
    changed_.notify_all();
  }
  std::vector<int> WaitFor(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return signals_.size() >= count; });
    return signals_;
  }
  bool from_terminal() {
    const std::scoped_lock lock(mutex_);
    return from_terminal_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> signals_;
  bool from_terminal_ = false;
};

class StopSignalsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGXFSZ, SIG_DFL);
    ::signal(SIGHUP, SIG_DFL);
  }
  void SetUp() override { ::sigprocmask(SIG_SETMASK, nullptr, &before_); }

  sigset_t before_{};
};

TEST_F(StopSignalsTest, EachIsACall) {
  Heard heard;
  const auto signals = StopSignals::Block();
  ASSERT_TRUE(signals);
  (*signals)->Handle([&](int signal, bool from_terminal) { heard.Add(signal, from_terminal); });
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(heard.WaitFor(1), (std::vector<int>{SIGINT}));
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(heard.WaitFor(2), (std::vector<int>{SIGINT, SIGTERM}));
  ::kill(::getpid(), SIGHUP);
  EXPECT_EQ(heard.WaitFor(3).back(), SIGHUP);
  EXPECT_FALSE(heard.from_terminal());
}

TEST_F(StopSignalsTest, WhatCameBeforeIsNotLost) {
  Heard heard;
  const auto signals = StopSignals::Block();
  ASSERT_TRUE(signals);
  ::kill(::getpid(), SIGINT);
  (*signals)->Handle([&](int signal, bool from_terminal) { heard.Add(signal, from_terminal); });
  EXPECT_EQ(heard.WaitFor(1).size(), 1u);
}

TEST_F(StopSignalsTest, NohupIsRespected) {
  ::signal(SIGHUP, SIG_IGN);
  Heard heard;
  const auto signals = StopSignals::Block();
  ASSERT_TRUE(signals);
  (*signals)->Handle([&](int signal, bool from_terminal) { heard.Add(signal, from_terminal); });
  ::kill(::getpid(), SIGHUP);
  ::kill(::getpid(), SIGINT);
  EXPECT_EQ(heard.WaitFor(1), (std::vector<int>{SIGINT}));
}

TEST_F(StopSignalsTest, TheOldMaskIsKeptForChildren) {
  const auto signals = StopSignals::Block();
  ASSERT_TRUE(signals);
  EXPECT_EQ(::sigismember(&(*signals)->original_mask(), SIGINT), 0);
  sigset_t now;
  ::sigprocmask(SIG_SETMASK, nullptr, &now);
  EXPECT_EQ(::sigismember(&now, SIGINT), 1);
}

}  // namespace
}  // namespace profd::client
