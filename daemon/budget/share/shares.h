// Shares, ProcessShares: what one process, or one user, may use of work that profd does for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "bpf/shared/shares.h"
#include "daemon/base/clock.h"
#include "daemon/base/lru_cache.h"

namespace profd::budget {

// Who has gone beyond a share.
struct BeyondShare {
  profd_share_key key{};
  std::uint64_t count = 0;    // left out, since the share is kept
  std::uint64_t last_ns = 0;  // CLOCK_MONOTONIC
};

// What each one of `now` has beyond what it had in `before`; those that have nothing are left out.
// A share that was forgotten meanwhile counts from 0 again.
[[nodiscard]] std::vector<BeyondShare> BeyondSince(const std::vector<BeyondShare>& before,
                                                   std::vector<BeyondShare> now);

// A token bucket for each process or user. It keeps those of the kMaxKept that were used last, so
// an attacker with many ids costs a bounded amount of memory. Any thread.
class Shares {
 public:
  static constexpr std::size_t kMaxKept = 8'192;

  struct Rate {
    std::uint64_t per_second = 0;
    std::uint64_t at_once = 0;  // at least 1
  };

  // `clock` must outlive this.
  Shares(profd_share_kind kind, const Rate& rate, const Clock& clock)
      : kind_(kind), rate_(rate), clock_(clock) {}

  // Whether something is left of the share of `id`, a pid or a uid. If not, that is counted.
  [[nodiscard]] bool Admit(std::uint32_t id);
  // Takes what an admitted piece of work has cost. That may be more than what is left: then the
  // next one is admitted when it is paid for.
  void Charge(std::uint32_t id, std::uint64_t amount);
  // For work that costs 1.
  [[nodiscard]] bool Take(std::uint32_t id);
  // `id` is known to be beyond it, whatever it has used.
  void Count(std::uint32_t id);

  // Those that were beyond their share.
  [[nodiscard]] std::vector<BeyondShare> Beyond() const;

 private:
  struct Share {
    std::uint64_t used_ns = 0;  // it is used up to here, which may lie in the future
    std::uint64_t beyond = 0;
    std::uint64_t beyond_ns = 0;
  };

  // These with the lock held.
  [[nodiscard]] Share& Of(std::uint32_t id);
  [[nodiscard]] bool AdmitNow(std::uint32_t id, std::uint64_t now_ns);
  void ChargeNow(std::uint32_t id, std::uint64_t amount, std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t TimeOf(std::uint64_t amount) const;

  const profd_share_kind kind_;
  const Rate rate_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  LruCache<std::uint32_t, Share> shares_{kMaxKept};
};

// The share of a process within that of its user: a piece of work counts for both. Any thread.
struct ProcessShares {
  // `clock` must outlive this.
  ProcessShares(profd_share_kind process_kind, const Shares::Rate& process_rate,
                profd_share_kind user_kind, const Shares::Rate& user_rate, const Clock& clock)
      : of_process(process_kind, process_rate, clock), of_user(user_kind, user_rate, clock) {}

  [[nodiscard]] bool Admit(std::uint32_t pid, std::uint32_t user) {
    return of_process.Admit(pid) && of_user.Admit(user);
  }
  void Charge(std::uint32_t pid, std::uint32_t user, std::uint64_t amount) {
    of_process.Charge(pid, amount);
    of_user.Charge(user, amount);
  }

  Shares of_process;
  Shares of_user;
};

}  // namespace profd::budget
