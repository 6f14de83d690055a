// How well threads use CPUs, for programs.
#pragma once

#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// A row a thread or group of short-lived ones, those first that want CPUs most; times in ns. Its
// lines as SheetCsv writes them. The profile has passed CheckProfile, also for ThreadsJson.
[[nodiscard]] std::string ThreadsCsv(const v1::Profile& profile);
// {"start_unix_ns", "length_ns", "samples", "cpus", "processes": [...], "threads": [...],
// "advice": [...]}: the same rows as objects; of processes how many of their threads ran at once.
[[nodiscard]] std::string ThreadsJson(const v1::Profile& profile);

}  // namespace profd::client
