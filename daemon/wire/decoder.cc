#include "daemon/wire/decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "daemon/wire/event_bytes.h"
#include "daemon/wire/fields.h"
#include "daemon/wire/packed_words.h"
#include "daemon/wire/python_decoder.h"

namespace profd::wire {
namespace {

// Text up to its zero; false when there is none.
bool ReadTerminated(std::string_view field, std::string& text) {
  const auto end = field.find('\0');
  if (end == std::string_view::npos) return false;
  text.assign(field.substr(0, end));
  return true;
}

bool ReadComm(const char (&comm)[PROFD_COMM_LEN], std::string& text) {
  return ReadTerminated({comm, sizeof(comm)}, text);
}

// A path in a tail; no bytes at all are an empty path.
bool ReadPath(Bytes tail, std::uint32_t path_bytes, std::string& path) {
  if (path_bytes > tail.size()) return false;
  return path_bytes == 0 || ReadTerminated(TextOf(tail.first(path_bytes)), path);
}

using Words = std::span<const std::uint64_t>;

// False when they do not ascend, or name a frame that is not there.
bool ReadCfas(Words words, std::size_t frames, std::vector<FrameCfa>& cfas) {
  std::size_t next = 0;
  for (const std::uint64_t word : words) {
    const std::uint64_t frame = word >> PROFD_CFA_INDEX_SHIFT;
    if (frame < next || frame >= frames) return false;
    next = frame + 1;
    const std::uint64_t cfa = word & ((std::uint64_t{1} << PROFD_CFA_INDEX_SHIFT) - 1);
    cfas.push_back({.frame = static_cast<std::uint16_t>(frame), .cfa = cfa});
  }
  return true;
}

// What an observed sample says. Returns why it is corrupt; null: it is not.
const char* ReadObservation(const profd_sample_event& fixed, std::uint16_t kind,
                            StackEvent& event) {
  if (kind != PROFD_EVENT_OFF_CPU) return "observed, but not off the CPU";
  if (fixed.event.time_ns == 0) return "observed at no time";
  event.observation = Observation{
      .held_ns = fixed.held_ns, .stack_number = fixed.stack_number, .registers = fixed.registers};
  event.begin_ns = fixed.event.time_ns - 1;
  const bool runnable = (fixed.event.flags & (PROFD_SAMPLE_WOKEN | PROFD_SAMPLE_PREEMPTED)) != 0;
  (runnable ? event.runnable_points : event.blocked_points) = 1;
  return nullptr;
}

// The same for samples of intervals.
const char* ReadInterval(const profd_sample_event& fixed, std::uint16_t kind, StackEvent& event) {
  if (kind == PROFD_EVENT_WAKER) {
    if (fixed.begin_ns > fixed.event.time_ns) return "ends before it begins";
    event.begin_ns = event.header.time_ns;
    event.wake_up = WakeUp{.wakee = {.tid = fixed.wakee_tid, .start_ns = fixed.wakee_start_ns},
                           .begin_ns = fixed.begin_ns,
                           .comm = std::string(fixed.comm, ::strnlen(fixed.comm, PROFD_COMM_LEN)),
                           .interrupt = (fixed.event.flags & PROFD_SAMPLE_INTERRUPT) != 0,
                           .foreign_sessions = fixed.foreign_sessions};
    return nullptr;
  }
  event.followed_sessions = fixed.followed_sessions & fixed.event.sessions;
  event.number = fixed.number;
  if (kind != PROFD_EVENT_ON_CPU) {
    if (fixed.begin_ns > fixed.event.time_ns) return "ends before it begins";
    if (fixed.runnable_ns > fixed.event.time_ns - fixed.begin_ns)
      return "longer runnable than it lasted";
  }
  event.begin_ns = fixed.begin_ns;
  event.runnable_ns = fixed.runnable_ns;
  if (kind == PROFD_EVENT_SNAPSHOT) {
    event.futex_word = fixed.futex_word;
    event.futex_owner = fixed.futex_owner;
    return nullptr;
  }
  event.blocked_points = fixed.blocked_points;
  event.runnable_points = fixed.runnable_points;
  return nullptr;
}

Result<Event> DecodeStack(Bytes bytes, std::uint16_t kind) {
  profd_sample_event fixed;
  Bytes tail;
  if (!ReadSample(bytes, &fixed, &tail)) return Corrupt(kind, "shorter than its fixed part");
  if (fixed.kernel_frames > PROFD_MAX_KERNEL_FRAMES || fixed.user_frames > PROFD_MAX_USER_FRAMES)
    return Corrupt(kind, "more frames than there may be");
  const std::size_t frames = std::size_t{fixed.kernel_frames} + fixed.user_frames;
  std::vector<std::uint64_t> read;
  ReadWords(fixed, tail, read);
  if (read.size() < frames + fixed.cfas) return Corrupt(kind, "frames beyond its end");
  const Words words = read;
  if (fixed.uncertain_from != PROFD_ALL_CERTAIN && fixed.uncertain_from > fixed.user_frames)
    return Corrupt(kind, "uncertain beyond its frames");
  if (fixed.fd_kind > PROFD_FD_DIRECTORY) return Corrupt(kind, "unknown kind of descriptor");
  StackEvent event;
  event.header = HeaderFrom(fixed.event);
  const bool observed = (fixed.event.flags & PROFD_SAMPLE_OBSERVED) != 0;
  if (const char* reason =
          observed ? ReadObservation(fixed, kind, event) : ReadInterval(fixed, kind, event))
    return Corrupt(kind, reason);
  event.origin = kind == PROFD_EVENT_ON_CPU    ? SampleOrigin::kOnCpu
                 : kind == PROFD_EVENT_OFF_CPU ? SampleOrigin::kOffCpu
                 : kind == PROFD_EVENT_WAKER   ? SampleOrigin::kWaker
                                               : SampleOrigin::kSnapshot;
  event.flags = fixed.event.flags;
  event.stack_flags = fixed.stack_flags;
  event.period_ns = fixed.period_ns;
  event.syscall = fixed.syscall;
  event.task_state = fixed.task_state;
  if (kind != PROFD_EVENT_WAKER) std::ranges::copy(fixed.syscall_args, event.syscall_args.begin());
  event.fd_kind = fixed.fd_kind;
  const Words kernel = words.first(fixed.kernel_frames);
  const Words user = words.subspan(fixed.kernel_frames, fixed.user_frames);
  event.kernel_frames.assign(kernel.begin(), kernel.end());
  event.user_frames.assign(user.begin(), user.end());
  event.missing_stack_bytes = fixed.missing_stack_bytes;
  event.uncertain_from = fixed.uncertain_from;
  if (!ReadCfas(words.subspan(frames, fixed.cfas), fixed.user_frames, event.cfas))
    return Corrupt(kind, "frame addresses of no frame");
  event.python_flags = fixed.python_flags;
  const Words python = words.subspan(frames + fixed.cfas);
  if (python.size() < fixed.python_words || !ReadPythonFrames(python, event.python))
    return Corrupt(kind, "Python frames beyond its end");
  if (fixed.label_bytes > PROFD_MAX_LABEL_BYTES || fixed.label_bytes > tail.size())
    return Corrupt(kind, "labels beyond its end");
  event.labels = TextOf(tail.last(fixed.label_bytes));
  if (kind == PROFD_EVENT_ON_CPU && (fixed.event.flags & PROFD_SAMPLE_COUNTED) != 0) {
    const Bytes before = tail.first(tail.size() - fixed.label_bytes);
    if (before.size() < sizeof(profd_pmu_counts)) return Corrupt(kind, "counts beyond its end");
    std::memcpy(&event.counts.emplace(), before.last(sizeof(profd_pmu_counts)).data(),
                sizeof(profd_pmu_counts));
  }
  return Event(std::move(event));
}

Result<Event> DecodeClock(Bytes bytes, std::uint16_t kind) {
  profd_clock_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(kind, "shorter than its fixed part");
  if (fixed.state > PROFD_STATE_DEAD) return Corrupt(kind, "unknown state");
  ClockEvent event;
  if (!ReadComm(fixed.comm, event.comm)) return Corrupt(kind, "name without an end");
  event.header = HeaderFrom(fixed.event);
  event.end = kind == PROFD_EVENT_THREAD_END;
  event.epoch = fixed.epoch;
  event.epoch_ns = fixed.epoch_ns;
  event.begin_ns = fixed.begin_ns;
  if ((fixed.event.flags & PROFD_CLOCK_OBSERVED) != 0) {
    event.observation = Observation{.held_ns = fixed.held_ns, .stack_number = fixed.stack_number};
  } else {
    event.since_ns = fixed.since_ns;
    event.number = fixed.number;
  }
  event.freed = event.end && (fixed.event.flags & PROFD_CLOCK_FREED) != 0;
  event.state = static_cast<profd_thread_state>(fixed.state);
  event.at_epoch = fixed.at_epoch;
  event.final = fixed.final;
  if ((fixed.event.flags & PROFD_CLOCK_MOVES) != 0)
    event.moves = ClockMoves{fixed.moves_at_epoch, fixed.moves_final};
  event.own_tid = fixed.own_tid;
  return Event(std::move(event));
}

Result<Event> DecodeTask(Bytes bytes, std::uint16_t kind) {
  profd_task_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(kind, "shorter than its fixed part");
  std::string comm;
  if (!ReadComm(fixed.comm, comm)) return Corrupt(kind, "name without an end");
  const EventHeader header = HeaderFrom(fixed.event);
  switch (kind) {
    case PROFD_EVENT_FORK:
      return Event(ForkEvent{.header = header,
                             .new_process = (fixed.event.flags & PROFD_TASK_NEW_PROCESS) != 0,
                             .parent_pid = fixed.parent_pid,
                             .parent_tid = fixed.parent_tid,
                             .parent_process_start_ns = fixed.parent_process_start_ns,
                             .comm = std::move(comm)});
    case PROFD_EVENT_EXEC: {
      ExecEvent event{
          .header = header, .old_tid = fixed.parent_tid, .comm = std::move(comm), .path = {}};
      if (!ReadPath(tail, fixed.path_bytes, event.path))
        return Corrupt(kind, "path beyond its end, or without an end");
      return Event(std::move(event));
    }
    case PROFD_EVENT_COMM:
      return Event(CommEvent{.header = header, .comm = std::move(comm)});
    default:
      return Event(ExitEvent{.header = header,
                             .last_thread = (fixed.event.flags & PROFD_TASK_LAST_THREAD) != 0,
                             .exit_code = fixed.exit_code});
  }
}

Result<Event> DecodeMmap(Bytes bytes) {
  profd_mmap_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(PROFD_EVENT_MMAP, "shorter than its fixed part");
  if (fixed.bytes == 0 || fixed.bytes > std::numeric_limits<std::uint64_t>::max() - fixed.address)
    return Corrupt(PROFD_EVENT_MMAP, "no range of addresses");
  MmapEvent event{.header = HeaderFrom(fixed.event),
                  .address = fixed.address,
                  .bytes = fixed.bytes,
                  .file_offset = fixed.file_offset,
                  .device_major = fixed.device_major,
                  .device_minor = fixed.device_minor,
                  .inode = fixed.inode,
                  .inode_generation = fixed.inode_generation,
                  .prot = fixed.prot,
                  .path = {}};
  if (!ReadPath(tail, fixed.path_bytes, event.path))
    return Corrupt(PROFD_EVENT_MMAP, "path beyond its end, or without an end");
  return Event(std::move(event));
}

Result<Event> DecodeProcess(Bytes bytes) {
  profd_process_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail))
    return Corrupt(PROFD_EVENT_PROCESS, "shorter than its fixed part");
  ProcessEvent event;
  event.header = HeaderFrom(fixed.event);
  Bytes rest = tail;
  for (std::size_t blob = 0; blob < event.blobs.size(); ++blob) {
    const std::uint32_t length = fixed.blob_bytes[blob];
    if (length > rest.size()) return Corrupt(PROFD_EVENT_PROCESS, "text beyond its end");
    event.blobs[blob].assign(TextOf(rest.first(length)));
    rest = rest.subspan(length);
  }
  return Event(std::move(event));
}

