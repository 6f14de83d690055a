// ThreadNames: the names threads gave themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "daemon/base/keys.h"

namespace profd::process {

// The youngest thread of each number; an older one of the same number is forgotten. Beyond
// `max_threads` those whose names are oldest are forgotten, and counted. Used by the worker thread.
class ThreadNames {
 public:
  explicit ThreadNames(std::size_t max_threads) : max_threads_(max_threads) {}

  // `key.start_ns` 0: not known (/proc), fits whatever thread has the number. A name older than the
  // one that is known changes nothing.
  void Set(const ThreadKey& key, std::uint64_t time_ns, std::string_view comm);
  void Forget(std::uint32_t tid) { threads_.erase(tid); }
  // Unless its number has a younger thread by now.
  void Forget(const ThreadKey& key);
  void Clear() { threads_.clear(); }
  // "" when not known.
  [[nodiscard]] std::string Find(const ThreadKey& key) const;

  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  [[nodiscard]] std::size_t size() const { return threads_.size(); }

 private:
  struct Thread {
    std::uint64_t start_ns = 0;
    std::uint64_t since_ns = 0;
    std::string comm;
  };

  void MakeRoom();

  const std::size_t max_threads_;
  std::unordered_map<std::uint32_t, Thread> threads_;  // by tid
  std::uint64_t forgotten_ = 0;
};

// Hands over each thread of a text of "tid\tcomm\n" lines; lines that are none are passed over.
void ParseThreadNames(std::string_view text,
                      const std::function<void(std::uint32_t tid, std::string_view comm)>& sink);

}  // namespace profd::process
