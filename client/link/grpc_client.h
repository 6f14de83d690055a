// GrpcClient: the service of profd behind Result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/link/host.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace profd::client {

// What comes before the profile. A callback that returns an error ends the collection with it.
struct CollectCallbacks {
  std::function<Result<void>(const v1::Started&)> started;
  std::function<Result<void>(const v1::Progress&)> progress;
};

// One connection. All methods may be called from any thread. Without TLS it is not encrypted: such
// a TCP address is for loopback (ssh's forwarding) or a network that is trusted.
class GrpcClient {
 public:
  // `address` as gRPC has it: "unix:/run/profd/profd.sock", "localhost:1234"; or "tls://HOST:PORT",
  // where HOST must be a name or address in profd's certificate. Waits until it stands.
  // kUnavailable says why it does not, kPermissionDenied that the socket refuses us.
  [[nodiscard]] static Result<std::unique_ptr<GrpcClient>> Connect(const std::string& address,
                                                                   const TlsFiles& tls = {});
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;
  ~GrpcClient();

  // Blocks until the session has ended and its profile is here, checked.
  [[nodiscard]] Result<v1::Profile> Collect(const v1::CollectRequest& request,
                                            const CollectCallbacks& callbacks);
  // What is kept of a time range, checked. kNotFound: nothing.
  [[nodiscard]] Result<v1::Profile> Query(const v1::QueryRequest& request);
  // What every thread does now, checked.
  [[nodiscard]] Result<v1::Dump> Dump(const v1::DumpRequest& request);
  [[nodiscard]] Result<void> Stop(std::uint32_t session);
  [[nodiscard]] Result<v1::StatusResponse> Status();

 private:
  struct Service;  // types of gRPC, whose headers take long to compile
  GrpcClient(std::string address, std::unique_ptr<Service> service);

  const std::string address_;
  const std::unique_ptr<Service> service_;
};

// The error behind a failed call: its code by that of the status, message and hint (after the first
// newline) as profd gave them.
[[nodiscard]] Error ErrorFromStatus(const grpc::Status& status);

// Checks that a process listens on a unix socket.
[[nodiscard]] Result<void> ProbeUnixSocket(const std::string& path);

// Path of the socket of "unix:PATH" and "unix:///PATH"; empty for other addresses.
[[nodiscard]] std::string UnixSocketPath(const std::string& address);

}  // namespace profd::client
