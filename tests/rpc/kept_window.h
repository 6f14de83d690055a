// KeptWindow: a history of one window, in which each given process has computed in the kernel.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/history/history.h"
#include "daemon/store/api/memory_store.h"
#include "profd/v1/profiler.grpc.pb.h"

namespace profd::test {

class KeptWindow : public history::History {
 public:
  static constexpr std::uint64_t kNs = 1'000'000'000;
  static constexpr std::uint64_t kAddress = 0xffff'ffff'8100'0000;

  struct Process {
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;  // whose alone it is
    // A function of a module of its own that it has called from the shared one; "": none.
    std::string beyond{};
    // It has also waited for this process of the window, which ran then; 0: for none.
    std::uint32_t waits_for = 0;
  };

  explicit KeptWindow(const std::vector<Process>& processes) {
    aggregate::Profile window;
    window.start_ns = kNs;
    window.end_ns = 2 * kNs;
    window.start_unix_ns = 1'700'000'000 * kNs;
    window.on_cpu_period_ns = kNs;
    auto& frame = window.frames.emplace_back();
    frame.kind = symbolize::FrameKind::kKernel;
    frame.name = "do_work";
    frame.module = "[kernel]";
    frame.offset = kAddress;
    window.nodes = {{}, {.parent = 0, .frame = 0}};
    for (const Process& process : processes) Add(process.pid, process.uid, process.beyond, window);
    for (const Process& process : processes)
      if (process.waits_for != 0) AddWait(process.pid, process.waits_for, window);
    EXPECT_TRUE(store_.Put(window).ok());
  }
  [[nodiscard]] const store::ProfileStore& store() const override { return store_; }
  [[nodiscard]] history::HistoryStatus Status() const override {
    history::HistoryStatus status;
    status.store = store_.Status();
    return status;
  }

 private:
  static void Add(std::uint32_t pid, std::uint32_t uid, const std::string& beyond,
                  aggregate::Profile& window) {
    const auto index = static_cast<std::uint32_t>(window.processes.size());
    aggregate::ProfileProcess process;
    process.key = {pid, 1};
    process.shown_pid = pid;
    process.owner = {.uid = uid, .sole = true, .user = ""};
    window.processes.push_back(process);
    aggregate::ProfileThread thread;
    thread.key = {pid, 1};
    thread.shown_tid = pid;
    thread.process = index;
    thread.begin_ns = window.start_ns;
    thread.end_ns = window.end_ns;
    thread.clock.on_cpu_ns = kNs;
    window.threads.push_back(thread);
    aggregate::ProfileSample sample;
    sample.time_ns = window.start_ns;
    sample.raw_weight_ns = sample.weight_ns = kNs;
    sample.thread = index;
    sample.node = 1;
    if (!beyond.empty()) {
      auto& frame = window.frames.emplace_back();
      frame.name = beyond;
      frame.module = "/lib/" + beyond;
      symbolize::ModuleInfo info;
      info.path = frame.module;
      info.debug_file = frame.module + ".debug";
      frame.origin = std::make_shared<const symbolize::ModuleInfo>(info);
      sample.node = static_cast<std::uint32_t>(window.nodes.size());
      window.nodes.push_back(
          {.parent = 1, .frame = static_cast<std::uint32_t>(window.frames.size() - 1)});
    }
    window.samples.push_back(sample);
  }

  static void AddWait(std::uint32_t pid, std::uint32_t waits_for, aggregate::Profile& window) {
    window.wakers = true;
    if (window.paths.empty()) window.paths.resize(1);
    aggregate::ProfileSample sample;
    sample.time_ns = window.start_ns;
    sample.raw_weight_ns = sample.weight_ns = kNs;
    sample.state = process::State::kBlocked;
    sample.wait = process::WaitReason::kLock;
    sample.node = 1;
    aggregate::PathNode runs{.parent = 0, .kind = aggregate::PathKind::kRuns};
    aggregate::WakeUpCount count;
    count.wait = sample.wait;
    count.waits = 1;
    for (std::uint32_t i = 0; i < window.threads.size(); ++i) {
      if (window.threads[i].key.tid == pid) sample.thread = count.thread = i;
      if (window.threads[i].key.tid != waits_for) continue;
      window.path_threads.push_back(
          DescribePathThread(window.threads[i], window.processes[window.threads[i].process]));
      count.waker = static_cast<std::uint32_t>(window.path_threads.size() - 1);
      runs.thread = count.waker + 1;
      runs.node = window.samples[i].node;
    }
    sample.path = static_cast<std::uint32_t>(window.paths.size());
    window.paths.push_back(runs);
    window.wake_ups.push_back(count);
    window.samples.push_back(sample);
  }

  store::MemoryStore store_{1};
};

struct Answered {
  v1::Profile profile;
  grpc::Status status;
};

inline Answered QueryOf(v1::Profiler::Stub& stub, const v1::QueryRequest& request = {}) {
  grpc::ClientContext context;
  Answered answered;
  const auto reader = stub.Query(&context, request);
  v1::QueryResponse response;
  std::string bytes;
  while (reader->Read(&response)) bytes += response.profile_chunk();
  EXPECT_TRUE(answered.profile.ParseFromString(bytes));
  answered.status = reader->Finish();
  return answered;
}

}  // namespace profd::test
