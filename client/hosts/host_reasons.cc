#include "client/hosts/host_reasons.h"

#include <algorithm>
#include <utility>

#include "client/text/number.h"

namespace profd::client {
namespace {

struct Reason {
  Error error;
  std::vector<std::string> hosts;
};

}  // namespace

std::vector<Error> HostReasons(const std::vector<HostFailure>& failures, std::size_t hosts) {
  std::vector<Reason> reasons;
  for (const HostFailure& failure : failures) {
    auto known = std::ranges::find_if(reasons, [&](const Reason& reason) {
      return reason.error.message == failure.error.message;
    });
    if (known == reasons.end()) known = reasons.insert(known, Reason{failure.error, {}});
    known->hosts.push_back(failure.host);
  }
  std::ranges::stable_sort(reasons, std::ranges::greater(),
                           [](const Reason& reason) { return reason.hosts.size(); });
  std::vector<Error> errors;
  for (Reason& reason : reasons) {
    std::ranges::sort(reason.hosts);
    std::string names;
    for (const std::string& host : reason.hosts) names += (names.empty() ? "" : ", ") + host;
    Error error = std::move(reason.error);
    error.message = FormatCount(reason.hosts.size()) + " of " + FormatCount(hosts) +
                    (hosts == 1 ? " host: " : " hosts: ") + error.message + ": " + names;
    errors.push_back(std::move(error));
  }
  return errors;
}

}  // namespace profd::client
