// PathAccess: which threads on the paths of a window a query may see. A path leads through threads
// that the query has not asked for, and perhaps to those of other users.
#pragma once

#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/store/api/filter.h"

namespace profd::store {

// Whether paths may name a process: filters choose who waits, and Filter::exclusive_owner limits
// what is seen of whom they wait for, too.
[[nodiscard]] bool MaySeeOnPaths(const Filter& filter, const aggregate::ProfileProcess& process);

// By index into path_threads. Those whose process the profile does not have are hidden where the
// filter limits what may be seen: whose they are is not known.
[[nodiscard]] std::vector<bool> HiddenPathThreads(const aggregate::Profile& profile,
                                                  const Filter& filter);

// Those that a path of a sample or a wake-up names.
[[nodiscard]] std::vector<bool> UsedPathThreads(const aggregate::Profile& profile);

// Each path ends in kOtherUser where it comes to a hidden thread, as in a session of a client who
// may not see it; nothing is left of what comes behind it, of its wake-ups and of its names.
void HidePathThreads(const std::vector<bool>& hidden, aggregate::Profile& profile);

// A thread on paths of which only its name is known.
[[nodiscard]] aggregate::PathThread NamedPathThread(const std::string& comm,
                                                    const std::string& process_comm);

}  // namespace profd::store
