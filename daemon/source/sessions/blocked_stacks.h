// BlockedStacks: reads the stacks of threads while these stay blocked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bpf/shared/control.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/source/bpf/bpf_objects.h"
#include "daemon/source/bpf/share_map.h"
#include "daemon/source/sessions/epochs.h"
#include "daemon/source/sessions/unreadable.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// Runs the snapshot iterator. If stacks end early because unwind tables are missing, it waits for
// the tables and walks again. Owned by Sessions, used with its lock held; any thread may read the
// counters.
class BlockedStacks {
 public:
  static constexpr std::chrono::milliseconds kTimeout{1'000};
  // It waits this long for tables that were missed.
  static constexpr std::chrono::milliseconds kTablesAtEnd{100};

  // The purpose of a wait: a dump is wanted now, and waits only for tables that its own stacks
  // need.
  enum class For { kSession, kDump };
  // As Sessions::Tables::await.
  using Await =
      std::function<bool(For whom, std::uint64_t requests, std::chrono::milliseconds timeout)>;

  // The state that consecutive windows share.
  struct Rolled {
    std::uint64_t reported_until_ns = 0;  // threads blocked since before this were reported
    std::uint32_t windows = 0;            // since all threads were walked
    bool lacks_tables = false;  // a stack reported since then ends because tables are missing
  };

  // All must outlive this. `readers` answer by IteratorParsers, `observers` by ObserverParsers.
  BlockedStacks(BpfObjects& objects, reader::Readers& readers, reader::Readers& observers,
                std::function<std::vector<std::uint64_t>()> counters)
      : objects_(objects),
        readers_(readers),
        observers_(observers),
        counters_(std::move(counters)) {}
  void UseTables(Await await) { await_ = std::move(await); }

  // SNAPSHOT events of the members of a session that are blocked since before the epoch, but not
  // since before `since_ns`.
  [[nodiscard]] std::vector<wire::EventBytes> ReadBlocked(std::uint32_t slot, const Epoch& epoch,
                                                          std::uint64_t since_ns);
  // The same at the end of a window; notes what need not be walked at the end of the next one.
  [[nodiscard]] std::vector<wire::EventBytes> ReadWindow(std::uint32_t slot, const Epoch& epoch,
                                                         Rolled& rolled);
  // How each of the `members` stands, more or less: those that ran are looked at again.
  [[nodiscard]] std::vector<wire::EventBytes> ReadDump(std::uint32_t slot, std::size_t members);

  // An observer hung in the memory of this process: it is left alone.
  void NoteHang(std::uint32_t pid, std::uint64_t request);
  // Makes known to the programs whose memory they may read by now.
  void Publish();

  [[nodiscard]] std::uint64_t timeouts() const { return timeouts_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
  // Whose user stacks were left out. Any thread.
  [[nodiscard]] std::vector<BeyondShare> BeyondShares() const { return unreadable_.Beyond(); }

 private:
  // All that the iterator writes, once. kUnavailable: it did not end in time.
  [[nodiscard]] Result<std::string> ReadInTime(std::chrono::milliseconds timeout);
  // Without memory of processes: nothing can keep this thread waiting.
  [[nodiscard]] Result<std::string> ReadKernelStacks();
  // Has the programs leave the process alone whose memory the last run could not read. False: that
  // is not known.
  [[nodiscard]] bool LeaveAlone(std::uint64_t request);
  // One of `readers` did not answer this request because of the process.
  void NoteUnreadable(reader::Readers& readers, std::uint32_t pid, std::uint64_t request);
  // SNAPSHOT events of one run of the iterator.
  [[nodiscard]] std::vector<wire::EventBytes> Walk(std::uint32_t slot,
                                                   std::chrono::milliseconds timeout);
  // Walks once more whose stacks ended early because tables were missing.
  void Complete(For whom, std::uint32_t slot, std::vector<wire::EventBytes>& stacks);

  BpfObjects& objects_;
  reader::Readers& readers_;
  reader::Readers& observers_;
  const std::function<std::vector<std::uint64_t>()> counters_;
  Await await_;
  std::uint64_t requests_ = 0;
  Unreadable unreadable_;
  std::atomic<std::uint64_t> timeouts_ = 0;
  std::atomic<std::uint64_t> malformed_ = 0;
};

}  // namespace profd::source
