// Proves that a profile or a dump can be walked, once, so that no other code checks an index.
#pragma once

#include <cstdint>

#include "daemon/base/result.h"

namespace profd::v1 {
class Dump;
class Profile;
}  // namespace profd::v1

namespace profd::client {

// Frames in one stack, inlined ones included. A longer one is not a stack of ours.
inline constexpr std::uint32_t kMaxStackDepth = 4096;

// A profile read from a file is hostile. After ok: all sample columns have the same length, every
// index is in range, every parent stands before its child, no stack is deeper than kMaxStackDepth,
// every state is one of State, and the sums of weights and of counts fit into 63 bits. Else
// kCorrupt with the first thing that is wrong. The columns `gil`, `edges` and `rule` may be
// empty.
[[nodiscard]] Result<void> CheckProfile(const v1::Profile& profile);
// Of a dump: every index is in range, and every state is one of State. kCorrupt names the thread.
[[nodiscard]] Result<void> CheckDump(const v1::Dump& dump);

}  // namespace profd::client
