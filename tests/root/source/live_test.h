// LiveTest: the fixture of tests that need the BPF side.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "tests/root/source/live_source.h"
#include "tests/root/source/puppet.h"

namespace profd::source {

// One source for all tests of a suite: loading takes a while under emulation.
class LiveTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (::geteuid() != 0) return;
    auto live = LiveSource::Start();
    ASSERT_TRUE(live) << live.error().message << "\n" << live.error().hint;
    live_ = *std::move(live);
  }
  static void TearDownTestSuite() { live_.reset(); }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_TRUE(live_);
  }

  static session::SessionSpec SpecOf(const std::string& target) {
    session::SessionSpec spec;
    auto parsed = session::ParseTarget(target);
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (parsed) spec.target = *std::move(parsed);
    return spec;
  }
  static session::SessionSpec SpecOf(const Puppet& puppet, const std::string& flags = "") {
    return SpecOf("pid " + std::to_string(puppet.pid()) + flags);
  }

  static inline std::unique_ptr<LiveSource> live_;
};

}  // namespace profd::source
