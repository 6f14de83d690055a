// GrpcChannel: calls of one method at a receiver over gRPC, with messages as bytes.
#pragma once

#include <memory>
#include <string>

#include "daemon/base/result.h"
#include "daemon/fleet/profile/settings.h"

namespace profd::fleet {

struct GrpcAnswer {
  int code = 0;         // 0: the call succeeded
  std::string message;  // of the receiver or of gRPC
  std::string details;  // of the trailer grpc-status-details-bin
  std::string body;
};

// One connection, made again by itself. Files of headers are read again for each call, those of
// TLS once. Thread: one.
class GrpcChannel {
 public:
  // `method` is "/package.Service/Method".
  GrpcChannel(const ExportSettings& settings, std::string method);
  ~GrpcChannel();
  GrpcChannel(GrpcChannel&&) noexcept;
  GrpcChannel& operator=(GrpcChannel&&) = delete;

  // Takes the time-out of the export at most. An error: nothing was sent.
  [[nodiscard]] Result<GrpcAnswer> Call(const std::string& message);

 private:
  struct Connection;
  [[nodiscard]] Result<void> Connect();

  const ExportSettings settings_;
  const std::string method_;
  std::unique_ptr<Connection> connection_;  // null: none yet
};

}  // namespace profd::fleet
