// TokenBucket: limits how often something may happen. Pure; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace profd::server {

// It allows `burst` events at once, and `per_second` events a second on average. Times are
// CLOCK_MONOTONIC.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst, std::uint64_t now_ns)
      : per_second_(per_second), burst_(burst), tokens_(burst), filled_ns_(now_ns) {}

  // False: there is no token.
  [[nodiscard]] bool Take(std::uint64_t now_ns) {
    tokens_ = TokensAt(now_ns);
    filled_ns_ = std::max(filled_ns_, now_ns);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // True if the bucket equals a new one.
  [[nodiscard]] bool IsFull(std::uint64_t now_ns) const { return TokensAt(now_ns) >= burst_; }

 private:
  [[nodiscard]] double TokensAt(std::uint64_t now_ns) const {
    if (now_ns <= filled_ns_) return tokens_;
    return std::min(burst_, tokens_ + static_cast<double>(now_ns - filled_ns_) / 1e9 * per_second_);
  }

  double per_second_;
  double burst_;
  double tokens_;
  std::uint64_t filled_ns_;
};

}  // namespace profd::server
