#include "daemon/python/feed/code_backfill.h"

#include <algorithm>
#include <array>
#include <iterator>
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
constexpr std::size_t kMaxUnread = 4'096;     // code objects of a process
constexpr std::size_t kMaxRequested = 1'024;  // in one request
constexpr std::uint64_t kFirstDelayNs = 5'000'000;
constexpr std::uint64_t kLastDelayNs = 1'000'000'000;

// Of a session's start or end.
bool IsRequested(const wire::RawEvent& event) {
  profd_session_event session{};
  return wire::ReadFixed(event.bytes, &session) && (session.mode & PROFD_SESSION_BACKGROUND) == 0;
}

}  // namespace

CodeBackfill::CodeBackfill(FactQueue& facts, reader::Readers& readers, const Clock& clock,
                           CodeShares& shares, reader::FindUser user_of)
    : facts_(facts),
      readers_(readers),
      clock_(clock),
      shares_(shares),
      user_of_(std::move(user_of)),
      known_(kMaxKnown),
      execs_(kMaxExecs),
      reported_(kMaxReported, kMaxReportedBytes),
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

bool CodeBackfill::TakeRation(Known& known) {
  const std::uint32_t pid = known.facts.process.pid;
  if (!known.user) known.user = user_of_(pid);
  if (!shares_.Admit(pid, *known.user) || ration_ns_ < kReadCostNs) {
    counters_.rationed.Add();
    return false;
  }
  shares_.Charge(pid, *known.user, 1);
  ration_ns_ -= kReadCostNs;
  return true;
}

void CodeBackfill::ChargeTexts(const Unread& unread, const Wanted& wanted, const CodeText& text) {
  constexpr std::size_t kKiB = 1'024;
  const std::size_t bytes =
      text.name.size() + text.qualname.size() + text.file.size() + text.lines.size();
  shares_.Charge(unread.process.pid, unread.user, bytes / kKiB);
  const CodeKey key{unread.number, wanted.query.runtime, wanted.query.validator,
                    wanted.query.address};
  if (reported_.Peek(key) != nullptr) reported_.Charge(key, bytes);
}

