#include "daemon/base/rights/own_capabilities.h"

#include <sys/capability.h>

#include <cerrno>
#include <memory>
#include <type_traits>

namespace profd {
namespace {

constexpr cap_value_t kMaxCapabilities = 64;

struct Free {
  void operator()(cap_t sets) const { static_cast<void>(::cap_free(sets)); }
};
using Sets = std::unique_ptr<std::remove_pointer_t<cap_t>, Free>;

std::uint64_t BitsOf(cap_t sets, cap_flag_t flag) {
  std::uint64_t bits = 0;
  for (cap_value_t number = 0; number < kMaxCapabilities; ++number) {
    cap_flag_value_t value = CAP_CLEAR;
    // It fails for numbers that no kernel has yet.
    if (::cap_get_flag(sets, number, flag, &value) == 0 && value == CAP_SET)
      bits |= std::uint64_t{1} << number;
  }
  return bits;
}

bool SetBits(cap_t sets, cap_flag_t flag, std::uint64_t bits) {
  for (cap_value_t number = 0; number < kMaxCapabilities; ++number)
    if ((bits >> number & 1) != 0 && ::cap_set_flag(sets, flag, 1, &number, CAP_SET) != 0)
      return false;
  return true;
}

}  // namespace

Result<CapabilitySets> OwnCapabilities() {
  const Sets sets(::cap_get_proc());
  if (sets == nullptr) return ErrorFromErrno(errno, "cannot read own capabilities");
  return CapabilitySets{BitsOf(sets.get(), CAP_EFFECTIVE), BitsOf(sets.get(), CAP_PERMITTED)};
}

Result<void> SetOwnCapabilities(const CapabilitySets& wanted) {
  const Sets sets(::cap_init());
  if (sets == nullptr || !SetBits(sets.get(), CAP_EFFECTIVE, wanted.effective) ||
      !SetBits(sets.get(), CAP_PERMITTED, wanted.permitted) || ::cap_set_proc(sets.get()) != 0)
    return ErrorFromErrno(errno, "cannot drop capabilities");
  return {};
}

}  // namespace profd
