// FrontEnd: how clients and machines reach a backend.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/config/options.h"
#include "daemon/history/history.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/status.h"
#include "daemon/server/grpc/service/profiler_service.h"
#include "daemon/server/grpc/transport/server.h"
#include "daemon/server/http/http_server.h"
#include "daemon/server/http/metrics_text.h"
#include "daemon/server/session_manager.h"

namespace profd::app {

struct FrontEndOptions {
  server::ServerOptions server;
  std::string metrics;  // loopback address; "": none
};

// The addresses that the options ask for; with --private-use, only the socket of the owner.
[[nodiscard]] FrontEndOptions AccessOf(const config::Options& options,
                                       server::InheritedSockets sockets);

// Sessions, the gRPC server, and HTTP for metrics. Owned by the composition root.
class FrontEnd {
 public:
  // What /healthz asks, from any thread.
  struct Progress {
    std::function<std::uint64_t()> last_ns;  // every stage has made a round since then
    std::function<std::string()> trouble;    // which stage is stuck; "": none
  };
  // All must outlive this.
  struct Parts {
    pipeline::SessionBackend& backend;
    const pipeline::StatusSource& status;
    const Clock& clock;
    const ProcFs& proc;
    spdlog::logger& logger;
    const history::History* history;  // null: none is kept
    Progress progress;
  };

  explicit FrontEnd(Parts parts);

  [[nodiscard]] Result<void> Serve(FrontEndOptions options);
  // Tells gRPC health checks whether a stage is stuck, as /healthz does; while it serves.
  void ReportHealth() const { server_->SetServing(parts_.progress.trouble().empty()); }
  // Clients get what their sessions have so far.
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
  std::unique_ptr<server::HttpServer> http_;  // first to go: asks all of the above
};

}  // namespace profd::app
