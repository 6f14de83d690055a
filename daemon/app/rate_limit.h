// RateLimit: how often messages of one kind are let through.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace profd::app {

// Messages are of one kind when they begin alike, numbers aside: their first kKindLength
// characters. A kind has kBurst messages in a period; the rest is held back and counted. Not
// thread-safe.
class RateLimit {
 public:
  static constexpr std::size_t kBurst = 10;
  static constexpr std::uint64_t kPeriodNs = 10'000'000'000;
  static constexpr std::size_t kKindLength = 48;
  static constexpr std::size_t kMostKinds = 256;  // together; what comes beyond is of one kind

  struct Held {
    std::string kind;
    std::uint64_t count;
  };

  // Whether the message is to be written. `now_ns` does not go back.
  [[nodiscard]] bool Admit(std::string_view message, std::uint64_t now_ns);
  // What was held back in periods that are over; said once.
  [[nodiscard]] std::vector<Held> TakeHeld(std::uint64_t now_ns);
  // The same of all periods: nothing more will come.
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