Result<Event> DecodeSession(Bytes bytes, std::uint16_t kind) {
  profd_session_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(kind, "shorter than its fixed part");
  if (fixed.session >= PROFD_MAX_SESSIONS) return Corrupt(kind, "number out of range");
  constexpr std::uint32_t kSamples = PROFD_SESSION_ON_CPU | PROFD_SESSION_OFF_CPU;
  constexpr std::uint32_t kCounters = PROFD_SESSION_COUNTED |
                                      PROFD_SESSION_COUNTERS_MASK << PROFD_SESSION_COUNTERS_SHIFT |
                                      PROFD_SESSION_COUNTERS_REFUSED;
  constexpr std::uint32_t kKnown = kSamples | PROFD_SESSION_BACKGROUND | PROFD_SESSION_OBSERVED |
                                   PROFD_SESSION_WAKERS | PROFD_SESSION_SWITCHES | kCounters;
  if ((fixed.mode & kSamples) == 0 || (fixed.mode & ~kKnown) != 0)
    return Corrupt(kind, "unknown mode");
  if (fixed.target_bytes > tail.size()) return Corrupt(kind, "target beyond its end");
  return Event(SessionEvent{.header = HeaderFrom(fixed.event),
                            .end = kind == PROFD_EVENT_SESSION_END,
                            .session = fixed.session,
                            .mode = fixed.mode,
                            .epoch = fixed.epoch,
                            .epoch_ns = fixed.epoch_ns,
                            .on_cpu_period_ns = fixed.on_cpu_period_ns,
                            .off_cpu_period_ns = fixed.off_cpu_period_ns,
                            .bpf_cost_ns = fixed.bpf_cost_ns,
                            .own_cpu_ns = fixed.own_cpu_ns,
                            .hook = fixed.hook,
                            .target = std::string(TextOf(tail.first(fixed.target_bytes)))});
}

