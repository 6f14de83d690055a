// SentStacks: which stacks a receiver has been given within the last day.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace profd::fleet {

// Job: a stack goes out once, and again after half a day to a day, so that tables keep what is in
// use. Bounded: beyond that, stacks go out more often. Thread: one. Owner: a target. It is in
// memory alone: after a start all stacks go out once more.
class SentStacks {
 public:
  // True: it is to be sent, and counts as sent from now on.
  [[nodiscard]] bool Take(std::string_view service, std::uint64_t hash, std::uint64_t now_unix_ns);
  // Something that was to be sent is lost.
  void Clear();

 private:
  std::unordered_set<std::uint64_t> young_;
  std::unordered_set<std::uint64_t> old_;
  std::uint64_t young_since_unix_ns_ = 0;
};

}  // namespace profd::fleet
