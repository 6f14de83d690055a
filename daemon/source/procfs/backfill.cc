#include "daemon/source/procfs/backfill.h"

#include <algorithm>
#include <utility>

namespace profd::source {
namespace {

constexpr std::uint64_t kReadCostNs = 1'000'000'000 / Backfill::kReadsPerSecond;
constexpr std::uint64_t kMaxRationNs = Backfill::kReadBurst * kReadCostNs;
constexpr std::uint64_t kReadAgainCostNs = 1'000'000'000 / Backfill::kReadsAgainPerSecond;
constexpr std::uint64_t kMaxAgainNs = 1'000'000'000;
constexpr std::uint64_t kShareCostNs = 1'000'000'000 / Backfill::kSharePerSecond;
constexpr std::uint64_t kMaxShareNs = Backfill::kShareBurst * kShareCostNs;

ProcessKey KeyOf(const profd_event& header) { return {header.pid, header.process_start_ns}; }

}  // namespace

Backfill::Backfill(ProcessReader reader, const Clock& clock)
    : reader_(std::move(reader)), clock_(clock), ration_ns_(kMaxRationNs), again_ns_(kMaxAgainNs) {}

void Backfill::BeginRound() {
  const std::uint64_t now_ns = clock_.MonotonicNs();
  settled_ns_ = round_ns_;
  ration_ns_ = std::min(kMaxRationNs, ration_ns_ + (now_ns - round_ns_));
  again_ns_ = std::min(kMaxAgainNs, again_ns_ + (now_ns - round_ns_));
  round_ns_ = now_ns;
}

void Backfill::Pass(const wire::RawEvent& event, const wire::EventSource::Sink& sink) {
  profd_event header{};
  if (!wire::ReadHeader(event.bytes, &header)) return;  // the rings' reader has counted it
  // A session has all of its events between its start and its end.
  if (header.kind == PROFD_EVENT_SESSION_START || header.kind == PROFD_EVENT_SESSION_END)
    ReadWanted(sink);
  if (!Hold(event, header)) PassOne(event, header, sink);
  if (wanted_.size() >= ProcessTextClient::kTogether || waiting_events_.size() >= kMaxWaiting)
    ReadWanted(sink);
}

void Backfill::PassOne(const wire::RawEvent& event, const profd_event& header,
                       const wire::EventSource::Sink& sink) {
  switch (header.kind) {
    case PROFD_EVENT_ON_CPU:
    case PROFD_EVENT_OFF_CPU:
    case PROFD_EVENT_CLOCK:
    case PROFD_EVENT_SNAPSHOT:
    case PROFD_EVENT_COMM:
    case PROFD_EVENT_WAKER:
      return PassSample(event, header, sink);
    case PROFD_EVENT_FORK:
      return PassFork(event, header, sink);
    case PROFD_EVENT_EXEC: {
      sink(event);
      Process& process = met_[header.pid];
      process.start_ns = header.process_start_ns;
      process.begun_ns = header.time_ns;
      process.settled = false;
      if (!TakeShare(header.pid, process)) return ReadAgain(process, header.time_ns);
      process.unread = true;
      process.again = false;
      process.since_ns = header.time_ns;
      return Want(header, header.time_ns);
    }
    case PROFD_EVENT_EXIT:
      if ((header.flags & PROFD_TASK_LAST_THREAD) != 0) ended_.push_back(KeyOf(header));
      break;
    case PROFD_EVENT_MMAP:
      return PassMmap(event, header, sink);
    case PROFD_EVENT_PROCESS:
      met_[header.pid] = {.start_ns = header.process_start_ns,
                          .read_ns = round_ns_,
                          .begun_ns = header.process_start_ns,
                          .settled = round_ns_ >= header.process_start_ns + kSettledNs};
      if ((header.flags & PROFD_TASK_PARTIAL) != 0) ReadAgain(met_[header.pid], header.time_ns);
      break;
    case PROFD_EVENT_SESSION_START:
      ++sessions_;
      break;
    case PROFD_EVENT_SESSION_END:
      // From here on new mappings are not reported, so the description may become outdated.
      if (sessions_ > 0 && --sessions_ == 0) met_.clear();
      break;
    default:
      break;
  }
  sink(event);
}

void Backfill::EndRound(const wire::EventSource::Sink& sink) {
  ReadWanted(sink);
  for (const wire::EventBytes& mmap : held_before_) {
    profd_event header{};
    if (wire::ReadHeader(mmap, &header) && met_.contains(header.pid)) sink(wire::RawEvent{mmap});
  }
  held_before_ = std::exchange(held_, {});
  // A thread's last events may come a round after the exit of its process.
  for (const ProcessKey& process : ended_before_) {
    const auto found = met_.find(process.pid);
    if (found != met_.end() && found->second.start_ns == process.start_ns) met_.erase(found);
  }
  ended_before_ = std::exchange(ended_, {});
  ForgetBeyondShare();
}

void Backfill::LostMappings() {
  for (auto& [pid, process] : met_) ReadAgain(process, round_ns_);
}

void Backfill::ReadAgain(Process& process, std::uint64_t since_ns) const {
  if (!process.unread) process.again = true;
  process.unread = true;
  process.since_ns = std::max(process.since_ns, since_ns);
}

bool Backfill::HasShare(const Process& process) const {
  return std::max(process.share_ns, round_ns_) + kShareCostNs <= round_ns_ + kMaxShareNs;
}

bool Backfill::IsBeyondShare(std::uint32_t pid) {
  const auto met = met_.find(pid);
  if (met == met_.end() || HasShare(met->second)) return false;
  ++beyond_share_;
  NameBeyondShare(pid);
  ReadAgain(met->second, round_ns_);
  return true;
}

bool Backfill::TakeShare(std::uint32_t pid, Process& process) {
  if (HasShare(process)) {
    process.share_ns = std::max(process.share_ns, round_ns_) + kShareCostNs;
    return true;
  }
  ++beyond_share_;
  NameBeyondShare(pid);
  return false;
}

void Backfill::NameBeyondShare(std::uint32_t pid) {
  const std::scoped_lock lock(mutex_);
  if (named_.size() >= kMaxKeptBeyond && !named_.contains(pid)) return;
  BeyondShare& beyond = named_[pid];
  beyond.key = {PROFD_SHARE_MAPPINGS, pid};
  ++beyond.count;
  beyond.last_ns = round_ns_;
}

void Backfill::ForgetBeyondShare() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(named_,
                [this](const auto& one) { return one.second.last_ns + kKeptBeyondNs < round_ns_; });
}

