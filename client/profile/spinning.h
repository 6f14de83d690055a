// Spinning: the part of the time on a CPU in which threads wait with the CPU in hand, by the rules
// that a profile carries. Running = working + spinning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// For all functions the profile must have passed CheckProfile.

// The rule that decided; null: none did.
[[nodiscard]] const v1::Rule* RuleOf(const v1::Profile& profile, int sample);
[[nodiscard]] bool IsSpinning(const v1::Profile& profile, int sample);
// Of a class of rules that waits with a CPU in hand.
[[nodiscard]] bool IsSpinning(v1::FrameClass frame_class);
// On a CPU, and not spinning.
[[nodiscard]] bool IsWorking(const v1::Profile& profile, int sample);

// "spin"; "" for none, and for what a newer profd may know.
[[nodiscard]] std::string_view ClassName(v1::FrameClass frame_class);

// A sum of samples that spin.
struct SpinningTime {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;  // samples that it rests on

  void operator+=(const SpinningTime& other);
};

// By thread of the profile.
[[nodiscard]] std::vector<SpinningTime> SpinningOfThreads(const v1::Profile& profile);
// Whether screens show it: where it is more than 0.5 % of `whole_ns`. Else the columns of working
// and spinning are one, which is running.
[[nodiscard]] bool IsShown(const SpinningTime& spinning, std::uint64_t whole_ns);
// What is left of `running_ns`.
[[nodiscard]] std::uint64_t WorkingNs(std::uint64_t running_ns, const SpinningTime& spinning);
// "12.3 %", "~0.2 %" of few samples.
[[nodiscard]] std::string FormatSpinning(const SpinningTime& spinning, std::uint64_t whole_ns);

// Time on a CPU that a rule has decided.
struct RuleTime {
  std::uint64_t ns = 0;
  std::string text;  // "spin: function 'gomp_.*' in module '.*libgomp.*' (rules.toml:12)"; safe
};
// Most time first.
[[nodiscard]] std::vector<RuleTime> RuleTimes(const v1::Profile& profile);

}  // namespace profd::client
