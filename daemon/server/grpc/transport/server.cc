#include "daemon/server/grpc/transport/server.h"

#include <utility>
#include <vector>

#include "daemon/server/grpc/transport/server_settings.h"
#include "daemon/server/grpc/transport/unix_listener.h"

namespace profd::server {
namespace {

constexpr unsigned kGroupMode = 0660;
constexpr unsigned kPublicMode = 0666;

Result<Door> MakeDoor(const std::string& path, bool trusted, ServerOptions& options,
                      spdlog::logger& logger) {
  // systemd has made the socket: its unit decides on group and mode, and removes it. Who may call
  // is decided here all the same (Connections).
  if (const auto made = options.inherited.find(path); made != options.inherited.end()) {
    Door door;
    door.listener.path = path;
    door.listener.fd = std::move(made->second);
    door.trusted = trusted;
    options.inherited.erase(made);
    return door;
  }
  auto listener =
      trusted ? ListenAt(path, kGroupMode, options.group) : ListenAt(path, kPublicMode, "");
  if (!listener) return listener.error();
  if (!listener->note.empty())
    logger.warn("{}: only root and profd's own user can use {}", listener->note, path);
  return Door{*std::move(listener), trusted};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, ProfilerService& service,
                                              const Clock& clock, spdlog::logger& logger) {
  const auto path = ParseSocketAddress(options.address);
  if (!path) return path.error();
  InitializeGrpc();
  std::vector<Door> doors;
  auto door = MakeDoor(*path, true, options, logger);
  if (!door) return door.error();
  doors.push_back(*std::move(door));
  if (!options.public_socket.empty()) {
    door = MakeDoor(options.public_socket, false, options, logger);
    if (!door) return door.error();
    doors.push_back(*std::move(door));
  }
  for (const auto& [unused, fd] : options.inherited)
    logger.warn("systemd listens at {}, but profd serves nothing there", unused);
  std::unique_ptr<Server> server(new Server(service, clock, logger));
  auto connections =
      Connections::Start(std::move(doors), options.group, server->gate_, options.times);
  if (!connections) return connections.error();
  server->connections_ = *std::move(connections);
  if (options.tls) {
    auto tls = TlsListener::Start(options.tls->address, options.tls->files, options.tls->roles,
                                  server->gate_, options.times, logger);
    if (!tls) return tls.error();
    server->tls_ = *std::move(tls);
    logger.info("serving TLS at {}, port {}", options.tls->address, server->tls_->port());
  }
  return server;
}

Server::Server(ProfilerService& service, const Clock& clock, spdlog::logger& logger)
    : rates_(clock),
      refusals_(clock, logger),
      calls_(clock, logger),
      gate_{service, rates_, running_, refusals_, calls_, clock, serving_} {}

std::vector<const Heartbeat*> Server::heartbeats() const {
  std::vector<const Heartbeat*> threads{&connections_->heartbeat()};
  if (tls_) threads.push_back(&tls_->heartbeat());
  return threads;
}

void Server::Shutdown(std::chrono::milliseconds grace) {
  const auto deadline = std::chrono::system_clock::now() + grace;
  if (tls_) tls_->Shutdown(deadline);
  connections_->Shutdown(deadline);
}

}  // namespace profd::server
