// What a profile says of itself as a whole: what is sampled, how long, and how far it can be
// trusted.
#pragma once

#include <cstdint>
#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// What is sampled decides what a weight is.
enum class Mode { kWall, kOnCpu, kOffCpu };
[[nodiscard]] Mode ModeOf(const v1::Profile& profile);

// From the begin to the end of the collection; of a thread: how long it lived in it. 0 where a file
// says that the end comes first.
[[nodiscard]] std::uint64_t LengthNs(const v1::Profile& profile);
// Of a group the sum of its threads.
[[nodiscard]] std::uint64_t LengthNs(const v1::Thread& thread);

// How many threads or processes this is: 1, or the size of the group.
[[nodiscard]] std::size_t MembersOf(const v1::Thread& thread);
[[nodiscard]] std::size_t MembersOf(const v1::Process& process);
[[nodiscard]] std::size_t ThreadCount(const v1::Profile& profile);
[[nodiscard]] std::size_t ProcessCount(const v1::Profile& profile);

// Sums of all samples, and of counts such as Profile.lost.
[[nodiscard]] std::uint64_t SampleCount(const v1::Profile& profile);
[[nodiscard]] std::uint64_t SumOf(const google::protobuf::RepeatedPtrField<v1::NamedCount>& counts);

// "closure 0.02 %": the worst closure error of all threads that have a clock. Two decimals: what is
// good here is far below a tenth of a percent.
[[nodiscard]] std::string ClosureText(const v1::Profile& profile);

// Whether its samples are single ones, each with its own time: those of the history are sums of
// one stack over a window.
[[nodiscard]] bool HasSampleTimes(const v1::Profile& profile);

// Of sample number `index`; what a newer profd may know is GIL_UNKNOWN. The profile must have
// passed CheckProfile.
[[nodiscard]] v1::Gil GilOf(const v1::Samples& samples, int index);

// Bits of stack_flags: see profile.proto.
inline constexpr std::uint32_t kStackHasNoUserPart = 16;
inline constexpr std::uint32_t kStackReachesRoot = 32;
inline constexpr std::uint32_t kStackByFramePointer = 128;

// How user stacks were walked, by the flags of samples.
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
