// What all gRPC servers of profd have in common.
#pragma once

#include <grpcpp/server_builder.h>

namespace profd::server {

// Once, before the first server. Never undone: at its end gRPC waits up to 10 s for a poller of its
// own where a large profile was sent.
void InitializeGrpc();

// Keep-alive: a caller that does not answer for 20 s (stopped, or its machine suspended) is gone.
void ApplySettings(grpc::ServerBuilder& builder);

}  // namespace profd::server