std::vector<BeyondShare> Backfill::ProcessesBeyondShare() const {
  const std::scoped_lock lock(mutex_);
  std::vector<BeyondShare> all;
  all.reserve(named_.size());
  for (const auto& [pid, beyond] : named_) all.push_back(beyond);
  return all;
}

bool Backfill::Met(ProcessKey process) const {
  const auto found = met_.find(process.pid);
  // An older process of the same number has ended; there is nothing to be read of it any more.
  return found != met_.end() && process.start_ns <= found->second.start_ns;
}

bool Backfill::TakeRation(bool again) {
  if (ration_ns_ < kReadCostNs || (again && again_ns_ < kReadAgainCostNs)) return false;
  ration_ns_ -= kReadCostNs;
  if (again) again_ns_ -= kReadAgainCostNs;
  return true;
}

void Backfill::PassSample(const wire::RawEvent& event, const profd_event& header,
                          const wire::EventSource::Sink& sink) {
  // Of no process: the idle thread, an interrupt.
  if (header.pid == 0) return sink(event);
  if (!Met(KeyOf(header)))
    met_[header.pid] = {
        .start_ns = header.process_start_ns, .unread = true, .begun_ns = header.process_start_ns};
  Process& process = met_[header.pid];
  if (!process.settled && !process.unread && round_ns_ >= process.begun_ns + kSettledNs)
    ReadAgain(process, process.since_ns);
  const bool due = !process.again || round_ns_ >= process.read_ns + kReadAgainNs;
  if (process.unread && due && process.start_ns == header.process_start_ns)
    Want(header, std::max(process.since_ns, std::min<std::uint64_t>(header.time_ns, settled_ns_)));
  if (!Hold(event, header)) sink(event);
}

void Backfill::PassFork(const wire::RawEvent& event, const profd_event& header,
                        const wire::EventSource::Sink& sink) {
  profd_task_event task{};
  if ((header.flags & PROFD_TASK_NEW_PROCESS) == 0 || !wire::ReadFixed(event.bytes, &task))
    return PassSample(event, header, sink);
  // The child is what its parent was, if that is known.
  const bool known = Met({task.parent_pid, task.parent_process_start_ns});
  met_[header.pid] = {.start_ns = header.process_start_ns,
                      .unread = !known,
                      .since_ns = header.time_ns,
                      .begun_ns = header.time_ns};
  sink(event);
  if (!known) Want(header, header.time_ns);
}

void Backfill::PassMmap(const wire::RawEvent& event, const profd_event& header,
                        const wire::EventSource::Sink& sink) {
  if (const auto met = met_.find(header.pid); met != met_.end()) {
    if (TakeShare(header.pid, met->second)) return sink(event);
    return ReadAgain(met->second, header.time_ns);
  }
  if (held_.size() < kMaxHeld) {
    held_.emplace_back(event.bytes.begin(), event.bytes.end());
  } else {
    ++dropped_;
  }
}

bool Backfill::Hold(const wire::RawEvent& event, const profd_event& header) {
  if (waiting_.empty()) return false;
  profd_task_event task{};
  const bool of_child = header.kind == PROFD_EVENT_FORK && wire::ReadFixed(event.bytes, &task) &&
                        waiting_.contains(task.parent_pid);
  if (of_child) waiting_.insert(header.pid);
  if (!waiting_.contains(header.pid)) return false;
  waiting_events_.emplace_back(event.bytes.begin(), event.bytes.end());
  return true;
}

void Backfill::Want(const profd_event& header, std::uint64_t time_ns) {
  Process& known = met_[header.pid];
  if (!TakeRation(known.again)) return;
  known.unread = false;
  known.again = false;
  known.read_ns = round_ns_;
  known.settled = round_ns_ >= known.begun_ns + kSettledNs;
  wanted_.push_back({KeyOf(header), header.tid, time_ns});
  waiting_.insert(header.pid);
}

void Backfill::ReadWanted(const wire::EventSource::Sink& sink) {
  while (!wanted_.empty()) {
    const auto wanted = std::exchange(wanted_, {});
    const auto held = std::exchange(waiting_events_, {});
    waiting_.clear();
    const auto processes = reader_.Read(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!processes[i]) {
        ++gone_;
        continue;
      }
      profd_event header{};
      if (wire::ReadHeader(*processes[i], &header) && (header.flags & PROFD_TASK_PARTIAL) != 0)
        ReadAgain(met_[header.pid], wanted[i].time_ns);
      sink(wire::RawEvent{*processes[i]});
    }
    // These may make other readings necessary, and then wait once more.
    for (const wire::EventBytes& event : held) {
      profd_event header{};
      if (wire::ReadHeader(event, &header) && !Hold(wire::RawEvent{event}, header))
        PassOne(wire::RawEvent{event}, header, sink);
    }
  }
}

}  // namespace profd::source
