// KeptLog: a logger whose lines a test can look at.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include <cstddef>
#include <memory>
#include <string>

#include "tests/support/eventually.h"

namespace profd::test {

class KeptLog {
 public:
  [[nodiscard]] spdlog::logger& logger() { return logger_; }
  [[nodiscard]] std::string Text() const {
    std::string text;
    for (const auto& line : kept_->last_formatted()) text += line;
    return text;
  }
  // Until the log has it.
  void Await(const std::string& text) const {
    EXPECT_TRUE(Eventually([&] { return Text().find(text) != std::string::npos; }))
        << "the log never has: " << text << "\n"
        << Text();
  }

 private:
  static constexpr std::size_t kLines = 128;
  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> kept_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kLines);
  spdlog::logger logger_{"test", kept_};
};

}  // namespace profd::test
