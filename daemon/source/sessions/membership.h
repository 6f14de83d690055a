// Membership: which threads belong to which session, as the BPF programs see it.
#pragma once

#include <atomic>
#include <cstdint>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/session/session_control.h"
#include "daemon/source/bpf/bpf_objects.h"
#include "daemon/source/sessions/session_table.h"

namespace profd::source {

// Job: writes filters, and the masks of sessions in the control words but those of periods, epochs
// and snapshots. Thread: any, one at a time: Sessions calls it with its lock held. has_moves() may
// be called by any thread. Owner: Sessions. It does not know which sessions run: the table says so.
class Membership {
 public:
  // Both must outlive this.
  Membership(BpfObjects& objects, const ProcFs& proc) : objects_(objects), proc_(proc) {}

  // The filter of the session in this slot. kExhausted: the target has too many ids.
  [[nodiscard]] Result<void> WriteTarget(std::uint32_t slot, const session::SessionSpec& spec);
  // Makes the threads that fit the filter members. The table has the session already.
  [[nodiscard]] Result<void> Assign(std::uint32_t slot, const SessionTable& table);
  // The table has the session no longer.
  void Remove(std::uint32_t slot, const session::SessionSpec& spec, const SessionTable& table);

  // Whether processes have moved to other cgroups since the last Reevaluate.
  [[nodiscard]] bool has_moves() const { return moves_followed_ != objects_.process_moves(); }
  // Threads of such processes join sessions, or leave them.
  void Reevaluate(const SessionTable& table);

 private:
  void StoreSessions(const SessionTable& table);

  BpfObjects& objects_;
  const ProcFs& proc_;
  std::atomic<std::uint64_t> moves_followed_ = 0;
};

}  // namespace profd::source
