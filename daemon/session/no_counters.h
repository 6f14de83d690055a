// Why a host has no hardware counters for sessions, in one sentence.
#pragma once

#include <string_view>

namespace profd::session {

// `refused`: profd lacks a right; else the host has none.
[[nodiscard]] constexpr std::string_view NoCountersText(bool refused) {
  return refused ? "no hardware counters: profd may not open them; it needs CAP_PERFMON, or "
                   "kernel.perf_event_paranoid at 0 or less"
                 : "no hardware counters: this host has no PMU (usual in virtual machines)";
}

}  // namespace profd::session
