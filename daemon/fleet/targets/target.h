// Target: a receiver of exported profiles. The seam between the spool and the ways to send.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/spool/spool.h"

namespace profd::fleet {

struct EncodedProfile {
  std::vector<std::string> payloads;  // in the order in which they are to be sent
  std::uint64_t too_large_ns = 0;     // of rows that no request can hold
};

// What became of a request.
struct Verdict {
  enum class Kind : std::uint8_t {
    kSent,
    kLater,     // nothing was taken; it may be the next time
    kTooLarge,  // nothing was taken, nor will be before it is split
    kRefused    // and always will be
  };
  Kind kind = Kind::kSent;
  std::string cause = {};    // of kRefused and kTooLarge, as a name: "refused_invalid_argument"
  std::string message = {};  // for people; "" of kSent
  std::uint64_t retry_after_ns = 0;  // of kLater: what the receiver wishes; 0: nothing
};

[[nodiscard]] inline Verdict Later(std::string message, std::uint64_t retry_after_ns = 0) {
  return {.kind = Verdict::Kind::kLater,
          .message = std::move(message),
          .retry_after_ns = retry_after_ns};
}

// No receiver can make an export wait for longer.
inline constexpr std::uint64_t kMostRetrySeconds = 3'600;

// Used by the thread of its Exporter.
class Target {
 public:
  virtual ~Target() = default;
  // Whether rows for it are distinguished by on whom their threads wait.
  [[nodiscard]] virtual Paths paths() const { return Paths::kLeftOut; }
  [[nodiscard]] virtual Result<EncodedProfile> Encode(const ExportProfile& profile) = 0;
  // `number` is that of the entry, and the same for each try. Takes the time-out of the target at
  // most, or that of each insert.
  [[nodiscard]] virtual Verdict Send(const SpoolEntry& entry, std::uint64_t number) = 0;
  // Smaller requests whose sums are those of this one; the same each time. Fewer than two: it
  // cannot be split.
  [[nodiscard]] virtual std::vector<std::string> Split(const std::string& /*payload*/) {
    return {};
  }
};

}  // namespace profd::fleet
