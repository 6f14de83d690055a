// BesidePhases: `phases` runs while a test does.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "tests/e2e/profctl.h"

namespace profd::e2e {

// `Base` is ProfctlTest or made of it.
template <typename Base>
class BesidePhases : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    if (this->IsSkipped()) return;
    auto program = testing::Subprocess::Start(
        {TestProgram("phases"), "--seconds", "600", "--file", this->File("synced")});
    ASSERT_TRUE(program.ok());
    program_.emplace(std::move(*program));
    pid_ = std::to_string(program_->pid());
  }

  std::optional<testing::Subprocess> program_;
  std::string pid_;
};

}  // namespace profd::e2e
