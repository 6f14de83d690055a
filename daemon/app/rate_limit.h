// RateLimit: how many messages of one kind are written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace profd::app {

// Job: admits kBurst messages of each kind in a period, and counts the others. Two messages are of
// one kind if their first kKindLength characters are equal, digits aside.
// Thread: one at a time. Owner: LogSink.
class RateLimit {
 public:
  static constexpr std::size_t kBurst = 10;
  static constexpr std::uint64_t kPeriodNs = 10'000'000'000;
  static constexpr std::size_t kKindLength = 48;
  static constexpr std::size_t kMostKinds = 256;  // all further messages are of one kind

  struct Held {
    std::string kind;
    std::uint64_t count;
  };

  // True: the message is to be written. `now_ns` must not go back.
  [[nodiscard]] bool Admit(std::string_view message, std::uint64_t now_ns);
  // What was held back in periods that are over. Each period is returned once.
  [[nodiscard]] std::vector<Held> TakeHeld(std::uint64_t now_ns);
  // The same for all periods, when no more messages come.
  [[nodiscard]] std::vector<Held> TakeAll();

 private:
  struct Period {
    std::uint64_t start_ns = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] std::vector<Held> Take(std::uint64_t started_before_ns);

  std::map<std::string, Period, std::less<>> kinds_;
};

}  // namespace profd::app
