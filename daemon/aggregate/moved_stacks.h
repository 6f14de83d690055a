// ShareMoved: weights of samples without a stack go to stacks of the same wait.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/process/sample.h"

namespace profd::aggregate {

// What an observed sample represents, and what is known of the wait. `place` is a hash of the
// arguments of the syscall and of the registers.
struct PlacedWeight {
  process::State state = process::State::kBlocked;
  std::int32_t syscall = -1;
  std::uint64_t place = 0;
  std::uint64_t weight_ns = 0;
  std::uint64_t count = 0;
};

// The samples of one thread. `moved` are those whose thread has moved while its stack was read
// (PROFD_STACK_MOVED). Their weights and counts go to `whole` samples of the same state, syscall
// and place; if there are none, to those of the same state and syscall. These share them in
// proportion to their own weights. A sample that finds none has no effect: scaling gives its time
// to the other samples of its state. Pure; the order of `moved` does not matter.
void ShareMoved(std::span<const PlacedWeight> moved, std::span<PlacedWeight> whole);

}  // namespace profd::aggregate
