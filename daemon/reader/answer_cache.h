// AnswerCache: what readers have said of files, on disk.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"

namespace profd::reader {

struct AnswerCacheSettings {
  std::string path;             // of its file. The folder above it must be there
  std::uint64_t max_bytes = 0;  // of the file
  std::string program;  // which profd has the answers made: others may read files differently
  std::string boot;     // of the kernel
};

// What an answer depends on. The text holds all of it, so equal keys have equal answers.
struct AnswerKey {
  std::string text;
  // It has numbers that mean something else after the host was started again: of devices that
  // are none.
  bool of_this_boot = false;
};

// Job: a profd that begins has what an earlier one has read: symbols, unwind rules, lines. Several
// daemons of one user may share the file. The least recently used answers leave first, by days.
// A lost or damaged file costs no more than reading again. The disk may hang: callers wait for
// kPatience, and then no more until it answers. What is found is what was put, by a checksum; all
// the same callers check it as they check a reader's answer. Thread: one of its own does all that
// touches the disk; it sleeps while nothing is requested. Owner: the composition root.
class AnswerCache {
 public:
  static constexpr std::chrono::milliseconds kPatience{20};
  static constexpr std::size_t kMaxAnswerBytes = 4u << 20;
  static constexpr std::size_t kMaxQueuedBytes = 8u << 20;  // of answers that are not written yet

  struct Counters {
    Counter found;
    Counter missing;  // also if there was no answer in time
    Counter kept;
    Counter dropped;  // answers that were not kept: too large, too many at once, no room
  };

  explicit AnswerCache(AnswerCacheSettings settings);
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;
  // Writes what is queued.
  ~AnswerCache();

  // Any thread.
  [[nodiscard]] std::optional<std::string> Find(const AnswerKey& key);
  // Returns at once.
  void Put(const AnswerKey& key, std::string answer);
  // Until all that was put is written; false: it took longer.
  [[nodiscard]] bool Flush(std::chrono::milliseconds timeout);

  // Why nothing is kept; "": the file works.
  [[nodiscard]] std::string trouble() const;
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  class File;
  struct Question {
    std::string key;
    std::optional<std::string> answer{};
    bool done = false;
  };

  using Puts = std::deque<std::pair<std::string, std::string>>;  // keys and answers

  [[nodiscard]] std::string FullKey(const AnswerKey& key) const;
  void Run(const std::stop_token& stop);
  [[nodiscard]] std::optional<File> Open(const std::stop_token& stop);
  [[nodiscard]] std::optional<std::string> Answer(std::optional<File>& file, const std::string& key,
                                                  const std::stop_token& stop);
  void Write(std::optional<File>& file, const Puts& puts, const std::stop_token& stop);
  void Renew(std::optional<File>& file, const std::stop_token& stop);
  void SetTrouble(std::string why);

  const AnswerCacheSettings settings_;
  Counters counters_;
  Heartbeat beat_{"file cache", Heartbeat::NeededFor::kExtras};

  mutable std::mutex mutex_;
  std::condition_variable_any work_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Question>> questions_;  // guarded by mutex_, as all that follows
  Puts puts_;
  std::size_t queued_bytes_ = 0;
  bool late_ = false;  // a question was not answered in time; it is still there
  bool busy_ = false;  // with what was in puts_
  std::string trouble_;
  std::jthread thread_;  // last: uses all of the above
};

}  // namespace profd::reader
