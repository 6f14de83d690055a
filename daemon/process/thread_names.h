// ThreadNames: the names threads gave themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"

namespace profd::process {

// The youngest thread of each number; an older one of the same number is forgotten. Beyond
// `max_threads` those whose names were set longest ago are forgotten, and counted. Used by the
// worker thread.
class ThreadNames {
 public:
  explicit ThreadNames(std::size_t max_threads)
      : threads_(max_threads, LruCache<std::uint32_t, Thread>::kUnbounded,
                 [this](std::uint32_t /*tid*/, const Thread& /*thread*/) { ++forgotten_; }) {}

  // `key.start_ns` 0: not known (/proc), fits whatever thread has the number. A name older than the
  // one that is known changes nothing.
  void Set(const ThreadKey& key, std::uint64_t time_ns, std::string_view comm);
  void Forget(std::uint32_t tid) { threads_.Erase(tid); }
  // Unless its number has a younger thread by now.
  void Forget(const ThreadKey& key);
  void Clear() { threads_.Clear(); }
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

  std::uint64_t forgotten_ = 0;
  LruCache<std::uint32_t, Thread> threads_;  // by tid; a name that is set counts as a use
};

// Hands over each thread of a text of "tid\tcomm\n" lines; lines that are none are passed over.
void ParseThreadNames(std::string_view text,
                      const std::function<void(std::uint32_t tid, std::string_view comm)>& sink);

}  // namespace profd::process
