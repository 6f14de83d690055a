#include "daemon/aggregate/dump_builder.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "daemon/aggregate/process_labels.h"
#include "daemon/aggregate/waits/lock_owner.h"

namespace profd::aggregate {
namespace {

using process::State;
using process::WaitReason;

constexpr const char* kTooShort = "the thread came to a CPU a moment ago";
constexpr const char* kNotRead = "the stack could not be read in time";

State ToState(profd_thread_state state) {
  switch (state) {
    case PROFD_STATE_RUNNABLE:
      return State::kRunnable;
    case PROFD_STATE_BLOCKED:
      return State::kBlocked;
    default:
      return State::kOnCpu;
  }
}

}  // namespace

DumpBuilder::Thread* DumpBuilder::FindOrAdd(const ThreadKey& key, const ProcessKey& process) {
  const auto found = threads_.find(key);
  if (found != threads_.end()) return &found->second;
  if (threads_.size() >= max_threads_) {
    ++left_out_;
    return nullptr;
  }
  Thread& thread = threads_[key];
  thread.process = process;
  return &thread;
}

DumpBuilder::Thread* DumpBuilder::FindOrAdd(const wire::EventHeader& header) {
  return FindOrAdd(header.thread, header.process);
}

void DumpBuilder::AddSample(const symbolize::SymbolizedSample& symbolized) {
  const process::Sample& sample = symbolized.sample;
  const bool on_cpu = !sample.snapshot && sample.state == State::kOnCpu;
  // An off-CPU sample shows a wait that is over.
  if (!on_cpu && !sample.snapshot) return;
  Thread* thread = FindOrAdd(sample.thread, sample.process);
  if (thread == nullptr) return;
  if (sample.interpreter) interpreters_[sample.process] = sample.interpreter;
  Seen seen;
  seen.time_ns = sample.time_ns;
  // begin_ns is the begin of the sleep. A thread that was woken is runnable since some later time,
  // which is unknown.
  seen.since_ns = sample.woken ? 0 : sample.begin_ns;
  seen.state = sample.state;
  seen.wait = sample.wait;
  seen.stack_flags = sample.stack_flags;
  seen.uncertain_from = symbolized.uncertain_from;
  seen.python_flags = sample.python_flags;
  seen.gil = sample.gil;
  seen.merge_failed = sample.merge_failed;
  seen.syscall = sample.syscall;
  seen.syscall_args = sample.syscall_args;
  seen.owner_word = OwnerWord(sample);
  seen.labels = labels_.Intern(sample);
  seen.frames = symbolized.frames;
  auto& latest = on_cpu ? thread->on_cpu : thread->snapshot;
  if (!latest || latest->time_ns <= seen.time_ns) latest = std::move(seen);
}

void DumpBuilder::AddClock(const wire::ClockEvent& event) {
  Thread* thread = FindOrAdd(event.header);
  if (thread == nullptr) return;
  if (event.end) thread->gone = true;
  if (!event.comm.empty()) thread->comm = event.comm;
  if (event.own_tid != 0) thread->own_tid = event.own_tid;
  Seen seen;
  seen.time_ns = event.epoch_ns;
  seen.since_ns = event.since_ns;
  seen.state = ToState(event.state);
  // The reason of a wait follows from its stack, which a clock does not have.
  if (seen.state == State::kBlocked) seen.wait = WaitReason::kOther;
  if (!thread->clock || thread->clock->time_ns <= seen.time_ns) thread->clock = std::move(seen);
}

void DumpBuilder::AddFork(const wire::ForkEvent& event) {
  if (Thread* thread = FindOrAdd(event.header); thread != nullptr) thread->comm = event.comm;
}

void DumpBuilder::AddExit(const wire::ExitEvent& event) {
  const auto found = threads_.find(event.header.thread);
  if (found != threads_.end()) found->second.gone = true;
}

void DumpBuilder::AddProcess(const process::ProcessInfoRef& info) {
  if (!info) return;
  processes_[info->key] = info;
  labels_.Update(info->key, info->label_keys);
}

void DumpBuilder::ForEachFrame(const std::function<void(symbolize::FrameId)>& visit) const {
  for (const auto& [key, thread] : threads_)
    for (const auto* seen : {&thread.on_cpu, &thread.snapshot})
      if (*seen) std::ranges::for_each((*seen)->frames, visit);
}

void DumpBuilder::RenumberFrames(const StackTree::FrameMap& to) {
  for (auto& [key, thread] : threads_)
    for (auto* seen : {&thread.on_cpu, &thread.snapshot})
      if (*seen) std::ranges::transform((*seen)->frames, (*seen)->frames.begin(), to);
}

// One call of Build: the dump, and the indices that it has given to frames and processes.
class DumpBuilder::Assembly {
 public:
  Assembly(const DumpBuilder& builder, const FrameLookup& lookup)
      : builder_(builder), lookup_(lookup) {}

  Dump Run() {
    dump_.host = builder_.origin_.host;
    dump_.kernel = builder_.origin_.kernel;
    dump_.profd_version = builder_.origin_.profd_version;
    dump_.threads_left_out = builder_.left_out_;
    std::uint64_t first_ns = ~std::uint64_t{0};
    for (const auto& [key, thread] : builder_.threads_) {
      // A dump shows the threads that exist at its end. A thread of which only samples are known
      // may have exited, with its exit event lost.
      if (thread.gone || (!thread.snapshot && !thread.clock)) continue;
      AddThread(key, thread);
      const std::uint64_t seen_ns = dump_.threads.back().seen_ns;
      first_ns = std::min(first_ns, seen_ns);
      dump_.time_ns = std::max(dump_.time_ns, seen_ns);
    }
    dump_.took_ns = dump_.threads.empty() ? 0 : dump_.time_ns - first_ns;
    dump_.time_unix_ns = builder_.origin_.boot_unix_ns + dump_.time_ns;
    std::ranges::sort(dump_.threads, {}, [this](const DumpThread& thread) {
      return std::tuple(dump_.processes[thread.process].key, thread.key);
    });
    FindOwners();
    return std::move(dump_);
  }

