// StopTimes: when each step of the end of profd must be done.
#pragma once

#include <chrono>

namespace profd::app {

// All times count from SIGTERM, and the last ends before Ending leaves, at 4.7 s. Work that is not
// done in time is dropped and counted.
constexpr std::chrono::milliseconds kNamesUntil{1000};
constexpr std::chrono::milliseconds kSessionsUntil{3000};
constexpr std::chrono::milliseconds kHistoryUntil{3500};
// The history's threads are left then, whatever they wait for.
constexpr std::chrono::milliseconds kHistoryLeftAt{3750};
constexpr std::chrono::milliseconds kRecordingUntil{4000};
constexpr std::chrono::milliseconds kCallsUntil{4500};
// Calls that still run have at least this long, also when an earlier step took too much time.
constexpr std::chrono::milliseconds kCallsAtLeast{500};

}  // namespace profd::app
