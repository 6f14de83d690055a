// SentStacks: which stacks and paths a receiver has been given within the last days.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace profd::fleet {

// Job: a stack, or a path, goes out until the receiver has it, and again after one to two days, so
// that tables keep what is in use. So a payload that is lost, or that waits, takes no names from
// the others. Bounded: beyond that, stacks go out more often. Thread: one. Owner: a target, which
// keeps it in a file over a restart.
class SentStacks {
 public:
  static constexpr std::size_t kMostWaiting = 16;      // payloads whose delivery is noticed
  static constexpr std::size_t kMostBytes = 1u << 20;  // of a file

  // True: it goes with the payload that is being made.
  [[nodiscard]] bool Take(std::string_view service, std::uint64_t hash, std::uint64_t now_unix_ns);
  // The payload is made: what was taken since the last call goes with it.
  void GoWith(std::string_view payload);
  // The receiver has all of it.
  void Delivered(std::string_view payload);
  // The receiver has lost all.
  void Forget();

  // What the receiver has, as a file. `receiver`: what distinguishes it from others.
  [[nodiscard]] std::string Pack(std::string_view receiver) const;
  // Takes up what Pack made. Of bytes that are damaged, or of another receiver, nothing: then all
  // stacks go out once more.
  void Unpack(std::string_view bytes, std::string_view receiver);
  // There is more to pack than at the last call.
  [[nodiscard]] bool TakeChanged() { return std::exchange(changed_, false); }

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
  bool changed_ = false;
};

}  // namespace profd::fleet
