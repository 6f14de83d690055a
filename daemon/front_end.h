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
#include "daemon/metrics/http_server.h"
#include "daemon/metrics/readings.h"
#include "daemon/rpc/history.h"
#include "daemon/rpc/profiler_service.h"
#include "daemon/rpc/server.h"
#include "daemon/rpc/session_backend.h"
#include "daemon/rpc/session_manager.h"

namespace profd {

struct FrontEndOptions {
  rpc::ServerOptions server;
  std::string metrics;  // loopback address; "": none
};

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
    rpc::SessionBackend& backend;
    const Clock& clock;
    const ProcFs& proc;
    spdlog::logger& logger;
    const rpc::History* history;  // null: none is kept
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
  [[nodiscard]] metrics::HttpAnswer Answer(const std::string& path) const;
  [[nodiscard]] metrics::Readings Read() const;

  const Parts parts_;
  const std::uint64_t start_unix_ns_;
  rpc::SessionManager manager_;
  rpc::ProfilerService service_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<metrics::HttpServer> http_;  // first to go: asks all of the above
};

}  // namespace profd
