// KeptLog: a logger whose lines a test can look at.
#pragma once

#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>

namespace profd::test {

class KeptLog {
 public:
  [[nodiscard]] spdlog::logger& logger() { return logger_; }
  [[nodiscard]] std::string Text() const {
    std::string text;
    for (const auto& line : kept_->last_formatted()) text += line;
    return text;
  }
  // Until the log has it; the test's time limit ends what never comes.
  void Await(const std::string& text) const {
    while (Text().find(text) == std::string::npos) std::this_thread::yield();
  }

 private:
  static constexpr std::size_t kLines = 128;
  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> kept_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kLines);
  spdlog::logger logger_{"test", kept_};
};

}  // namespace profd::test
