// FakeRuntime: a container runtime on a socket of its own, which says what a test wants.
#pragma once

#include <grpcpp/grpcpp.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "daemon/containers/cri.grpc.pb.h"

namespace profd::containers {

class FakeRuntime : public runtime::v1::RuntimeService::Service,
                    public runtime::v1::ImageService::Service {
 public:
  FakeRuntime() {
    std::string pattern = (std::filesystem::temp_directory_path() / "profd_cri.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
    Start();
  }
  FakeRuntime(const FakeRuntime&) = delete;
  FakeRuntime& operator=(const FakeRuntime&) = delete;
  ~FakeRuntime() override {
    hangs = false;
    Stop();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket(), grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<runtime::v1::RuntimeService::Service*>(this));
    builder.RegisterService(static_cast<runtime::v1::ImageService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  void Stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  [[nodiscard]] std::string socket() const { return (folder_ / "cri.sock").string(); }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  void AddPod(const std::string& id, const std::string& name) {
    auto& pod = *pods.add_items();
    pod.set_id(id);
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_uid("uid-of-" + name);
    pod.mutable_metadata()->set_namespace_("shop");
    (*pod.mutable_labels())["app"] = "cart";
  }
  void AddContainer(const std::string& id, const std::string& pod, const std::string& image) {
    auto& container = *containers.add_containers();
    container.set_id(id);
    container.set_pod_sandbox_id(pod);
    container.mutable_metadata()->set_name("main");
    container.mutable_image()->set_image(image);
  }

  runtime::v1::ListPodSandboxResponse pods;
  runtime::v1::ListContainersResponse containers;
  runtime::v1::ListImagesResponse images;
  std::atomic<bool> hangs = false;
  std::atomic<int> lists = 0;
  std::string authority;

 private:
  grpc::Status Version(grpc::ServerContext* context, const runtime::v1::VersionRequest* /*request*/,
                       runtime::v1::VersionResponse* response) override {
    const auto used = context->ExperimentalGetAuthority();
    authority.assign(used.data(), used.size());
    while (hangs && !context->IsCancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    response->set_runtime_name("fake");
    response->set_runtime_version("1");
    return grpc::Status::OK;
  }
  grpc::Status ListPodSandbox(grpc::ServerContext* /*context*/,
                              const runtime::v1::ListPodSandboxRequest* /*request*/,
                              runtime::v1::ListPodSandboxResponse* response) override {
    *response = pods;
    ++lists;
    return grpc::Status::OK;
  }
  grpc::Status ListContainers(grpc::ServerContext* /*context*/,
                              const runtime::v1::ListContainersRequest* /*request*/,
                              runtime::v1::ListContainersResponse* response) override {
    *response = containers;
    return grpc::Status::OK;
  }
  grpc::Status ListImages(grpc::ServerContext* /*context*/,
                          const runtime::v1::ListImagesRequest* /*request*/,
                          runtime::v1::ListImagesResponse* response) override {
    *response = images;
    return grpc::Status::OK;
  }

  std::filesystem::path folder_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace profd::containers