Result<Event> DecodePeriods(Bytes bytes) {
  // Older recordings end before what background sessions have for themselves, or before the seed.
  constexpr std::size_t kLeast = offsetof(profd_periods_event, background_on_cpu_period_ns);
  constexpr std::size_t kOlder = offsetof(profd_periods_event, point_seed);
  if (bytes.size() < sizeof(profd_periods_event) && bytes.size() != kLeast &&
      bytes.size() != kOlder)
    return Corrupt(PROFD_EVENT_PERIODS, "shorter than its fixed part");
  profd_periods_event fixed{};
  std::memcpy(&fixed, bytes.data(), std::min(bytes.size(), sizeof(fixed)));
  return Event(PeriodsEvent{.header = HeaderFrom(fixed.event),
                            .on_cpu_period_ns = fixed.on_cpu_period_ns,
                            .off_cpu_period_ns = fixed.off_cpu_period_ns,
                            .background_on_cpu_period_ns = fixed.background_on_cpu_period_ns,
                            .background_off_cpu_period_ns = fixed.background_off_cpu_period_ns,
                            .point_seed = fixed.point_seed});
}

Result<Event> DecodeBeyondShare(Bytes bytes) {
  profd_beyond_share_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail))
    return Corrupt(PROFD_EVENT_BEYOND_SHARE, "shorter than its fixed part");
  if (fixed.kind < PROFD_SHARE_NAMES || fixed.kind >= PROFD_SHARE_KINDS)
    return Corrupt(PROFD_EVENT_BEYOND_SHARE, "a share of unknown kind");
  return Event(BeyondShareEvent{.header = HeaderFrom(fixed.event),
                                .kind = static_cast<profd_share_kind>(fixed.kind),
                                .uid = fixed.uid,
                                .count = fixed.count});
}

