// Judge: whether the stacks of a profile are those that there were.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profd/v1/profile.pb.h"
#include "tests/e2e/python/oracle/truth.h"

namespace profd::oracle {

// What was found in the windows of one case.
struct Verdict {
  std::uint64_t samples = 0;
  std::uint64_t without_stack = 0;  // the kernel had none
  std::uint64_t not_merged = 0;     // flagged merge=failed
  std::uint64_t apart = 0;  // of those, where they may be, and of native stacks that end early
  std::uint64_t early = 0;  // the process's interpreter was not understood yet
  std::uint64_t cut = 0;    // the native stack or the Python one ends early, and says so
  std::uint64_t gaps = 0;   // with <stale> or <unknown>
  std::map<std::string, std::uint64_t> wrong;  // what, and how often
  std::map<std::string, std::uint64_t> waits;
  std::string last_not_merged;

  void Add(const Verdict& other);
  [[nodiscard]] std::uint64_t WrongSamples() const;
};

// Every sample of the window's thread between its begin and end.
[[nodiscard]] Verdict Judge(const v1::Profile& profile, const Window& window);

// Python frames on threads of this name.
[[nodiscard]] Verdict JudgeNatives(const v1::Profile& profile, const std::string& comm);

}  // namespace profd::oracle
