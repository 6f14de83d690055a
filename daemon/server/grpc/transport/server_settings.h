// ServerSettings: the settings that all gRPC servers of profd have in common.
#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>

namespace profd::server {

// Call this once, before the first server. It is never undone: after a large profile, the shutdown
// of gRPC waits up to 10 s for one of its own pollers.
void InitializeGrpc();

// How long a client may take, at any socket.
struct ClientTimes {
  std::chrono::milliseconds handshake{10'000};  // of TLS
  // Without an answer to a ping: the client is stopped or its machine suspended.
  std::chrono::milliseconds keepalive{20'000};
  std::chrono::milliseconds unread{60'000};  // to take one message of an answer
  std::chrono::milliseconds idle{600'000};   // without a call
};

// The server has neither of gRPC's own services: health and reflection.
void RemoveCommonServices(grpc::ServerBuilder& builder);

// Bounds the times, the calls and the headers of a connection.
void ApplySettings(grpc::ServerBuilder& builder, const ClientTimes& times);

}  // namespace profd::server