Result<Event> DecodeLabelProcess(Bytes bytes) {
  profd_label_process_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail))
    return Corrupt(PROFD_EVENT_LABEL_PROCESS, "shorter than its fixed part");
  if (fixed.keys > PROFD_MAX_LABEL_KEYS)
    return Corrupt(PROFD_EVENT_LABEL_PROCESS, "more names than there may be");
  if (fixed.reason_bytes > tail.size())
    return Corrupt(PROFD_EVENT_LABEL_PROCESS, "text beyond its end");
  LabelProcessEvent event;
  event.header = HeaderFrom(fixed.event);
  event.reason = TextOf(tail.first(fixed.reason_bytes));
  tail = tail.subspan(fixed.reason_bytes);
  for (std::uint32_t i = 0; i < fixed.keys; ++i) {
    const std::size_t length = tail.empty() ? 0 : std::to_integer<std::size_t>(tail.front());
    if (tail.size() < 1 + length) return Corrupt(PROFD_EVENT_LABEL_PROCESS, "name beyond its end");
    event.keys.emplace_back(TextOf(tail.subspan(1, length)));
    tail = tail.subspan(1 + length);
  }
  return Event(std::move(event));
}

Result<Event> DecodeStep(Bytes bytes) {
  profd_step_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(PROFD_EVENT_STEP, "shorter than its fixed part");
  if (fixed.source >= PROFD_MAX_STEP_SOURCES)
    return Corrupt(PROFD_EVENT_STEP, "source out of range");
  if (fixed.name_bytes > std::min<std::size_t>(PROFD_STEP_NAME_BYTES, tail.size()))
    return Corrupt(PROFD_EVENT_STEP, "name beyond its end");
  return Event(StepEvent{.header = HeaderFrom(fixed.event),
                         .source = fixed.source,
                         .object = fixed.object,
                         .end = (fixed.event.flags & PROFD_STEP_END) != 0,
                         .name_cut = (fixed.event.flags & PROFD_STEP_NAME_CUT) != 0,
                         .name_missing = (fixed.event.flags & PROFD_STEP_NAME_FAULT) != 0,
                         .name = std::string(TextOf(tail.first(fixed.name_bytes)))});
}

