#include "daemon/app/front_end.h"

#include <utility>

#include "daemon/base/proc/own_usage.h"
#include "daemon/server/grpc/transport/unix_listener.h"
#include "daemon/server/http/metrics_text.h"

namespace profd::app {
namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kUnavailable = 503;

// "": there is none. Its address has been checked.
std::string PublicSocketOf(const config::Options& options) {
  if (options.public_socket == "on") return server::kPublicSocket;
  const auto path = server::ParseSocketAddress(options.public_socket);
  return path ? *path : "";
}

// Both lists have been checked; without them no certificate would have a role.
server::Roles RolesOf(const config::Options& options) {
  const auto roles = server::Roles::Parse(options.tls_operators, options.tls_readers);
  return roles ? *roles : *server::Roles::Parse("", "");
}

}  // namespace

FrontEndOptions AccessOf(const config::Options& options, server::InheritedSockets sockets) {
  FrontEndOptions access;
  access.server = {.address = options.listen,
                   .group = options.private_use ? "" : server::kGroup,
                   .public_socket = PublicSocketOf(options),
                   .inherited = std::move(sockets)};
  if (options.private_use) return access;  // no other client may connect
  access.metrics = options.metrics_listen;
  const server::TlsFiles files{.certificate = options.tls_certificate,
                               .key = options.tls_key,
                               .client_ca = options.tls_client_ca};
  if (!options.tls_listen.empty())
    access.server.tls = {options.tls_listen, files, RolesOf(options)};
  if (!options.pprof_listen.empty()) access.pull = {options.pprof_listen, files, RolesOf(options)};
  return access;
}

FrontEnd::FrontEnd(Parts parts)
    : parts_(parts),
      start_unix_ns_(parts_.clock.RealtimeNs()),
      manager_(parts_.backend, parts_.clock),
      service_(manager_, parts_.backend, parts_.status, parts_.clock, parts_.proc, parts_.logger,
               parts_.history, &parts_.rules),
      scrapes_({manager_, parts_.proc, parts_.rules}) {
  parts_.health.Watch(manager_.heartbeat());
}

Result<void> FrontEnd::Serve(FrontEndOptions options) {
  auto server =
      server::Server::Start(std::move(options.server), service_, parts_.clock, parts_.logger);
  if (!server) return server.error();
  server_ = std::move(*server);
  parts_.health.Watch(server_->heartbeats());
  if (options.pull) {
    auto pull = server::PullListener::Start(*options.pull, scrapes_, parts_.clock, parts_.logger);
    if (!pull) return pull.error();
    pull_ = std::move(*pull);
    parts_.health.Watch(pull_->heartbeat());
    parts_.logger.info("serving scrapers at {}, port {}", options.pull->address, pull_->port());
  }
  if (options.metrics.empty()) return {};
  auto http = server::HttpServer::Start(options.metrics,
                                        [this](const std::string& path) { return Answer(path); });
  if (!http) return http.error();
  http_ = std::move(*http);
  const auto host = options.metrics.substr(0, options.metrics.rfind(':'));
  parts_.logger.info("metrics at http://{}:{}/metrics", host, http_->port());
  return {};
}

void FrontEnd::StopServing(std::chrono::milliseconds grace) {
  http_.reset();
  if (pull_) pull_->Shutdown();
  if (server_) server_->Shutdown(grace);
}

server::HttpAnswer FrontEnd::Answer(const std::string& path) const {
  server::HttpAnswer answer;
  if (path == "/metrics") {
    answer = {kOk, server::kMetricsType, server::MetricsText(Read())};
  } else if (path == "/healthz") {
    const auto trouble = parts_.health.Failure();
    answer.status = trouble.empty() ? kOk : kUnavailable;
    answer.body = (trouble.empty() ? "ok" : trouble) + "\n";
  }
  return answer;
}

server::Readings FrontEnd::Read() const {
  server::Readings readings;
  readings.start_unix_ns = start_unix_ns_;
  // Threads first: what they have can only be less than the sum that is read later.
  readings.thread_cpu_ns = OwnThreadCpuNs(parts_.proc);
  readings.cpu_ns = OwnCpuNs();
  readings.resident_bytes = OwnResidentBytes(parts_.proc);
  readings.progress_age_ns = parts_.health.LongestRoundNs();
  readings.backend = parts_.status.Status();
  if (parts_.history != nullptr) readings.history = parts_.history->Status();
  readings.sessions = manager_.List().size();
  readings.refusals = server_->refusals() + (pull_ ? pull_->refusals() : 0);
  return readings;
}

}  // namespace profd::app
