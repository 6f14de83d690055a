// ServerSettings: the settings that all gRPC servers of profd have in common.
#pragma once

#include <grpcpp/server_builder.h>

namespace profd::server {

// Call this once, before the first server. It is never undone: after a large profile, the shutdown
// of gRPC waits up to 10 s for one of its own pollers.
void InitializeGrpc();

// Turns on keep-alive: a connection whose client does not answer for 20 s is closed, because the
// client is stopped or its machine suspended. Bounds the calls and the headers of a connection.
void ApplySettings(grpc::ServerBuilder& builder);

}  // namespace profd::server
