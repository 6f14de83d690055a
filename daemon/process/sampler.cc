#include "daemon/process/sampler.h"

#include "bpf/shared/events.h"
#include "daemon/process/wait_reason.h"

namespace profd::process {
namespace {

State StateOf(const wire::StackEvent& event) {
  if (event.origin == wire::SampleOrigin::kOnCpu || event.origin == wire::SampleOrigin::kWaker)
    return State::kOnCpu;
  // What an observer finds is one point, which has one state.
  if (event.observation) return event.runnable_points != 0 ? State::kRunnable : State::kBlocked;
  // A thread may be preempted on its way to sleep. Then its task state is a sleeping one, but it is
  // still runnable.
  const bool preempted = (event.flags & (PROFD_SAMPLE_PREEMPTED | PROFD_SAMPLE_YIELDED)) != 0;
  if (event.origin == wire::SampleOrigin::kSnapshot) {
    if ((event.flags & PROFD_SAMPLE_RUNNING) != 0) return State::kOnCpu;
    const bool woken = (event.flags & PROFD_SAMPLE_WOKEN) != 0;
    return preempted || woken ? State::kRunnable : State::kBlocked;
  }
  return preempted || event.task_state == 0 ? State::kRunnable : State::kBlocked;
}

// A word on a broken stack may have the same bits by chance. It is no address, and stays as it is.
bool IsMarkedExact(std::uint64_t address) { return address >> 56 == PROFD_FRAME_EXACT >> 56; }

WaitReason WaitOf(const wire::StackEvent& event) {
  return ReasonFor({.syscall = event.syscall,
                    .arguments = event.syscall_args,
                    .fd_kind = event.fd_kind,
                    .task_state = event.task_state,
                    .iowait = (event.flags & PROFD_SAMPLE_IOWAIT) != 0,
                    .kernel_thread = (event.flags & PROFD_SAMPLE_KTHREAD) != 0});
}

// What runs beside a thread on its core; bits of other events mean something else.
Sibling SiblingOf(const wire::StackEvent& event) {
  if (event.origin != wire::SampleOrigin::kOnCpu) return Sibling::kUnknown;
  if ((event.flags & PROFD_SAMPLE_SIBLING_BUSY) != 0) return Sibling::kBusy;
  return (event.flags & PROFD_SAMPLE_SIBLING_IDLE) != 0 ? Sibling::kIdle : Sibling::kUnknown;
}

}  // namespace

Sample Sampler::Place(const wire::StackEvent& event) {
  samples_.Add();
  const ProcessTable::Process* process = processes_.Find(event.header.process);
  if (process == nullptr) unknown_process_.Add();

  Sample sample;
  sample.time_ns = event.header.time_ns;
  sample.process = event.header.process;
  sample.thread = event.header.thread;
  sample.sessions = event.header.sessions;
  sample.cpu = event.header.cpu;
  sample.sibling = SiblingOf(event);
  sample.snapshot = event.origin == wire::SampleOrigin::kSnapshot;
  sample.background = (event.flags & PROFD_SAMPLE_BACKGROUND) != 0;
  if (event.origin == wire::SampleOrigin::kOffCpu)
    sample.halvings = event.flags >> PROFD_SAMPLE_HALVINGS_SHIFT & PROFD_SAMPLE_HALVINGS_MASK;
  sample.state = StateOf(event);
  if (sample.state == State::kBlocked) sample.wait = WaitOf(event);
  sample.woken = (event.flags & PROFD_SAMPLE_WOKEN) != 0;
  sample.syscall = event.syscall;
  sample.syscall_args = event.syscall_args;
  sample.begin_ns = event.begin_ns;
  sample.runnable_ns = event.runnable_ns;
  sample.period_ns = event.period_ns;
  sample.blocked_points = event.blocked_points;
  sample.runnable_points = event.runnable_points;
  sample.followed_sessions = event.followed_sessions;
  sample.number = event.number;
  sample.futex_word = event.futex_word;
  sample.futex_owner = event.futex_owner;
  sample.wake_up = event.wake_up;
  sample.observation = event.observation;
  sample.counts = event.counts;
  sample.stack_flags = event.stack_flags;
  sample.missing_stack_bytes = event.missing_stack_bytes;
  // Of a program that the process does not run any more, a record would be read by chance.
  if (!event.labels.empty() && process != nullptr && process->info->label_keys) {
    sample.labels = event.labels;
    sample.label_keys = process->info->label_keys;
  }

  sample.frames.reserve(event.kernel_frames.size() + event.user_frames.size());
  const bool interrupted = event.origin == wire::SampleOrigin::kOnCpu;
  for (const std::uint64_t address : event.kernel_frames) {
    sample.frames.push_back({.kernel = true,
                             .return_address = !(interrupted && sample.frames.empty()),
                             .address = address,
                             .module = processes_.modules().kernel(),
                             .file_offset = address});
  }
  PlaceUserFrames(event, process, sample.frames);
  return sample;
}

void Sampler::PlaceUserFrames(const wire::StackEvent& event, const ProcessTable::Process* process,
                              std::vector<AddressFrame>& frames) {
  bool return_address = event.syscall >= 0 && (event.flags & PROFD_SAMPLE_USER_MODE) == 0;
  const Mapping* mapping = nullptr;
  ModuleRef module;
  auto cfa = event.cfas.begin();
  for (std::size_t index = 0; index < event.user_frames.size(); ++index) {
    std::uint64_t address = event.user_frames[index];
    if (IsMarkedExact(address)) {
      address &= ~PROFD_FRAME_EXACT;
      return_address = false;
    }
    AddressFrame& frame = frames.emplace_back();
    frame.return_address = return_address;
    frame.uncertain = index >= event.uncertain_from;
    if (cfa != event.cfas.end() && cfa->frame == index) frame.cfa = (cfa++)->cfa;
    frame.address = address;
    frame.file_offset = address;
    const std::uint64_t inside = return_address && address > 0 ? address - 1 : address;
    return_address = true;
    if (process == nullptr) continue;
    if (mapping == nullptr || inside < mapping->start || inside >= mapping->end) {
      mapping = process->mappings.Find(inside);
      if (mapping != nullptr) {
        module = processes_.modules().Rehome(
            mapping->module, {event.header.process.pid, mapping->start, mapping->end});
      }
    }
    if (mapping == nullptr) {
      unplaced_frames_.Add();
      continue;
    }
    frame.module = module;
    if (module && !IsAnonymous(*module))
      frame.file_offset = address - mapping->start + mapping->file_offset;
  }
}

SamplerCounters Sampler::Counters() const {
  return {.samples = samples_.value(),
          .unknown_process = unknown_process_.value(),
          .unplaced_frames = unplaced_frames_.value()};
}

}  // namespace profd::process
