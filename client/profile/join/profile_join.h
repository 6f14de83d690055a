// ProfileJoin: profiles of many hosts as one, in which each process says its host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/join/joined_columns.h"
#include "client/profile/join/joined_stacks.h"
#include "client/profile/join/time_shift.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// What a joined profile may hold at most.
struct JoinLimits {
  std::uint64_t rows = 30'000'000;  // samples, switches and events of steps
  std::uint64_t nodes = 20'000'000;
};

struct JoinedHost {
  std::string name;                 // of the label; differs from that of all others
  std::uint64_t begin_unix_ns = 0;  // when its profile begins, by a clock that all share
};

// Profiles are added one by one, in any order; each may be forgotten after that. No two processes,
// threads or CPUs of different hosts are merged, so all sums are those of the parts. Equal frames,
// modules, rules and stacks become one. The times of all are those of the first profile's clock.
// CPUs of later hosts get numbers behind those of earlier ones. What cannot be said of many hosts
// is left out, and `counters` say so. One profile alone stays as it is. Used by one thread.
class ProfileJoin {
 public:
  explicit ProfileJoin(const JoinLimits& limits = {});
  ProfileJoin(const ProfileJoin&) = delete;
  ProfileJoin& operator=(const ProfileJoin&) = delete;
  ~ProfileJoin();

  // `profile` has passed CheckProfile. kExhausted: there is no room for it; nothing of it is added.
  [[nodiscard]] Result<void> Add(v1::Profile profile, const JoinedHost& host);
  [[nodiscard]] std::size_t hosts() const { return hosts_.size(); }
  // It passes CheckProfile. Empty when none was added. Nothing may be called afterwards.
  [[nodiscard]] v1::Profile Finish();

 private:
  // Numbers in the joined profile, by number in the one that is added.
  struct Places;

  [[nodiscard]] Result<void> CheckRoom(const v1::Profile& profile);
  void AddHead(const v1::Profile& profile, const TimeShift& shift);
  void AddProcesses(const v1::Profile& profile, const TimeShift& shift);
  void AddThreads(const v1::Profile& profile, const Places& places, const TimeShift& shift);
  void AddCpus(const v1::Profile& profile, Places& places);
  void AddSamples(const v1::Profile& profile, const Places& places, const TimeShift& shift);
  void AddPaths(const v1::Profile& profile, Places& places, const TimeShift& shift);
  void AddSteps(const v1::Profile& profile, const Places& places, const TimeShift& shift);
  void AddSwitches(const v1::Profile& profile, const Places& places, const TimeShift& shift);
  void LabelProcesses(int first, const std::string& host);
  void SayWhatIsLeftOut();

  const JoinLimits limits_;
  v1::Profile joined_;
  JoinedStacks stacks_;
  OptionalColumns optional_;
  std::uint64_t rows_ = 0;
  std::uint64_t weight_ns_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t next_cpu_ = 0;
  std::uint64_t base_unix_ns_ = 0;  // begin_unix_ns of the first
  std::vector<std::string> hosts_;
  std::set<std::string> targets_;
  std::set<std::string> kernels_;
  std::set<std::string> hooks_;
  std::set<std::string> versions_;
  std::uint64_t other_periods_ = 0;  // hosts whose periods differ from those of the first
  std::uint64_t raised_periods_ = 0;
  std::uint64_t cpus_left_out_ = 0;
  std::uint64_t other_clocks_ = 0;  // hosts whose times could not be moved
};

}  // namespace profd::client