 private:
  // Who holds what others wait for. An owner word is only believed if it names a thread of the
  // same process that is there, and the stack says that it is the word of a mutex.
  void FindOwners() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> by_tid;
    std::map<std::uint32_t, std::uint32_t> gil_holders;  // by process
    for (std::uint32_t i = 0; i < dump_.threads.size(); ++i) {
      const DumpThread& thread = dump_.threads[i];
      const std::uint32_t own_tid = builder_.threads_.at(thread.key).own_tid;
      by_tid[{thread.process, own_tid != 0 ? own_tid : thread.key.tid}] = i;
      if (thread.gil == process::Gil::kHeld) gil_holders[thread.process] = i;
    }
    for (std::uint32_t i = 0; i < dump_.threads.size(); ++i) {
      DumpThread& thread = dump_.threads[i];
      if (thread.state != State::kBlocked) continue;
      if (thread.wait == WaitReason::kGil) {
        const auto holder = gil_holders.find(thread.process);
        if (holder != gil_holders.end() && holder->second != i) thread.owner = holder->second;
        continue;
      }
      const auto word = owner_words_.find(thread.key);
      if (word == owner_words_.end() || !IsInMutex(thread)) continue;
      const auto owner = by_tid.find({thread.process, word->second});
      if (owner != by_tid.end() && owner->second != i) thread.owner = owner->second;
    }
  }

  [[nodiscard]] bool IsInMutex(const DumpThread& thread) const {
    return std::ranges::any_of(thread.frames, [this](std::uint32_t frame) {
      return IsMutexFunction(dump_.frames[frame].name);
    });
  }

  void AddThread(const ThreadKey& key, const Thread& thread) {
    const Seen& seen = thread.snapshot ? *thread.snapshot : *thread.clock;
    DumpThread& reported = dump_.threads.emplace_back();
    reported.key = key;
    reported.process = AddProcess(thread.process);
    const ProfileProcess& process = dump_.processes[reported.process];
    // /proc names only the leader's tid in other pid namespaces.
    reported.shown_tid = key.tid == process.key.pid ? process.shown_pid : key.tid;
    reported.comm = thread.comm.empty() ? process.comm : thread.comm;
    reported.state = seen.state;
    reported.wait = seen.wait;
    reported.seen_ns = seen.time_ns;
    reported.since_ns = seen.since_ns;
    reported.python = (seen.python_flags & PROFD_PYTHON_THREAD) != 0;
    reported.gil = seen.gil;
    reported.syscall = seen.syscall;
    reported.syscall_args = seen.syscall_args;
    if (seen.owner_word != 0) owner_words_[key] = seen.owner_word;
    if (seen.state == State::kOnCpu) {
      // A sample from an earlier stay on a CPU may show code that the thread has left long ago.
      const bool is_current = thread.on_cpu && thread.on_cpu->time_ns >= seen.since_ns;
      if (is_current) return AddStack(*thread.on_cpu, reported);
      reported.no_stack = kTooShort;
    } else if (thread.snapshot) {
      AddStack(seen, reported);
    } else {
      reported.no_stack = kNotRead;
    }
  }

  void AddStack(const Seen& seen, DumpThread& reported) {
    reported.stack_ns = seen.time_ns;
    reported.stack_flags = seen.stack_flags;
    reported.uncertain_from = seen.uncertain_from;
    reported.merge_failed = seen.merge_failed;
    if (seen.labels != 0) reported.labels = builder_.labels_.Resolve(seen.labels);
    for (const symbolize::FrameId id : seen.frames) {
      const auto [found, added] =
          frame_of_.try_emplace(id, static_cast<std::uint32_t>(dump_.frames.size()));
      if (added) dump_.frames.push_back(lookup_(id));
      reported.frames.push_back(found->second);
    }
  }

  std::uint32_t AddProcess(const ProcessKey& key) {
    const auto [found, added] =
        process_of_.try_emplace(key, static_cast<std::uint32_t>(dump_.processes.size()));
    if (!added) return found->second;
    const auto info = builder_.processes_.find(key);
    const auto* known = info == builder_.processes_.end() ? nullptr : info->second.get();
    dump_.processes.push_back(DescribeProcess(key, known, builder_.origin_.innermost_pids));
    GiveLabels(known, builder_.origin_.containers, dump_.processes.back());
    const auto interpreter = builder_.interpreters_.find(key);
    if (interpreter != builder_.interpreters_.end())
      dump_.processes.back().interpreter = interpreter->second;
    return found->second;
  }

  const DumpBuilder& builder_;
  const FrameLookup& lookup_;
  Dump dump_;
  std::unordered_map<symbolize::FrameId, std::uint32_t> frame_of_;
  std::map<ProcessKey, std::uint32_t> process_of_;
  std::map<ThreadKey, std::uint32_t> owner_words_;
};

Dump DumpBuilder::Build(const FrameLookup& frames) const { return Assembly(*this, frames).Run(); }

}  // namespace profd::aggregate
