// Scrapes: profiles by pull, as pprof has them, for a known caller.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/pipeline/session.h"
#include "daemon/rules/rule_set.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/session_manager.h"

namespace profd::server {

// What a scraper wants to have. Passive.
struct ScrapeRequest {
  bool on_cpu_only = true;     // /debug/pprof/profile; else /debug/pprof/wall
  std::uint32_t seconds = 30;  // as Go's own servers have it
  std::uint32_t pid = 0;       // 0: see comm
  std::string comm;            // "": see labels
  // "NAME=VALUE", as session::Target has them; none: all processes.
  std::vector<std::string> labels;
};

// Of a URL: {"seconds", "10"}, {"service", "cart"}, {"label", "service.version=1.4"}.
using ScrapeArguments = std::vector<std::pair<std::string, std::string>>;

// `path`: "/debug/pprof/wall". kNotFound: there is no such page. kInvalidArgument: an argument that
// is not known, or no value of it.
[[nodiscard]] Result<ScrapeRequest> ParseScrape(std::string_view path,
                                                const ScrapeArguments& arguments);

// Runs sessions, at most kMost at once: a scraper that comes again before it has its answer must
// not take up all that profd can do. Methods may be called from any thread; Collect blocks its own.
class Scrapes {
 public:
  static constexpr std::uint32_t kMost = 4;
  static constexpr std::uint32_t kMostSeconds = 600;

  // All must outlive this.
  struct Parts {
    SessionManager& manager;
    const ProcFs& proc;
    const rules::CurrentRules& rules;
  };
  explicit Scrapes(const Parts& parts) : parts_(parts) {}

  // The bytes of a profile.proto, with gzip. `gone`: whether the client has left; the session ends
  // then, and the error is kUnavailable. kPermissionDenied: the caller is a reader. kExhausted: too
  // many sessions at once. kNotFound: no such process, or none with these labels.
  [[nodiscard]] Result<std::string> Collect(const Caller& caller, const ScrapeRequest& request,
                                            const std::function<bool()>& gone);

 private:
  [[nodiscard]] Result<aggregate::ProfileRef> Run(const Caller& caller,
                                                  const ScrapeRequest& request,
                                                  const std::function<bool()>& gone);

  const Parts parts_;
  std::mutex mutex_;
  std::uint32_t running_ = 0;
};

}  // namespace profd::server