Result<Event> DecodeSwitch(Bytes bytes) {
  profd_switch_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(PROFD_EVENT_SWITCH, "shorter than its fixed part");
  if (fixed.state != PROFD_STATE_BLOCKED && fixed.state != PROFD_STATE_RUNNABLE)
    return Corrupt(PROFD_EVENT_SWITCH, "state out of range");
  const auto kinds = static_cast<std::uint32_t>(
      fixed.state == PROFD_STATE_BLOCKED ? int{PROFD_BLOCKED_MAX} : int{PROFD_RUNNABLE_MAX});
  if (fixed.kind >= kinds) return Corrupt(PROFD_EVENT_SWITCH, "kind out of range");
  return Event(SwitchEvent{.header = HeaderFrom(fixed.event),
                           .begin_ns = fixed.begin_ns,
                           .runnable_ns = fixed.runnable_ns,
                           .state = static_cast<profd_thread_state>(fixed.state),
                           .kind = fixed.kind});
}

Result<Event> DecodeWake(Bytes bytes) {
  profd_wake_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(PROFD_EVENT_WAKE, "shorter than its fixed part");
  return Event(WakeEvent{.header = HeaderFrom(fixed.event),
                         .interrupt = (fixed.event.flags & PROFD_WAKE_INTERRUPT) != 0,
                         .hidden = (fixed.event.flags & PROFD_WAKE_HIDDEN) != 0,
                         .begin_ns = fixed.begin_ns,
                         .wakee = {fixed.wakee_tid, fixed.wakee_start_ns}});
}

Result<Event> DecodePmu(Bytes bytes) {
  profd_pmu_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail)) return Corrupt(PROFD_EVENT_PMU, "shorter than its fixed part");
  return Event(PmuEvent{.header = HeaderFrom(fixed.event),
                        .end = (fixed.event.flags & PROFD_PMU_END) != 0,
                        .epoch = fixed.epoch,
                        .at_epoch = fixed.at_epoch,
                        .final = fixed.final});
}

Result<Event> DecodeStepSource(Bytes bytes) {
  profd_step_source_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail))
    return Corrupt(PROFD_EVENT_STEP_SOURCE, "shorter than its fixed part");
  if (fixed.source >= PROFD_MAX_STEP_SOURCES)
    return Corrupt(PROFD_EVENT_STEP_SOURCE, "number out of range");
  if (fixed.text_bytes > tail.size() || fixed.reason_bytes > tail.size() - fixed.text_bytes)
    return Corrupt(PROFD_EVENT_STEP_SOURCE, "text beyond its end");
  return Event(StepSourceEvent{
      .header = HeaderFrom(fixed.event),
      .source = fixed.source,
      .names = (fixed.event.flags & PROFD_STEP_SOURCE_NAMES) != 0,
      .ends = (fixed.event.flags & PROFD_STEP_SOURCE_ENDS) != 0,
      .text = std::string(TextOf(tail.first(fixed.text_bytes))),
      .refused = std::string(TextOf(tail.subspan(fixed.text_bytes, fixed.reason_bytes)))});
}

Result<Event> DecodeCountersEvent(Bytes bytes) {
  profd_counters_event fixed;
  Bytes tail;
  if (!Split(bytes, fixed, tail))
    return Corrupt(PROFD_EVENT_COUNTERS, "shorter than its fixed part");
  if (fixed.count > tail.size() / sizeof(std::uint64_t))
    return Corrupt(PROFD_EVENT_COUNTERS, "values beyond its end");
  CountersEvent event;
  event.header = HeaderFrom(fixed.event);
  // Counters are append-only: a newer writer's last ones have no name here, an older one's are 0.
  ReadNumbers(tail, std::min<std::size_t>(fixed.count, PROFD_COUNTER_MAX), event.values);
  event.values.resize(PROFD_COUNTER_MAX);
  return Event(std::move(event));
}

