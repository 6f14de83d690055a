// FrontEnd: sessions, gRPC and HTTP in front of a backend.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/app/parts/health.h"
#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/config/options.h"
#include "daemon/history/history.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/status.h"
#include "daemon/rules/rule_set.h"
#include "daemon/server/grpc/service/profiler_service.h"
#include "daemon/server/grpc/service/scrape.h"
#include "daemon/server/grpc/transport/server.h"
#include "daemon/server/http/http_server.h"
#include "daemon/server/http/metrics_text.h"
#include "daemon/server/http/pull_listener.h"
#include "daemon/server/session_manager.h"

namespace profd::app {

struct FrontEndOptions {
  server::ServerOptions server;
  std::string metrics;                        // loopback address; "": none
  std::optional<server::PullOptions> pull{};  // none: no scrapers
};

// The addresses that the options name; with --private, only the socket of the owner.
[[nodiscard]] FrontEndOptions AccessOf(const config::Options& options,
                                       server::InheritedSockets sockets);

// Job: runs the session manager, the gRPC servers, and HTTP for scrapers and metrics. Thread: the
// main thread makes and stops it; each server has its own threads. Owner: the composition root.
class FrontEnd {
 public:
  // All must outlive this.
  struct Parts {
    pipeline::SessionBackend& backend;
    const pipeline::StatusSource& status;
    const Clock& clock;
    const ProcFs& proc;
    spdlog::logger& logger;
    const history::History* history;  // null: no history is kept
    const rules::CurrentRules& rules;
    Health& health;  // for /healthz; the threads of the front end are added to it
  };

  explicit FrontEnd(Parts parts);

  [[nodiscard]] Result<void> Serve(FrontEndOptions options);
  // Updates gRPC health checks, which report the same as /healthz. Only while it serves.
  void ReportHealth(bool works) const { server_->SetServing(works); }
  // Ends all sessions; clients get the profiles of the time so far.
  void EndSessions(std::chrono::nanoseconds grace) { manager_.Shutdown(grace); }
  void StopServing(std::chrono::milliseconds grace);

 private:
  [[nodiscard]] server::HttpAnswer Answer(const std::string& path) const;
  [[nodiscard]] server::Readings Read() const;

  const Parts parts_;
  const std::uint64_t start_unix_ns_;
  server::SessionManager manager_;
  server::ProfilerService service_;
  std::unique_ptr<server::Server> server_;
  server::Scrapes scrapes_;
  std::unique_ptr<server::PullListener> pull_;
  std::unique_ptr<server::HttpServer> http_;  // last: reads all of the above
};

}  // namespace profd::app
