// OnWhom: on whom threads wait, by the paths of a profile.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "client/profile/share_error.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// One step of a path, as it is shown: threads of one name are one, and so are steps that follow
// each other with one name: those who stand in one queue.
struct WhomStep {
  std::string name;  // of a thread; "the disk", "a timer", ... of what is none. Safe text
  v1::PathKind kind = v1::PATH_NONE;
  v1::PathHow how = v1::HOW_WOKE;
  v1::WaitReason wait = v1::WAIT_NONE;  // PATH_WAITS
  bool several = false;                 // of some paths, several steps
};

// Blocked time of one reason that ends alike.
struct WhomRow {
  v1::WaitReason wait = v1::WAIT_NONE;
  std::vector<WhomStep> steps;  // from the waiter outwards; empty: nothing is known of it
  std::uint64_t ns = 0;
  std::uint64_t points = 0;    // samples that it rests on
  std::uint64_t exact_ns = 0;  // part that was measured, not sampled
  ErrorSum error;              // of ns
  // What says most about it: of a thread that runs or waits at the end of the path its own stacks,
  // else those of the waiter.
  struct Stack {
    std::uint32_t node = 0;
    std::uint64_t ns = 0;
    v1::State state = v1::STATE_BLOCKED;
    v1::WaitReason wait = v1::WAIT_NONE;
  };
  std::vector<Stack> stacks;

  [[nodiscard]] v1::PathKind end() const {
    return steps.empty() ? v1::PATH_NONE : steps.back().kind;
  }
};

// Whether the end of a path says that nothing is known of it.
[[nodiscard]] bool IsUnknown(v1::PathKind kind);
// "still waits", "wake-up not seen"; "not sampled" for PATH_NONE.
[[nodiscard]] std::string_view UnknownName(v1::PathKind kind);
// How a path ends, in a word: "runs", "no CPU", "timer", "still waits". "waits" for PATH_WAITS, of
// which nothing follows; "unknown" for what a newer profd may know.
[[nodiscard]] std::string_view EndName(v1::PathKind kind);

// "its end", "its signal"; "" for what goes without saying.
[[nodiscard]] std::string_view HowName(v1::PathHow how);

// The name of a thread on paths, for a waiter of process `pid` (0: of several): "engine-worker", or
// with its process, "postgres/worker". Threads that differ in numbers only have one name.
[[nodiscard]] std::string PathThreadName(const v1::PathThread& thread, std::uint32_t pid);

// The steps of a path, from the waiter outwards.
[[nodiscard]] std::vector<const v1::PathNode*> StepsOf(const v1::Profile& profile,
                                                       std::uint32_t path);

// The same as they are shown, for a waiter of process `pid` (0: of several).
[[nodiscard]] std::vector<WhomStep> ShownSteps(const v1::Profile& profile, std::uint32_t path,
                                               std::uint32_t pid);
// "engine-worker < the disk".
[[nodiscard]] std::string ChainOf(const std::vector<WhomStep>& steps);

// On whom a sample waits, in words; all empty for one that has no path.
struct WhomWords {
  std::string waits_for;  // the first thread; "": no thread ends the wait
  std::string path;       // ChainOf
  std::string_view end;   // "disk"
};
// The texts are safe.
[[nodiscard]] WhomWords WordsOf(const v1::Profile& profile, std::uint32_t path, std::uint32_t pid);

// Blocked time by who ends the waits, by the first steps of their paths: "engine-worker" or
// "[timer]", and "" for what is not known.
using WakerTimes = std::map<std::string, std::uint64_t>;
// Of each thread. The profile must have passed CheckProfile.
[[nodiscard]] std::vector<WakerTimes> WakersOfThreads(const v1::Profile& profile);

// The blocked time of these threads (indexes into Profile.threads) by reason and path, most first.
// Its parts add up to the blocked time of their samples. The profile must have passed CheckProfile.
[[nodiscard]] std::vector<WhomRow> OnWhom(const v1::Profile& profile,
                                          std::span<const std::uint32_t> threads);

}  // namespace profd::client
