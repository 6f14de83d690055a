// ProfilerServer: serves a Profiler service that a test has written, on a unix socket of its own.
#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>

#include "profd/v1/profiler.grpc.pb.h"
#include "tests/support/temp_folder.h"

namespace profd::test {

// Serves from construction to Shutdown or destruction; `service` must outlive it.
class ProfilerServer {
 public:
  explicit ProfilerServer(v1::Profiler::Service& service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }
  ~ProfilerServer() { Shutdown(); }
  ProfilerServer(const ProfilerServer&) = delete;
  ProfilerServer& operator=(const ProfilerServer&) = delete;

  [[nodiscard]] std::string address() const { return "unix:" + folder_.Path("s"); }
  // Cancels the calls that are under way and waits for their end. Any thread.
  void Shutdown() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

 private:
  TempFolder folder_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace profd::test
