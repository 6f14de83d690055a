// NamedCalls: the calls of a program that have a name of its own, as it reports them: exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// The profile has passed CheckProfile.

// One that began, and when it ended; 0: not known.
struct NamedCall {
  std::uint32_t source = 0;  // index into Profile.step_sources
  std::uint32_t name = 0;    // index into Profile.step_names
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

// Of one thread, by their begins. An end is that of what began last there, with the same object if
// it has one, and has not ended; that of a call which began before the session is left out.
[[nodiscard]] std::vector<NamedCall> CallsOf(const v1::Profile& profile, std::uint32_t thread);

// All calls of one name, in all threads.
struct NamedCalls {
  std::string name;            // safe text; of a source without names, what is watched
  std::uint64_t calls = 0;     // that began
  std::uint64_t ended = 0;     // of them; the times are those of these
  std::uint64_t total_ns = 0;  // by the clock; inside of another call of the name it counts once
  std::uint64_t self_ns = 0;   // without named calls inside
  std::uint64_t longest_ns = 0;
  std::uint64_t mean_ns = 0;
};

// Most self time first.
[[nodiscard]] std::vector<NamedCalls> NamedCallsOf(const v1::Profile& profile);

}  // namespace profd::client
