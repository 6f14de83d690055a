// Channel: how a connection to a profd is made, and what is said when it cannot be.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "client/link/host.h"
#include "daemon/base/result.h"

namespace profd::client {

// Of a client with this certificate. gRPC's words on handshakes are not printed from then on.
[[nodiscard]] Result<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(
    const TlsFiles& files);

// No proxy. A message of an answer, which is a part of it, has at most `most_bytes`.
[[nodiscard]] grpc::ChannelArguments ChannelArgumentsForProfd(int most_bytes = 64 << 20);

// The last words of what gRPC says of a connection: they are for people.
[[nodiscard]] std::string ReasonIn(const std::string& message);

// kUnavailable, with what to do.
[[nodiscard]] Error Unreachable(const std::string& address, const std::string& reason);

}  // namespace profd::client
