// CodeBackfill: puts names and line tables of code objects into the stream before they are needed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/budget/share/shares.h"
#include "daemon/python/feed/fact_queue.h"
#include "daemon/python/feed/python_remote.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/wire/event_source.h"
#include "daemon/wire/python_event.h"

namespace profd::python {

// Any thread may read them.
struct CodeCounters {
  Counter reported;  // code objects
  Counter stale;     // of those, others were there by then, or may have been, or it was gone
  Counter rationed;  // frames whose code was not read: too many at a time
};

// What is read of code objects, for one process and for all processes of one user: each object, and
// each KiB of its texts. A process needs as many as it has functions that run.
struct CodeShares : budget::ProcessShares {
  static constexpr budget::Shares::Rate kOfProcess{4'000, 8'000};
  static constexpr budget::Shares::Rate kOfUser{10'000, 10'000};

  explicit CodeShares(const Clock& clock)
      : ProcessShares(PROFD_SHARE_PYTHON_CODE, kOfProcess, PROFD_SHARE_PYTHON_CODE_OF_USER, kOfUser,
                      clock) {}
};

// Every event of the live source passes through CodeBackfill. While sessions run, it adds one event
// for each process before the first sample of the process, and one for each code object that a
// sample holds for the first time. Readers read the code objects at the end of the round, all of a
// process in one request: the memory may soon belong to others. The BPF side cannot read some code
// objects, for instance while their page is copied after a fork. For these CodeBackfill adds an
// event for each sample, with texts if the code object is still the one of an earlier sample. Its
// events carry the time of events that were all delivered, so that they come first in order of
// time, but never a time before the process executed its program. If a process does not answer, the
// thread waits kPatience once, and asks again in later rounds. A process is forgotten when it has
// ended; beyond a bound the processes that were sampled longest ago are forgotten. Code objects
// beyond the share of their process or user are not read: one process cannot have the names of
// others. Used by the reader thread.
class CodeBackfill {
 public:
  static constexpr std::uint64_t kReadsPerSecond = 20'000;  // of some 20 us
  static constexpr std::uint64_t kReadBurst = 20'000;
  static constexpr std::size_t kMaxReported = 262'144;
  static constexpr std::size_t kMaxReportedBytes = 64u << 20;  // of their texts

  // For the answers of one round.
  static constexpr std::chrono::milliseconds kPatience{20};

  // All must outlive this. The readers are PythonParsers.
  CodeBackfill(FactQueue& facts, reader::Readers& readers, const Clock& clock, CodeShares& shares,
               reader::FindUser user_of = reader::UserOf);

  // A round drains every ring of at least what it held at the beginning.
  void BeginRound();
  void Pass(const wire::RawEvent& event, const wire::EventSource::Sink& sink);
  // Reads the code objects that are needed.
  void EndRound(const wire::EventSource::Sink& sink);
  // Whether samples of Python may come for a requested session: then all their code objects have to
  // be read soon. Without one it is enough that the BPF side wakes the reader thread for code
  // objects that it has not seen lately.
  [[nodiscard]] bool IsWatching() const { return requested_sessions_ > 0 && !known_.empty(); }
  [[nodiscard]] const CodeCounters& counters() const { return counters_; }

 private:
  struct Known {
    PythonFacts facts;
    std::uint64_t since_ns = 0;         // when it executed its program, or was forked; 0: long ago
    std::uint32_t number = 0;           // no other process or program had it
    std::uint32_t parent = 0;           // number of who forked it; 0: not known
    std::optional<std::uint32_t> user;  // once it is needed
    bool reported = false;
  };
  struct Wanted {
    CodeQuery query;
    profd_event header{};      // of the sample
    std::uint64_t due_ns = 0;  // of the event
  };
  // Code objects of one process that are not read yet.
  struct Unread {
    ProcessKey process;
    std::uint32_t number = 0;  // these are as in Known
    std::uint32_t parent = 0;
    std::uint32_t user = 0;
    std::uint64_t since_ns = 0;
    std::vector<RuntimeVersion> versions;  // by runtime
    std::vector<Wanted> codes;
    std::size_t requested = 0;  // so many of the first ones, without an answer yet
    std::uint64_t next_ns = 0;  // to ask again
    std::uint64_t delay_ns = 0;
  };
  struct CodeKey {
    std::uint32_t number = 0;
    std::uint32_t runtime = 0;
    std::uint32_t validator = 0;
    std::uint64_t code = 0;
    friend bool operator==(const CodeKey&, const CodeKey&) = default;
  };
  struct CodeKeyHash {
    std::size_t operator()(const CodeKey& key) const {
      return MixBits(key.code ^ MixBits(std::uint64_t{key.number} << 32 | key.validator) ^
                     key.runtime);
    }
  };

  void TakeFacts();
  void PassSample(const wire::RawEvent& event, const profd_event& header,
                  const wire::EventSource::Sink& sink);
  void Fork(const wire::RawEvent& event, const profd_event& header);
  void EndSession();
  void ReportProcess(Known& known, const profd_event& header, const wire::EventSource::Sink& sink);
  [[nodiscard]] std::uint64_t IsReportDue(const Known& known, const profd_event& header) const;
  void Want(Known& known, const profd_event& header, const wire::PythonFrame& frame);
  // False: there is no answer yet.
  [[nodiscard]] bool Read(Unread& unread, std::chrono::milliseconds patience,
                          const wire::EventSource::Sink& sink);
  void ReportCode(const Unread& unread, const Wanted& wanted, const CodeAnswer& answer,
                  const wire::EventSource::Sink& sink);
  [[nodiscard]] bool IsProven(const Unread& unread, const Wanted& wanted, const CodeAnswer& answer);
  [[nodiscard]] bool TakeRation(Known& known);
  // Their texts are a part of the share, too, and of what may be kept.
  void ChargeTexts(const Unread& unread, const Wanted& wanted, const CodeText& text);

  FactQueue& facts_;
  PythonClient readers_;
  const Clock& clock_;
  CodeShares& shares_;
  const reader::FindUser user_of_;
  CodeCounters counters_;
  LruCache<std::uint32_t, Known> known_;          // by pid, the youngest process of each
  LruCache<std::uint32_t, std::uint64_t> execs_;  // of processes not known yet: when
  std::vector<ProcessKey> ended_;                 // in this round ...
  std::vector<ProcessKey> ended_before_;  // ... and in the one before: their last samples may come
  LruCache<CodeKey, std::uint64_t, CodeKeyHash> reported_;  // time of the first sample with it
  std::unordered_map<std::uint32_t, Unread> unread_;        // by number of the process
  std::vector<std::uint64_t> words_;                        // of the current sample
  std::vector<wire::PythonFrame> frames_;                   // ... and the Python frames in them
  std::vector<CodeQuery> queries_;                          // of the current request
  std::uint32_t numbers_ = 0;
  std::uint32_t sessions_ = 0;            // running, as the stream has it
  std::uint32_t requested_sessions_ = 0;  // those of `sessions_` that a client requested
  std::uint64_t round_ns_ = 0;            // begin of this round
  std::uint64_t settled_ns_ = 0;  // begin of the one before: older events have been handed over
  std::uint64_t ration_ns_ = 0;   // accrued time; a read costs 1 s / kReadsPerSecond
};

}  // namespace profd::python
