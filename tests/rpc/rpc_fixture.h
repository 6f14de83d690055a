// A whole profd in this process, with a synthetic kernel below and real gRPC above.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/pipeline/labelled_processes.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/server/grpc/service/profiler_service.h"
#include "daemon/server/grpc/transport/server.h"
#include "daemon/server/session_manager.h"
#include "profd/v1/profiler.grpc.pb.h"
#include "tests/rpc/plain_names.h"
#include "tests/rpc/synthetic_kernel.h"
#include "tests/rpc/synthetic_status.h"
#include "tests/support/direct_reader.h"
#include "tests/support/numbering_symbolizer.h"

namespace profd::test {

// What a Collect stream said.
struct Collected {
  std::optional<v1::Started> started;
  std::vector<v1::Progress> progress;
  std::vector<std::size_t> chunk_sizes;
  std::optional<v1::Profile> profile;  // after `done`
  grpc::Status status;
};

class RpcFixture : public testing::Test {
 protected:
  RpcFixture() {
    auto server =
        server::Server::Start({address(), "", public_socket(), {}}, service_, clock_, logger_);
    EXPECT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
    stub_ = v1::Profiler::NewStub(channel_);
  }
  ~RpcFixture() override {
    manager_.Shutdown(std::chrono::seconds(10));
    pipeline_.Stop();
    server_->Shutdown(std::chrono::seconds(10));
    std::filesystem::remove_all(directory_);
  }

  static std::string MakeDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "profd_rpc_XXXXXX").string();
    const std::filesystem::path directory = mkdtemp(name.data());
    std::filesystem::create_directory(directory / "proc");
    for (const auto* same : {"self", "sys"})
      std::filesystem::create_symlink(std::string("/proc/") + same, directory / "proc" / same);
    return directory;
  }
  [[nodiscard]] std::string socket() const { return (directory_ / "profd.sock").string(); }
  [[nodiscard]] std::string public_socket() const { return (directory_ / "public.sock").string(); }
  [[nodiscard]] std::string address() const { return "unix:" + socket(); }

  static v1::CollectRequest RequestFor(std::uint32_t pid, std::chrono::nanoseconds duration) {
    v1::CollectRequest request;
    request.mutable_target()->mutable_pids()->add_id(pid);
    request.set_duration_ns(static_cast<std::uint64_t>(duration.count()));
    request.set_progress_interval_ns(20'000'000);
    return request;
  }

  // Reads a stream to its end; `on_started` may act on the session meanwhile.
  template <typename OnStarted>
  Collected Collect(const v1::CollectRequest& request, const OnStarted& on_started) {
    grpc::ClientContext context;
    Collected collected;
    const auto reader = stub_->Collect(&context, request);
    v1::CollectResponse response;
    std::string bytes;
    while (reader->Read(&response)) {
      if (response.has_started()) {
        collected.started = response.started();
        on_started(response.started().session());
      }
      if (response.has_progress()) collected.progress.push_back(response.progress());
      if (response.kind_case() == v1::CollectResponse::kProfileChunk) {
        collected.chunk_sizes.push_back(response.profile_chunk().size());
        bytes += response.profile_chunk();
      }
      if (response.done()) {
        collected.profile.emplace();
        EXPECT_TRUE(collected.profile->ParseFromString(bytes));
      }
    }
    collected.status = reader->Finish();
    return collected;
  }
  Collected Collect(const v1::CollectRequest& request) {
    return Collect(request, [](std::uint32_t) {});
  }

  // Of process 100. No user of a host has it: above what distributions assign, below what
  // namespaces are given.
  static constexpr std::uint32_t kOwner = 4'200'100;

  // Made by the tests that need it.
  [[nodiscard]] std::filesystem::path proc_directory() const { return directory_ / "proc"; }

  SystemClock clock_;
  ProcFs proc_;
  spdlog::logger logger_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
  NumberingSymbolizer symbolizer_;
  SyntheticKernel kernel_{{{100, 100, kOwner}, {100, 101, kOwner}, {200, 200, 0}}, clock_};
  PlainNames names_{symbolizer_};
  const budget::MemoryBudget memory_{256u << 20};
  pipeline::LivePipeline pipeline_{pipeline::LivePipeline::Parts{
      kernel_,
      kernel_,
      names_,
      clock_,
      proc_,
      logger_,
      memory_,
      {"host", "synthetic", "0.1.0", 1000},
      ProcFs("/sys/fs/cgroup"),
      {},
      {},
      [this](const session::Target& target) { return labelled_.Find(target); }}};
  const SyntheticStatus status_{kernel_, pipeline_};
  server::SessionManager manager_{pipeline_, clock_};
  const std::filesystem::path directory_ = MakeDirectory();
  const ProcFs callers_proc_{proc_directory().string()};
  DirectReaders readers_{std::make_unique<source::ProcessTextParser>(), callers_proc_};
  pipeline::LabelledProcesses labelled_{{callers_proc_, readers_, nullptr, "host"}};
  server::ProfilerService service_{manager_, pipeline_, status_, clock_, callers_proc_, logger_};
  std::unique_ptr<server::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Profiler::Stub> stub_;
};

}  // namespace profd::test
