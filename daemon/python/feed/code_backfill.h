// CodeBackfill: puts names and line tables of code objects into the stream before they are needed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/python/code/code_reader.h"
#include "daemon/python/feed/fact_queue.h"
#include "daemon/wire/event_source.h"
#include "daemon/wire/python_event.h"

namespace profd::python {

// Any thread may read them.
struct CodeCounters {
  Counter reported;  // code objects
  Counter stale;     // of those, others were there by then, or may have been, or it was gone
  Counter rationed;  // frames whose code was not read: too many at a time
};

// Every event of the live source passes through CodeBackfill. While sessions run, it adds one event
// for each process before the first sample of the process, and one for each code object before the
// first sample that holds it. It reads the code object at that moment, because its memory may soon
// belong to another one. The BPF side cannot read some code objects, for instance while their
// page is copied after a fork. For these CodeBackfill adds an event before each sample, with texts
// if the code object is still the one of an earlier sample. Its events carry the time of events
// that were all delivered, so that they also come first in order of time, but never a time
// before the process executed its program. A process is forgotten when it has ended; beyond a bound
// the processes that were sampled longest ago are forgotten. Used by the reader thread.
class CodeBackfill {
 public:
  static constexpr std::uint64_t kReadsPerSecond = 20'000;  // of some 20 us
  static constexpr std::uint64_t kReadBurst = 20'000;
  static constexpr std::size_t kMaxReported = 262'144;

  // Both must outlive this.
  CodeBackfill(FactQueue& facts, const Clock& clock);

  // A round drains every ring of at least what it held at the beginning.
  void BeginRound();
  void Pass(const wire::RawEvent& event, const wire::EventSource::Sink& sink);
  // Whether samples of Python may come for a requested session: then all their code objects have to
  // be read soon. Without one it is enough that the BPF side wakes the reader thread for code
  // objects that it has not seen lately.
  [[nodiscard]] bool IsWatching() const { return requested_sessions_ > 0 && !known_.empty(); }
  [[nodiscard]] const CodeCounters& counters() const { return counters_; }

 private:
  struct Known {
    PythonFacts facts;
    std::uint64_t since_ns = 0;  // when it executed its program, or was forked; 0: long ago
    std::uint32_t number = 0;    // no other process or program had it
    std::uint32_t parent = 0;    // number of who forked it; 0: not known
    bool reported = false;
    // By runtime; each is made when it is needed.
    std::array<std::unique_ptr<CodeReader>, PROFD_MAX_PYTHON_RUNTIMES> readers;
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
  void ReportCode(Known& known, const profd_event& header, const wire::PythonFrame& frame,
                  const wire::EventSource::Sink& sink);
  [[nodiscard]] Result<CodeText> ReadUnvalidated(const Known& known, const profd_event& header,
                                                 const wire::PythonFrame& frame,
                                                 CodeReader& reader);
  [[nodiscard]] bool TakeRation();

  FactQueue& facts_;
  const Clock& clock_;
  CodeCounters counters_;
  LruCache<std::uint32_t, Known> known_;          // by pid, the youngest process of each
  LruCache<std::uint32_t, std::uint64_t> execs_;  // of processes not known yet: when
  std::vector<ProcessKey> ended_;                 // in this round ...
  std::vector<ProcessKey> ended_before_;  // ... and in the one before: their last samples may come
  LruCache<CodeKey, std::uint64_t, CodeKeyHash> reported_;  // time of the first sample with it
  std::vector<std::uint64_t> words_;                        // of the current sample
  std::vector<wire::PythonFrame> frames_;                   // ... and the Python frames in them
  std::uint32_t numbers_ = 0;
  std::uint32_t sessions_ = 0;            // running, as the stream has it
  std::uint32_t requested_sessions_ = 0;  // those of `sessions_` that a client requested
  std::uint64_t round_ns_ = 0;            // begin of this round
  std::uint64_t settled_ns_ = 0;  // begin of the one before: older events have been handed over
  std::uint64_t ration_ns_ = 0;   // accrued time; a read costs 1 s / kReadsPerSecond
};

}  // namespace profd::python