// False when the bytes cannot hold a header or end before the event does.
bool ReadHeader(Bytes bytes, profd_event& header) {
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.size >= sizeof(header) && header.size <= bytes.size();
}

bool IsKnown(std::uint16_t kind) {
  return (kind >= PROFD_EVENT_ON_CPU && kind <= PROFD_EVENT_PMU) ||
         (kind >= PROFD_EVENT_MMAP && kind < kEventKinds);
}

Result<Event> DecodeKind(Bytes bytes, std::uint16_t kind) {
  switch (kind) {
    case PROFD_EVENT_ON_CPU:
    case PROFD_EVENT_OFF_CPU:
    case PROFD_EVENT_SNAPSHOT:
    case PROFD_EVENT_WAKER:
      return DecodeStack(bytes, kind);
    case PROFD_EVENT_CLOCK:
    case PROFD_EVENT_THREAD_END:
      return DecodeClock(bytes, kind);
    case PROFD_EVENT_FORK:
    case PROFD_EVENT_EXEC:
    case PROFD_EVENT_COMM:
    case PROFD_EVENT_EXIT:
      return DecodeTask(bytes, kind);
    case PROFD_EVENT_MMAP:
      return DecodeMmap(bytes);
    case PROFD_EVENT_PROCESS:
      return DecodeProcess(bytes);
    case PROFD_EVENT_SESSION_START:
    case PROFD_EVENT_SESSION_END:
      return DecodeSession(bytes, kind);
    case PROFD_EVENT_COUNTERS:
      return DecodeCountersEvent(bytes);
    case PROFD_EVENT_PYTHON_PROCESS:
      return DecodePythonProcess(bytes);
    case PROFD_EVENT_PYTHON_CODE:
      return DecodePythonCode(bytes);
    case PROFD_EVENT_PERIODS:
      return DecodePeriods(bytes);
    case PROFD_EVENT_BEYOND_SHARE:
      return DecodeBeyondShare(bytes);
    case PROFD_EVENT_LABEL_PROCESS:
      return DecodeLabelProcess(bytes);
    case PROFD_EVENT_STEP:
      return DecodeStep(bytes);
    case PROFD_EVENT_SWITCH:
      return DecodeSwitch(bytes);
    case PROFD_EVENT_WAKE:
      return DecodeWake(bytes);
    case PROFD_EVENT_PMU:
      return DecodePmu(bytes);
    case PROFD_EVENT_STEP_SOURCE:
      return DecodeStepSource(bytes);
    default:
      return Error{ErrorCode::kCorrupt, "event of unknown kind " + std::to_string(kind), ""};
  }
}

}  // namespace

Result<Event> DecodeEvent(const RawEvent& raw) {
  profd_event header;
  if (!ReadHeader(raw.bytes, header)) {
    return Error{ErrorCode::kCorrupt,
                 "event of " + std::to_string(raw.bytes.size()) + " bytes without a whole header",
                 ""};
  }
  return DecodeKind(raw.bytes.first(header.size), header.kind);
}

Result<Event> Decoder::Decode(const RawEvent& raw) {
  Result<Event> event = DecodeEvent(raw);
  profd_event header;
  if (event) {
    decoded_.Add();
  } else if (!ReadHeader(raw.bytes, header)) {
    no_header_.Add();
  } else if (!IsKnown(header.kind)) {
    unknown_kind_.Add();
  } else {
    corrupt_[header.kind].Add();
  }
  return event;
}

DecodeCounters Decoder::Counters() const {
  DecodeCounters counters{.decoded = decoded_.value(),
                          .no_header = no_header_.value(),
                          .unknown_kind = unknown_kind_.value()};
  std::ranges::transform(corrupt_, counters.corrupt.begin(), &Counter::value);
  return counters;
}

std::uint64_t DecodeCounters::Rejected() const {
  return std::accumulate(corrupt.begin(), corrupt.end(), no_header + unknown_kind);
}

}  // namespace profd::wire
