// WebApi: what profctl web answers: the page, its scripts, and the JSON API of
// client/web/README.md.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "client/cli/history_options.h"
#include "client/commands/web/profile_sources.h"
#include "client/web/server/web_server.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Used from any thread. `sources` must outlive it.
class WebApi {
 public:
  explicit WebApi(ProfileSources& sources);

  [[nodiscard]] WebAnswer Answer(const WebRequest& request) const;

 private:
  using Method = Result<WebAnswer> (WebApi::*)(const WebRequest& request) const;

  [[nodiscard]] Result<WebAnswer> Sources(const WebRequest& request) const;
  [[nodiscard]] Result<WebAnswer> Formats(const WebRequest& request) const;
  [[nodiscard]] Result<WebAnswer> StripOf(const WebRequest& request) const;
  [[nodiscard]] Result<WebAnswer> ProfileOf(const WebRequest& request) const;
  [[nodiscard]] Result<WebAnswer> Download(const WebRequest& request) const;
  [[nodiscard]] Result<WebAnswer> Compare(const WebRequest& request) const;
  [[nodiscard]] Result<WebAnswer> Live(const WebRequest& request) const;

  // The profile that the parameters name, of which the names begin with `prefix`; the samples that
  // fit their filter.
  [[nodiscard]] Result<v1::Profile> Requested(const WebRequest& request,
                                              const std::string& prefix) const;
  [[nodiscard]] Result<ProfileRef> Source(const WebRequest& request,
                                          const std::string& prefix) const;

  ProfileSources& sources_;
  const std::map<std::string, Method, std::less<>> methods_;
};

}  // namespace profd::client
