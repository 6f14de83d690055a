// ThreadAdvice: what to change in how a program uses threads, where its profile says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/share_error.h"
#include "client/profile/threads/thread_use.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Each rests on a number whose interval lies above the threshold of its kind.
struct ThreadAdvice {
  enum class Kind {
    kOversubscribed,  // value: share of the sampling points
    kImbalance,       // value: working time of the busiest thread, by the mean of its pool
    kThrottled,       // value: share of the periods of the quota; exact
    kSpinning,        // value: share of the time on CPUs
    kSharedCore,      // value: share of two threads' samples with a busy sibling
    kMoves            // value: migrations per second of the busiest mover of a pool; exact
  };
  Kind kind = Kind::kOversubscribed;
  std::uint32_t process = 0;  // index into Profile.processes
  double value = 0;
  Interval interval;
  std::string text;  // safe; begins in the middle of a sentence about the process
};

[[nodiscard]] std::string_view AdviceName(ThreadAdvice::Kind kind);

// By process, in the order of the profile, which has passed CheckProfile. `threads`: UseOfThreads.
[[nodiscard]] std::vector<ThreadAdvice> AdviceOf(const v1::Profile& profile,
                                                 const std::vector<ThreadUse>& threads);

}  // namespace profd::client
