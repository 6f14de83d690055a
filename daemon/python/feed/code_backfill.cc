#include "daemon/python/feed/code_backfill.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "bpf/shared/events.h"
#include "daemon/wire/event_bytes.h"
#include "daemon/wire/packed_words.h"
#include "daemon/wire/python_decoder.h"

namespace profd::python {
namespace {

using Sink = wire::EventSource::Sink;

constexpr std::uint64_t kReadCostNs = 1'000'000'000 / CodeBackfill::kReadsPerSecond;
constexpr std::uint64_t kMaxRationNs = CodeBackfill::kReadBurst * kReadCostNs;
constexpr std::size_t kMaxKnown = std::size_t{2} * PROFD_MAX_PYTHON_PROCESSES;
constexpr std::size_t kMaxExecs = 65'536;

// Of a session's start or end.
bool IsRequested(const wire::RawEvent& event) {
  profd_session_event session{};
  return wire::ReadFixed(event.bytes, &session) && (session.mode & PROFD_SESSION_BACKGROUND) == 0;
}

}  // namespace

CodeBackfill::CodeBackfill(FactQueue& facts, const Clock& clock)
    : facts_(facts),
      clock_(clock),
      known_(kMaxKnown),
      execs_(kMaxExecs),
      reported_(kMaxReported),
      ration_ns_(kMaxRationNs) {}

void CodeBackfill::BeginRound() {
  const std::uint64_t now_ns = clock_.MonotonicNs();
  settled_ns_ = round_ns_;
  ration_ns_ = std::min(kMaxRationNs, ration_ns_ + (now_ns - round_ns_));
  round_ns_ = now_ns;
  for (const ProcessKey& process : ended_before_) {
    const Known* known = known_.Peek(process.pid);
    if (known != nullptr && known->facts.process == process) known_.Erase(process.pid);
  }
  ended_before_ = std::exchange(ended_, {});
}

bool CodeBackfill::TakeRation() {
  if (ration_ns_ < kReadCostNs) {
    counters_.rationed.Add();
    return false;
  }
  ration_ns_ -= kReadCostNs;
  return true;
}

void CodeBackfill::Pass(const wire::RawEvent& event, const Sink& sink) {
  profd_event header{};
  if (!wire::ReadHeader(event.bytes, &header)) return sink(event);
  switch (header.kind) {
    case PROFD_EVENT_ON_CPU:
    case PROFD_EVENT_OFF_CPU:
    case PROFD_EVENT_SNAPSHOT:
      PassSample(event, header, sink);
      break;
    case PROFD_EVENT_FORK:
      Fork(event, header);
      break;
    case PROFD_EVENT_EXEC:
      known_.Erase(header.pid);
      execs_.Put(header.pid, header.time_ns);
      break;
    case PROFD_EVENT_EXIT:
      if ((header.flags & PROFD_TASK_LAST_THREAD) == 0) break;
      execs_.Erase(header.pid);
      ended_.push_back({header.pid, header.process_start_ns});
      break;
    case PROFD_EVENT_SESSION_START:
      ++sessions_;
      if (IsRequested(event)) ++requested_sessions_;
      break;
    case PROFD_EVENT_SESSION_END:
      if (IsRequested(event) && requested_sessions_ > 0) --requested_sessions_;
      EndSession();
      break;
    default:
      break;
  }
  sink(event);
}

void CodeBackfill::EndSession() {
  if (sessions_ == 0 || --sessions_ > 0) return;
  // The next session needs all events again.
  reported_.Clear();
  known_.ForEach([](std::uint32_t /*pid*/, Known& known) { known.reported = false; });
}

void CodeBackfill::TakeFacts() {
  for (PythonFacts& facts : facts_.TakeAll()) {
    const std::uint32_t pid = facts.process.pid;
    const Known* before = known_.Peek(pid);
    Known known;
    known.number = ++numbers_;
    if (before != nullptr && before->facts.process == facts.process) {
      known.since_ns = before->since_ns;
      known.parent = before->parent;
    } else if (const std::uint64_t* exec_ns = execs_.Peek(pid); exec_ns != nullptr) {
      known.since_ns = *exec_ns;
    }
    known.facts = std::move(facts);
    known_.Put(pid, std::move(known));
  }
}

void CodeBackfill::Fork(const wire::RawEvent& event, const profd_event& header) {
  profd_task_event task{};
  if ((header.flags & PROFD_TASK_NEW_PROCESS) == 0 || !wire::ReadFixed(event.bytes, &task)) return;
  execs_.Erase(header.pid);
  TakeFacts();
  const Known* parent = known_.Peek(task.parent_pid);
  if (parent == nullptr || parent->facts.process.start_ns != task.parent_process_start_ns) return;
  Known child;
  child.facts = parent->facts;
  child.facts.process = {header.pid, header.process_start_ns};
  child.since_ns = header.time_ns;
  child.number = ++numbers_;
  child.parent = parent->number;
  known_.Put(header.pid, std::move(child));
}

void CodeBackfill::PassSample(const wire::RawEvent& event, const profd_event& header,
                              const Sink& sink) {
  TakeFacts();
  Known* found = known_.Find(header.pid);
  if (found == nullptr || found->facts.process != ProcessKey{header.pid, header.process_start_ns})
    return;
  Known& known = *found;
  if (!known.reported) ReportProcess(known, header, sink);
  profd_sample_event fixed{};
  std::span<const std::byte> tail;
  if (!wire::ReadSample(event.bytes, &fixed, &tail) || fixed.python_words == 0) return;
  words_.clear();
  wire::ReadWords(fixed, tail, words_);
  const std::size_t before = std::size_t{fixed.kernel_frames} + fixed.user_frames + fixed.cfas;
  if (words_.size() < before + fixed.python_words) return;  // the decoder counts it
  frames_.clear();
  if (!wire::ReadPythonFrames(std::span(words_).subspan(before), frames_)) return;  // that, too
  for (const wire::PythonFrame& frame : frames_)
    if (!frame.anchor) ReportCode(known, header, frame, sink);
}

std::uint64_t CodeBackfill::IsReportDue(const Known& known, const profd_event& header) const {
  return std::max(known.since_ns, std::min<std::uint64_t>(header.time_ns, settled_ns_));
}

void CodeBackfill::ReportProcess(Known& known, const profd_event& header, const Sink& sink) {
  known.reported = true;
  for (const RuntimeFacts& runtime : known.facts.runtimes) {
    profd_python_process_event fixed{};
    fixed.event = header;
    fixed.event.flags = 0;
    fixed.event.time_ns = IsReportDue(known, header);
    fixed.runtime = static_cast<__u32>(&runtime - known.facts.runtimes.data());
    fixed.version = runtime.version;
    fixed.module_begin = runtime.module.begin;
    fixed.module_end = runtime.module.end;
    fixed.reason_bytes = static_cast<__u32>(runtime.reason.size());
    if (const auto& attachment = runtime.attachment) {
      fixed.chain = attachment->layout.process.chain;
      fixed.eval_begin = attachment->eval.begin;
      fixed.eval_end = attachment->eval.end;
      fixed.gil_begin = attachment->gil.begin;
      fixed.gil_end = attachment->gil.end;
    }
    const auto bytes = wire::LayOut(PROFD_EVENT_PYTHON_PROCESS, fixed, runtime.reason);
    sink(wire::RawEvent{bytes});
  }
}

// A code object that is now the one of an earlier sample was that one in between, too. A sample of
// the parent before the fork counts.
Result<CodeText> CodeBackfill::ReadUnvalidated(const Known& known, const profd_event& header,
                                               const wire::PythonFrame& frame, CodeReader& reader) {
  const Error unproven{ErrorCode::kNotFound, "a code object was not read in time", ""};
  if (!TakeRation()) return unproven;
  const auto validator = reader.Validate(frame.address);
  if (!validator) return unproven;
  const auto was_by = [&](std::uint32_t number, std::uint64_t time_ns) {
    const auto* since_ns = reported_.Find({number, frame.runtime, *validator, frame.address});
    return since_ns != nullptr && *since_ns <= time_ns;
  };
  if (!was_by(known.number, header.time_ns) && !was_by(known.parent, known.since_ns))
    return unproven;
  return reader.Read(frame.address, *validator);
}

void CodeBackfill::ReportCode(Known& known, const profd_event& header,
                              const wire::PythonFrame& frame, const Sink& sink) {
  if (frame.runtime >= known.facts.runtimes.size()) return;  // nothing is known of it yet
  const RuntimeFacts& runtime = known.facts.runtimes[frame.runtime];
  if (!runtime.attachment) return;
  const CodeKey key{known.number, frame.runtime, frame.validator, frame.address};
  // Without a validator, each sample may hold another code object at this address.
  const bool validated = frame.validator != 0;
  if (validated) {
    if (reported_.Find(key) != nullptr || !TakeRation()) return;
    reported_.Put(key, header.time_ns);
  }
  auto& reader = known.readers.at(frame.runtime);
  if (!reader)
    reader = std::make_unique<CodeReader>(ProcessMemory(header.pid), runtime.attachment->layout);
  const auto text = validated ? reader->Read(frame.address, frame.validator)
                              : ReadUnvalidated(known, header, frame, *reader);
  profd_python_code_event fixed{};
  fixed.event = header;
  fixed.event.flags = text ? 0 : PROFD_PYTHON_CODE_STALE;
  fixed.event.time_ns = IsReportDue(known, header);
  fixed.code = frame.address;
  fixed.validator = frame.validator;
  fixed.version = runtime.version;
  fixed.runtime = frame.runtime;
  std::string tail;
  if (text) {
    fixed.first_line = text->first_line;
    const std::array<const std::string*, PROFD_PYTHON_TEXT_MAX> texts{&text->name, &text->qualname,
                                                                      &text->file, &text->lines};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      fixed.text_bytes[i] = static_cast<__u32>(texts.at(i)->size());
      tail += *texts.at(i);
    }
  }
  counters_.reported.Add();
  if (!text) counters_.stale.Add();
  const auto bytes = wire::LayOut(PROFD_EVENT_PYTHON_CODE, fixed, tail);
  sink(wire::RawEvent{bytes});
}

}  // namespace profd::python
