// ThreadRows: a profile's threads as the rows of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/profile/spinning.h"
#include "client/profile/stolen_time.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Blocked time of one reason.
struct WaitTime {
  v1::WaitReason reason = v1::WAIT_NONE;
  std::uint64_t ns = 0;
  std::uint64_t points = 0;    // samples that it rests on
  std::uint64_t exact_ns = 0;  // part that was measured, not sampled
};

// One thread, or threads that look the same. Times are sums over the threads.
struct ThreadRow {
  std::vector<std::uint32_t> threads;  // indexes into Profile.threads, at least one
  std::uint32_t process = 0;           // index into Profile.processes: that of the first thread
  std::size_t count = 1;               // threads; those of a group each
  std::size_t processes = 1;           // that the threads are of; those of a group each
  std::string name;                    // safe text; "pool-*" when the names differ in numbers only
  std::optional<std::uint32_t> tid;    // when it is one thread, and no group
  std::uint64_t elapsed_ns = 0;
  std::uint64_t on_cpu_ns = 0;  // working and spinning
  SpinningTime spinning;        // by samples
  std::uint64_t runnable_ns = 0;
  std::uint64_t blocked_ns = 0;
  StolenTime stolen;
  std::vector<WaitTime> waits;  // by time, most first
  bool clock_missing = false;   // times are sums of samples
};

// A sampled amount is rough: few marks, and not measured in the main.
[[nodiscard]] bool IsRough(std::uint64_t ns, std::uint64_t points, std::uint64_t exact_ns);

// A row a thread, in the order of the profile.
[[nodiscard]] std::vector<ThreadRow> EachThread(const v1::Profile& profile);

// Rows by busy time (running and runnable), most first; equal ones by process and tid. Idle threads
// of one process with the same name but for numbers and the same main wait reason are one row. For
// both the profile must have passed CheckProfile.
[[nodiscard]] std::vector<ThreadRow> ThreadRows(const v1::Profile& profile);

// Joins rows of processes of one program whose threads have the same name but for numbers: what a
// pool of workers or of processes does is said once. Main threads are apart from others. Order as
// that of the first row of each.
[[nodiscard]] std::vector<ThreadRow> JoinPools(const v1::Profile& profile,
                                               const std::vector<ThreadRow>& rows);

// As JoinPools, but joins only what waits mostly for the same and whose shares differ by less than
// a tenth of the time: a process that is not like the others stays a row of its own.
[[nodiscard]] std::vector<ThreadRow> JoinAlike(const v1::Profile& profile,
                                               const std::vector<ThreadRow>& rows);

// Whether it is of main threads.
[[nodiscard]] bool IsMain(const v1::Profile& profile, const ThreadRow& row);

}  // namespace profd::client
