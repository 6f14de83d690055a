// Unreadable: processes whose memory did not answer when stacks of their threads were read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "bpf/shared/control.h"
#include "daemon/budget/share/shares.h"

namespace profd::source {

// Job: decides whose memory is read. A process that has held up a reader is left alone for growing
// times, and for as long as the kernel still holds that reader. A user with kMaxOfUser such
// processes is left alone as a whole, so that no user's processes cost many readers, and other
// users keep their stacks. If users together hold kMaxOfUsers readers, only root's processes are
// read. Owned by BlockedStacks, used with the lock of its sessions held; Beyond from any thread.
class Unreadable {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Whether the kernel still holds the reader of this request.
  using IsHeld = std::function<bool(std::uint64_t request)>;

  static constexpr std::size_t kMaxOfUser = 2;
  static constexpr std::size_t kMaxOfUsers = 8;
  static constexpr std::chrono::milliseconds kFirstPause{10'000};
  static constexpr std::chrono::milliseconds kLastPause{600'000};

  struct Orders {
    std::vector<std::uint32_t> pids;   // at most PROFD_MAX_UNREADABLE
    std::vector<std::uint32_t> users;  // at most PROFD_MAX_UNREADABLE_USERS
    profd_reads reads = PROFD_READS_ALL;
  };

  // `request` did not end because of this process. `user`: as reader::UserOf.
  void Note(std::uint32_t pid, std::uint32_t user, std::uint64_t request, Time now);
  // For the run of the iterator that comes next.
  [[nodiscard]] Orders Next(Time now, const IsHeld& is_held);
  // Processes and users that were left alone, and in how many runs.
  [[nodiscard]] std::vector<budget::BeyondShare> Beyond() const;

 private:
  struct Process {
    std::uint32_t pid = 0;
    std::uint32_t user = 0;
    std::uint64_t request = 0;  // the one that did not end
    std::uint64_t runs = 0;     // in which it was left alone
    std::chrono::milliseconds delay{};
    Time since{};
    Time next{};
    bool left_alone = false;
  };
  struct User {
    std::uint64_t runs = 0;
    Time last{};
    bool left_alone = false;
  };

  mutable std::mutex mutex_;
  std::vector<Process> processes_;  // in the order in which they were noted first
  std::map<std::uint32_t, User> users_;
};

}  // namespace profd::source
