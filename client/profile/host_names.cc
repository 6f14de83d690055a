#include "client/profile/host_names.h"

#include "client/profile/labels/label_values.h"
#include "client/profile/stack_names.h"

namespace profd::client {

std::string_view HostOf(const v1::Process& process) {
  return LabelIn(process, kHostLabel).value_or("");
}

std::string HostName(const v1::Profile& profile, const v1::Process& process) {
  const std::string_view own = HostOf(process);
  const std::string_view host = own.empty() ? std::string_view(profile.host()) : own;
  return host.empty() ? "[no host]" : SafeName(host);
}

std::string OnHost(const v1::Process& process) {
  const std::string_view host = HostOf(process);
  return host.empty() ? "" : " on " + SafeName(host);
}

}  // namespace profd::client