void CodeBackfill::Pass(const wire::RawEvent& event, const Sink& sink) {
  profd_event header{};
  if (!wire::ReadHeader(event.bytes, &header)) return sink(event);
  switch (header.kind) {
    case PROFD_EVENT_ON_CPU:
    case PROFD_EVENT_OFF_CPU:
    case PROFD_EVENT_SNAPSHOT:
    case PROFD_EVENT_WAKER:
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
      EndRound(sink);  // what its samples need has to stand before its end
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
  unread_.clear();
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
    if (!frame.anchor) Want(known, header, frame);
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

void CodeBackfill::Want(Known& known, const profd_event& header, const wire::PythonFrame& frame) {
  if (frame.runtime >= known.facts.runtimes.size()) return;  // nothing is known of it yet
  if (!known.facts.runtimes[frame.runtime].attachment) return;
  const auto waiting = unread_.find(known.number);
  if (waiting != unread_.end() && waiting->second.codes.size() >= kMaxUnread)
    return counters_.rationed.Add();
  // Without a validator, each sample may hold another code object at this address.
  const CodeKey key{known.number, frame.runtime, frame.validator, frame.address};
  if (frame.validator != 0 && reported_.Find(key) != nullptr) return;
  if (!TakeRation(known)) return;
  if (frame.validator != 0) reported_.Put(key, header.time_ns);
  Unread& unread = unread_[known.number];
  if (unread.versions.empty()) {
    unread.process = known.facts.process;
    unread.number = known.number;
    unread.parent = known.parent;
    unread.user = known.user.value_or(0);
    unread.since_ns = known.since_ns;
    for (const RuntimeFacts& runtime : known.facts.runtimes)
      unread.versions.push_back(runtime.attachment ? runtime.attachment->version
                                                   : RuntimeVersion{});
  }
  // The event comes after the sample, and has to be before it in order of time.
  const std::uint64_t before_ns = std::max<std::uint64_t>(header.time_ns, 1) - 1;
  unread.codes.push_back(
      {.query = {.address = frame.address, .validator = frame.validator, .runtime = frame.runtime},
       .header = header,
       .due_ns = std::max(known.since_ns, std::min(before_ns, settled_ns_))});
}

void CodeBackfill::EndRound(const Sink& sink) {
  if (unread_.empty()) return;
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + kPatience;
  const std::uint64_t now_ns = clock_.MonotonicNs();
  // Who needs most comes last: it must not use up the patience of the round for the others.
  std::vector<std::pair<std::size_t, std::uint32_t>> due;  // code objects, number
  for (const auto& [number, unread] : unread_)
    if (unread.next_ns <= now_ns) due.emplace_back(unread.codes.size(), number);
  std::ranges::sort(due);
  for (const auto& [codes, number] : due) {
    const auto one = unread_.find(number);
    Unread& unread = one->second;
    const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
    const bool done = Read(unread, std::max(left, milliseconds(0)), sink);
    const Known* known = known_.Peek(unread.process.pid);
    const bool is_there = known != nullptr && known->number == unread.number;
    if (done || !is_there) {
      unread_.erase(one);
      continue;
    }
    unread.delay_ns = std::clamp(2 * unread.delay_ns, kFirstDelayNs, kLastDelayNs);
    unread.next_ns = now_ns + unread.delay_ns;
  }
}

bool CodeBackfill::Read(Unread& unread, std::chrono::milliseconds patience, const Sink& sink) {
  while (!unread.codes.empty()) {
    // A request that has no answer yet is made again as it was.
    if (unread.requested == 0) unread.requested = std::min(unread.codes.size(), kMaxRequested);
    queries_.clear();
    for (const Wanted& wanted : std::span(unread.codes).first(unread.requested))
      queries_.push_back(wanted.query);
    const auto answers =
        readers_.Read(unread.process, unread.number, unread.versions, queries_, patience);
    if (!answers) return false;
    for (std::size_t i = 0; i < answers->size(); ++i)
      ReportCode(unread, unread.codes[i], (*answers)[i], sink);
    unread.codes.erase(unread.codes.begin(), unread.codes.begin() + std::ssize(*answers));
    unread.requested = 0;
    unread.delay_ns = 0;
  }
  return true;
}

// A code object that is now the one of an earlier sample was that one in between, too. A sample of
// the parent before the fork counts.
bool CodeBackfill::IsProven(const Unread& unread, const Wanted& wanted, const CodeAnswer& answer) {
  if (wanted.query.validator != 0) return true;
  const auto was_by = [&](std::uint32_t number, std::uint64_t time_ns) {
    const auto* since_ns =
        reported_.Find({number, wanted.query.runtime, answer.validator, wanted.query.address});
    return since_ns != nullptr && *since_ns <= time_ns;
  };
  return was_by(unread.number, wanted.header.time_ns) || was_by(unread.parent, unread.since_ns);
}

void CodeBackfill::ReportCode(const Unread& unread, const Wanted& wanted, const CodeAnswer& answer,
                              const Sink& sink) {
  const bool is_known = answer.text && IsProven(unread, wanted, answer);
  profd_python_code_event fixed{};
  fixed.event = wanted.header;
  fixed.event.flags = is_known ? 0 : PROFD_PYTHON_CODE_STALE;
  fixed.event.time_ns = wanted.due_ns;
  fixed.code = wanted.query.address;
  fixed.validator = wanted.query.validator;
  fixed.version = unread.versions[wanted.query.runtime].number;
  fixed.runtime = wanted.query.runtime;
  std::string tail;
  if (is_known) {
    const CodeText& text = *answer.text;
    ChargeTexts(unread, wanted, text);
    fixed.first_line = text.first_line;
    const std::array<const std::string*, PROFD_PYTHON_TEXT_MAX> texts{&text.name, &text.qualname,
                                                                      &text.file, &text.lines};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      fixed.text_bytes[i] = static_cast<__u32>(texts.at(i)->size());
      tail += *texts.at(i);
    }
  }
  counters_.reported.Add();
  if (!is_known) counters_.stale.Add();
  const auto bytes = wire::LayOut(PROFD_EVENT_PYTHON_CODE, fixed, tail);
  sink(wire::RawEvent{bytes});
}

}  // namespace profd::python
