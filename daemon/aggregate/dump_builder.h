// DumpBuilder: collects the latest state of each thread of one session, and builds its Dump.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/aggregate/dump.h"
#include "daemon/aggregate/labels/label_sets.h"
#include "daemon/aggregate/profile_builder.h"
#include "daemon/process/process_info.h"
#include "daemon/symbolize/sample/symbolized_sample.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// Belongs to one session and lives on the symbolizer thread. A waiting thread has the state and
// stack that its snapshot found. The snapshot cannot walk a running thread: that one has the stack
// of its latest on-CPU sample, if the sample is not older than its stay on the CPU. A thread
// without a snapshot has only the state of its clock at the end of the session. Threads beyond
// `max_threads` are left out and counted.
class DumpBuilder {
 public:
  using FrameLookup = ProfileBuilder::FrameLookup;

  explicit DumpBuilder(ProfileOrigin origin, std::size_t max_threads = 100'000)
      : origin_(std::move(origin)), max_threads_(max_threads) {}

  void AddSample(const symbolize::SymbolizedSample& symbolized);
  void AddClock(const wire::ClockEvent& event);
  void AddFork(const wire::ForkEvent& event);
  void AddExit(const wire::ExitEvent& event);
  void AddProcess(const process::ProcessInfoRef& info);

  void ForEachFrame(const std::function<void(symbolize::FrameId)>& visit) const;
  // Changes the ids of frames, after the frame table was compacted.
  void RenumberFrames(const StackTree::FrameMap& to);

  [[nodiscard]] Dump Build(const FrameLookup& frames) const;

 private:
  struct Seen {
    std::uint64_t time_ns = 0;
    std::uint64_t since_ns = 0;
    process::State state = process::State::kOnCpu;
    process::WaitReason wait = process::WaitReason::kNone;
    std::uint16_t stack_flags = 0;
    std::optional<std::uint32_t> uncertain_from;
    std::uint16_t python_flags = 0;
    process::Gil gil = process::Gil::kNone;
    bool merge_failed = false;
    std::int32_t syscall = -1;
    std::array<std::uint64_t, 3> syscall_args{};
    std::uint32_t owner_word = 0;  // LockOwner
    std::uint32_t labels = 0;      // as LabelSets numbers them
    std::vector<symbolize::FrameId> frames;
  };
  struct Thread {
    ProcessKey process;
    std::string comm;
    bool gone = false;
    std::uint32_t own_tid = 0;     // as wire::ClockEvent
    std::optional<Seen> on_cpu;    // the latest sample
    std::optional<Seen> snapshot;  // at the end
    std::optional<Seen> clock;     // the latest reading, without a stack
  };
  class Assembly;

  // The thread, which is added if it is new. Null: there are too many.
  Thread* FindOrAdd(const wire::EventHeader& header);
  Thread* FindOrAdd(const ThreadKey& key, const ProcessKey& process);

  const ProfileOrigin origin_;
  const std::size_t max_threads_;
  std::map<ThreadKey, Thread> threads_;
  std::unordered_map<ProcessKey, process::ProcessInfoRef> processes_;
  std::unordered_map<ProcessKey, process::PythonInterpreterRef> interpreters_;
  LabelSets labels_;
  std::uint64_t left_out_ = 0;
};

}  // namespace profd::aggregate
