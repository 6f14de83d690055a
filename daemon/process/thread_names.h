// ThreadNames: the names of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"

namespace profd::process {

// Job: keeps the name of the youngest thread of each tid. Beyond `max_threads` it forgets the names
// that were set longest ago, and counts them. Thread: the worker. Owner: ProcessTable.
class ThreadNames {
 public:
  explicit ThreadNames(std::size_t max_threads)
      : threads_(max_threads, LruCache<std::uint32_t, Thread>::kUnbounded,
                 [this](std::uint32_t /*tid*/, const Thread& /*thread*/) { ++forgotten_; }) {}

  // `key.start_ns` 0: not known, as in texts of /proc; it fits any thread with this tid. A name
  // from an older event changes nothing.
  void Set(const ThreadKey& key, std::uint64_t time_ns, std::string_view comm);
  void Forget(std::uint32_t tid) { threads_.Erase(tid); }
  // Does nothing if the tid belongs to a younger thread by now.
  void Forget(const ThreadKey& key);
  void Clear() { threads_.Clear(); }
  // "": not known.
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

// Calls `sink` for each line "tid\tcomm\n" of a text, and skips other lines.
void ParseThreadNames(std::string_view text,
                      const std::function<void(std::uint32_t tid, std::string_view comm)>& sink);

}  // namespace profd::process
