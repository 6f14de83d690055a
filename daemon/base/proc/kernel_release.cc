#include "daemon/base/proc/kernel_release.h"

#include <charconv>

namespace profd {

std::optional<KernelRelease> ParseKernelRelease(std::string_view release) {
  KernelRelease parsed;
  const char* end = release.data() + release.size();
  const auto [dot, error] = std::from_chars(release.data(), end, parsed.first);
  if (error != std::errc{} || dot == end || *dot != '.' ||
      std::from_chars(dot + 1, end, parsed.second).ec != std::errc{})
    return std::nullopt;
  return parsed;
}

bool LockdownForbidsReading(std::string_view lockdown) {
  return lockdown.find("[confidentiality]") != std::string_view::npos;
}

}  // namespace profd
