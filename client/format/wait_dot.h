// Who waits for whom, as a graph in the language of Graphviz.
#pragma once

#include <string>

#include "client/profile/waits/wait_table.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A box for each group of threads, a solid arrow to who ends its waits, a dashed one to where paths
// end if that is another one; both as wide as their time, with their share of the waiter's blocked
// time. Groups that wait for each other stand in a frame. Names come from other processes and may
// be anything.
[[nodiscard]] std::string WaitDot(const v1::Profile& profile, const WaitTable& table);

}  // namespace profd::client
