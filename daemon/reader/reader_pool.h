// ReaderPool: readers of one kind, with a deadline on every request.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/reader/zygote.h"

namespace profd::reader {

struct ReaderRequest {
  std::string body;
  // What it reads, for people: "/mnt/x/bin/app", "process 1234".
  std::string name;
  // The same for profd. After a failure requests with this key wait for growing times.
  std::uint64_t target = 0;
  // User of the process that it is for. Slow requests of one user leave readers for the others.
  std::uint32_t user = 0;
  std::vector<int> descriptors{};        // for the reader; they stay the caller's
  std::chrono::milliseconds deadline{};  // 0: that of the pool
};

// The user whose share of readers a process uses: for one in a user namespace that a user has made,
// that user. 0 when it is gone.
[[nodiscard]] std::uint32_t UserOf(std::uint32_t pid);
// UserOf, or what takes its place in a test.
using FindUser = std::function<std::uint32_t(std::uint32_t pid)>;

// Where requests go. In the daemon that is a ReaderPool.
class Readers {
 public:
  virtual ~Readers() = default;
  // The parser's own error, or
  //   kUnavailable  it is not there yet: ask again; or the target is in trouble, and the message
  //                 says why
  //   kExhausted    no reader can be started: too many do not end
  [[nodiscard]] virtual Result<std::string> Ask(const ReaderRequest& request,
                                                std::chrono::milliseconds patience) = 0;
  // Whether a reader that was killed while it read this target has not ended yet.
  [[nodiscard]] virtual bool IsHeldBy(std::uint64_t target) const = 0;
  // A request with this target that was made for root, and is not answered, counts as this user's
  // from now on: it has turned out whose memory it waits for.
  virtual void Blame(std::uint64_t /*target*/, std::uint32_t /*user*/) {}
};

// Something that readers could not read. Names it in `status`, `doctor` and profiles.
struct Trouble {
  std::string name;
  std::string why;
  std::uint32_t tries = 0;
};

// Written with the lock held; any thread may read.
struct ReaderCounters {
  Counter requests;  // that were sent to a reader
  Counter late;      // readers that were killed after the deadline
  Counter ended;     // readers that ended during a request: a crash, or a bound of the kernel
  Counter oversize;  // readers that were killed because they held too much memory
  Counter refused;   // requests for what is in trouble, or of users whose requests are slow
  Counter started;   // readers
};

// Job: hands requests to readers, kills those that miss their deadline, and starts others. Threads:
// any may ask; one of its own watches the requests that callers have left. Owner: the composition
// root; the zygote outlives it. It does not know what the bytes mean.
//
// An answer that does not come while the caller has patience is not lost: the request goes on, and
// a later call with the same target and body takes the answer, without waiting. So callers that
// come again need no thread to wait, and a slow request holds up its caller once. Meanwhile other
// requests with its target are not sent: a target holds one reader at most.
class ReaderPool : public Readers {
 public:
  using Milliseconds = std::chrono::milliseconds;
  struct Options {
    std::string_view holds = "reader processes";  // name of the memory account
    // At a time. Slow requests hold all but one at most: root's programs are trusted with all. Half
    // of them is a user's share: of slow requests and of processes that no signal ends, together.
    std::size_t processes = 3;
    Milliseconds deadline{5'000};  // of one request
    std::size_t answer_bytes = 64u << 20;
    std::uint64_t process_bytes = 512u << 20;  // private memory; checked after answers
    bool pauses = true;  // after a failure the target waits; false: its requests have a target each
    Milliseconds idle{30'000};  // a reader without a request for so long ends
    // Processes that no signal ends. Beyond these limits none is started for the others of their
    // kind, so that programs of users cannot use up what root's need.
    std::size_t stuck_of_users = 8;
    std::size_t stuck_of_root = 4;
  };

  ReaderPool(Zygote& zygote, std::uint32_t role, const Options& options);
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;
  ~ReaderPool() override;

  // Any thread.
  [[nodiscard]] Result<std::string> Ask(const ReaderRequest& request,
                                        Milliseconds patience) override;
  [[nodiscard]] bool IsHeldBy(std::uint64_t target) const override;
  void Blame(std::uint64_t target, std::uint32_t user) override;
  // From then on it answers no request, and no caller waits. profd is ending.
  void EndAt(std::chrono::steady_clock::time_point end) { end_ = end; }
  // What is in trouble now; at most kMaxTroubles.
  [[nodiscard]] std::vector<Trouble> troubles() const;
  [[nodiscard]] const ReaderCounters& counters() const { return counters_; }
  // Private memory of all its processes, as last measured. A request to free some ends readers that
  // have nothing to do.
  [[nodiscard]] budget::MemoryAccount& memory() { return memory_; }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }
  // Of the thread that watches; it starts late, and waits until then.
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  [[nodiscard]] std::string_view holds() const { return options_.holds; }
  // Processes that were killed more than a second ago and have not ended.
  [[nodiscard]] std::size_t stuck() const;
  // For whom no reader is started now, and why; "": one is when it is needed.
  [[nodiscard]] std::string WhyNoneStarts() const;
  static constexpr std::size_t kMaxTroubles = 1'024;
  static constexpr Milliseconds kFirstDelay{1'000};
  static constexpr Milliseconds kLastDelay{600'000};

 private:
  using Time = Channel::Time;
  using Lock = std::unique_lock<std::mutex>;

  struct IdleReader {
    ReaderProcess process;
    Time since;
    std::uint64_t target = 0;  // of its last request: it may have that open
  };
  // A request whose caller has left.
  struct Job {
    ReaderProcess process;
    ReaderRequest request;
    Time deadline;
    std::optional<Result<std::string>> answer;
    Time answered;
  };
  struct KilledReader {
    ReaderProcess process;
    Time since;
    std::uint64_t target = 0;
    std::uint32_t user = 0;
  };
  struct Failure {
    std::string name;
    std::string why;
    std::uint32_t tries = 0;
    Time next;
  };

  [[nodiscard]] std::optional<Result<std::string>> TakeLeft(std::uint64_t key);
  [[nodiscard]] bool IsBeingRead(std::uint64_t target) const;
  [[nodiscard]] std::optional<Error> Refusal(const ReaderRequest& request);
  [[nodiscard]] Result<ReaderProcess> Acquire(Lock& lock, const ReaderRequest& request, Time until);
  [[nodiscard]] Result<std::string> Finish(Lock& lock, ReaderProcess process,
                                           const ReaderRequest& request, Result<Message> message);
  [[nodiscard]] Error Fail(Lock& lock, ReaderProcess process, const ReaderRequest& request,
                           std::string why);
  void Leave(std::uint64_t key, Job job);
  void Kill(ReaderProcess process, std::uint64_t target, std::uint32_t user);
  void ForgetEnded();
  // Ends the readers that have nothing to do if the memory budget has requested that.
  bool GiveUp();
  void MeasureMemory();
  void Wake();  // the watching thread
  [[nodiscard]] std::size_t StuckAt(Time now) const;
  [[nodiscard]] std::string WhyNoneStartsFor(bool root) const;
  // Why the user gets no reader now; "": gets one.
  [[nodiscard]] std::string WhyNoShareIsLeft(std::uint32_t user) const;
  // Readers that were killed and have not ended.
  struct Held {
    std::size_t of_user = 0;
    std::size_t of_users = 0;
    std::size_t users = 0;  // how many have any
    std::size_t of_root = 0;
  };
  [[nodiscard]] Held HeldAt(Time since, std::uint32_t user) const;
  void Watch(const std::stop_token& stop);
  [[nodiscard]] Time NextDeadline() const;
  void ServeLeft(Lock& lock, Time now);

  Zygote& zygote_;
  const std::uint32_t role_;
  const Options options_;
  std::atomic<Time> end_ = Time::max();
  ReaderCounters counters_;
  budget::MemoryAccount memory_;
  Heartbeat beat_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<IdleReader> idle_;  // used last at the back
  Time measured_;                // their memory
  std::size_t busy_ = 0;         // with a request whose caller waits
  std::map<std::uint64_t, Job> left_;
  std::list<KilledReader> killed_;
  std::unordered_map<std::uint64_t, Failure> failures_;  // by target
  UniqueFd wake_;                                        // of the watching thread
  std::jthread watcher_;  // started with the first request that is left
};

}  // namespace profd::reader
