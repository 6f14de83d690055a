// SentStacks: which stacks and paths a receiver has been given within the last days.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace profd::fleet {

// Job: a stack, or a path, goes out until the receiver has it, and again after one to two days, so
// that tables keep what is in use. So a payload that is lost, or that waits, takes no names from
// the others. Bounded: beyond that, stacks go out more often. Thread: one. Owner: a target. It is
// in memory alone: after a start all stacks go out once more.
class SentStacks {
 public:
  static constexpr std::size_t kMostWaiting = 16;  // payloads whose delivery is noticed

  // True: it goes with the payload that is being made.
  [[nodiscard]] bool Take(std::string_view service, std::uint64_t hash, std::uint64_t now_unix_ns);
  // The payload is made: what was taken since the last call goes with it.
  void GoWith(std::string_view payload);
  // The receiver has all of it.
  void Delivered(std::string_view payload);

 private:
  struct Waiting {
    std::size_t payload = 0;  // its hash
    std::uint64_t unix_ns = 0;
    std::vector<std::uint64_t> keys;
  };

  void Add(std::uint64_t key, std::uint64_t now_unix_ns);
  void Age(std::uint64_t now_unix_ns);

  std::unordered_set<std::uint64_t> taken_;
  std::uint64_t taken_unix_ns_ = 0;
  std::deque<Waiting> waiting_;
  std::unordered_set<std::uint64_t> young_;
  std::unordered_set<std::uint64_t> old_;
  std::uint64_t young_since_unix_ns_ = 0;
};

}  // namespace profd::fleet
