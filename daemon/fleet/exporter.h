// Exporter: carries the history to one target, window by window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/fleet/profile/relabelling.h"
#include "daemon/fleet/profile/settings.h"
#include "daemon/fleet/spool/send_times.h"
#include "daemon/fleet/spool/spool.h"
#include "daemon/fleet/status.h"
#include "daemon/fleet/targets/target.h"
#include "daemon/rules/rule_set.h"
#include "daemon/store/sqlite/store_tail.h"

namespace profd::fleet {

// Job: reads the tail of the history into the spool, sends the spool in order, and keeps on disk
// how far both are. Thread: one, which calls Step. Owner: the export process.
//
// What it reads is in the spool before the cursor moves, and what a receiver has taken leaves the
// spool at once. So a receiver gets each window once, except one whose answer was lost, or that was
// sent just before a crash: it comes again, under the same name or id.
class Exporter {
 public:
  struct Parts {
    ExportSettings settings;
    std::string folder;          // its own: state and spool
    std::string history;         // the file
    std::uint64_t grace_ns = 0;  // after which the last window of an interval is complete
    Relabelling relabelling;
    rules::RuleSetRef rules;  // null: nothing is spinning
    std::unique_ptr<Target> target;
    std::function<std::uint64_t()> random;
  };
  // `clock` outlives this.
  Exporter(Parts parts, const Clock& clock);

  // Does what is due. Returns when to call it next, in ns of the monotonic clock.
  [[nodiscard]] std::uint64_t Step();
  [[nodiscard]] const ExportStatus& status() const { return status_; }

 private:
  [[nodiscard]] Result<void> Open();
  [[nodiscard]] Result<void> LoadState();
  [[nodiscard]] Result<void> SaveState();
  // Puts the next part of the history into the spool. False: none is complete yet.
  [[nodiscard]] Result<bool> ReadOne();
  [[nodiscard]] Result<void> SpoolPart(store::TailPart part);
  void SendOne();
  // Reads the oldest entry, unless it is there already. False: it is damaged, or too old, and has
  // left the spool.
  [[nodiscard]] bool TakeOldest();
  [[nodiscard]] bool IsTooOld(const SpoolEntry& entry) const;
  // Replaces the first piece by two. False: it cannot be split.
  [[nodiscard]] bool SplitPiece();
  void RemoveOldest();
  void AddGap(const std::string& cause, std::uint64_t ns);
  void TakeBack(const Gaps& gaps);
  void Describe();

  const Parts parts_;
  const Clock& clock_;
  const store::StoreTail tail_;
  std::optional<Spool> spool_;               // nothing: it could not be opened yet
  std::optional<store::TailCursor> cursor_;  // nothing: this export is new
  std::uint64_t next_entry_ = 0;             // of the spool, as it was saved
  Gaps unreported_;                          // gaps that no profile in the spool reports
  bool unsaved_ = false;                     // the state on disk is behind
  // Of the oldest entry, what its receiver has not taken yet; more than one: it was too large.
  // After a crash the whole entry is tried again, and is split in the same way.
  std::deque<SpoolEntry> pieces_;
  std::uint64_t pieces_of_ = 0;             // its number
  bool split_ = false;                      // it was; the pieces are not in the spool
  std::size_t too_large_bytes_ = SIZE_MAX;  // payloads from here on are split before they are sent
  SendTimes send_times_;
  std::uint64_t next_read_ns_ = 0;
  std::string read_error_;
  std::string send_error_;
  ExportStatus status_;
};

}  // namespace profd::fleet
