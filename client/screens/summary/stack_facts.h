// StackFacts: how user stacks were walked, by the flags of samples.
#pragma once

#include <cstdint>
#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Bits of stack_flags: see profile.proto.
inline constexpr std::uint32_t kStackHasNoUserPart = 16;
inline constexpr std::uint32_t kStackByFramePointer = 128;

struct StackFacts {
  std::uint64_t stacks = 0;            // that have a user part
  std::uint64_t by_frame_pointer = 0;  // of them: from code without unwind rules on
  [[nodiscard]] bool many_by_frame_pointer() const { return by_frame_pointer > stacks / 100; }
};

// The profile must have passed CheckProfile.
[[nodiscard]] StackFacts StackFactsOf(const v1::Profile& profile);

// "12 of 300 stacks go on by frame pointer"
[[nodiscard]] std::string FramePointerText(const StackFacts& facts);
// How that sentence ends.
inline constexpr const char* kFramePointerMeans =
    "where code has no unwind rules: callers beyond may be wrong or missing";

}  // namespace profd::client
