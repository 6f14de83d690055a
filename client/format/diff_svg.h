// Two profiles compared as one svg: a flame graph coloured by change.
#pragma once

#include <ostream>

#include "client/profile/diff.h"

namespace profd::client {

// How much a frame's time changed, against the larger of its two times.
enum class Change { kNone, kSlight, kSome, kMuch, kWhole };

// kNone below 5 % and for what may be chance (IsNoise); the others begin at 5, 20, 50 and 90 %.
[[nodiscard]] Change ChangeOf(const DiffTime& time, const ComparedTimes& of);

// Frames are as wide as their time in B; a switch turns to the widths of A, so that stacks which B
// does not have are seen, too. Red grew and has an arrow up, blue shrank and has an arrow down.
// `a` and `b` are what `diff` was made of.
[[nodiscard]] Result<void> WriteDiffSvg(const Diff& diff, const v1::Profile& a,
                                        const v1::Profile& b, std::ostream& out);

}  // namespace profd::client
