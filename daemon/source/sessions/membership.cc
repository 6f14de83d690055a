#include "daemon/source/sessions/membership.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "daemon/source/bpf/control_word.h"
#include "daemon/source/bpf/iterator.h"
#include "daemon/source/sessions/filter.h"

namespace profd::source {

Result<void> Membership::WriteTarget(std::uint32_t slot, const session::SessionSpec& spec) {
  const auto filter = MakeFilter(spec.target, proc_);
  if (!filter) return filter.error();
  for (const std::uint32_t id : spec.target.ids) {
    const profd_filter_id key{slot, id};
    const __u8 listed = 1;
    if (::bpf_map_update_elem(objects_.filter_ids_fd(), &key, &listed, BPF_ANY) == 0) continue;
    Error error = ErrorFromErrno(errno, "cannot write the ids of the target for the BPF side");
    if (errno == E2BIG || errno == ENOSPC || errno == ENOMEM) error.code = ErrorCode::kExhausted;
    return error;
  }
  if (::bpf_map_update_elem(objects_.filters_fd(), &slot, &*filter, BPF_ANY) != 0)
    return ErrorFromErrno(errno, "cannot write the target for the BPF side");
  return {};
}

Result<void> Membership::Assign(std::uint32_t slot, const SessionTable& table) {
  // New threads are matched from here on; the iterator matches the existing ones. Until it is
  // through, bits of an earlier session of this slot may still be set: `starting` says so.
  profd_control& control = objects_.control();
  StoreControl(control.starting_sessions, std::uint64_t{1} << slot);
  StoreSessions(table);
  const auto assigned = ReadIterator(objects_.assign_link_fd());
  StoreControl(control.starting_sessions, 0);
  return assigned ? Result<void>() : assigned.error();
}

void Membership::Remove(std::uint32_t slot, const session::SessionSpec& spec,
                        const SessionTable& table) {
  StoreSessions(table);
  const profd_filter none{};
  ::bpf_map_update_elem(objects_.filters_fd(), &slot, &none, BPF_ANY);
  for (const std::uint32_t id : spec.target.ids) {
    const profd_filter_id key{slot, id};
    ::bpf_map_delete_elem(objects_.filter_ids_fd(), &key);
  }
}

void Membership::Reevaluate(const SessionTable& table) {
  const std::uint64_t moves = objects_.process_moves();
  if (moves_followed_.exchange(moves) == moves || !table.AnyOf(session::TargetKind::kCgroup))
    return;
  // In error nothing is lost but what the threads beside the first did in the cgroup.
  (void)ReadIterator(objects_.reevaluate_link_fd());
}

void Membership::StoreSessions(const SessionTable& table) {
  profd_control& control = objects_.control();
  // Who may see one user's threads only is confined before it runs, and for as long as it does.
  StoreControl(control.confined_sessions, control.confined_sessions | table.confined());
  StoreControl(control.observed_sessions, control.observed_sessions | table.observed());
  StoreControl(control.visited_sessions, table.visited());
  // Threads are assigned before the periods are set; observers begin at once with those of clients.
  StoreControl(control.requested_sessions, table.requested());
  // Members get their sums when they are matched.
  StoreControl(control.pmu_sessions, table.counted());
  StoreControl(control.sessions, table.running());
  StoreControl(control.observed_sessions, table.observed());
  StoreControl(control.confined_sessions, table.confined());
}

}  // namespace profd::source
