#include "daemon/python/feed/python_service.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "bpf/shared/events.h"
#include "daemon/python/code/layout.h"
#include "daemon/source/procfs/process_reader.h"
#include "daemon/wire/event_bytes.h"

namespace profd::python {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxTasks = 65'536;
constexpr std::ptrdiff_t kLookAhead = 256;  // tasks
constexpr milliseconds kFirstDelay{20};
constexpr milliseconds kLastDelay{5'000};
constexpr milliseconds kBeyondShareDelay{1'000};
constexpr int kQuickTries = 50;
// Of a process that has run for so long nothing is about to begin: its tries come ever later at
// once, each for as many quick ones as would have taken the same time, more or less.
constexpr std::uint64_t kSettledNs = 2'000'000'000;
constexpr int kSettledTry = 9;
constexpr std::chrono::seconds kSweepEvery{30};
constexpr milliseconds kFresh{500};
constexpr milliseconds kTouchEvery{10};
constexpr std::uint64_t kNsPerTick = 10'000'000;

// By its start. It may have executed another program since: who knows of that knows better.
bool HasSettled(ProcessKey process) {
  timespec now{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto now_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                      static_cast<std::uint64_t>(now.tv_nsec);
  return now_ns >= process.start_ns + kSettledNs;
}

}  // namespace

PythonService::PythonService(PythonProcesses& processes, FactQueue& facts, reader::Readers& readers,
                             budget::Shares& searches, ProcFs proc, reader::FindUser user_of)
    : known_(processes),
      facts_(facts),
      proc_(std::move(proc)),
      readers_(readers),
      shares_(searches),
      user_of_(std::move(user_of)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void PythonService::See(const wire::RawEvent& event) {
  profd_event header{};
  if (!wire::ReadHeader(event.bytes, &header)) return;
  const ProcessKey key{header.pid, header.process_start_ns};
  profd_task_event task{};
  profd_mmap_event mmap{};
  profd_sample_event sample{};
  switch (header.kind) {
    case PROFD_EVENT_PROCESS:
      return Push({Task::kProcess, key, {}, {}});
    case PROFD_EVENT_EXEC:
      return Push({Task::kExec, key, {}, {}});
    case PROFD_EVENT_EXIT:
      if ((header.flags & PROFD_TASK_LAST_THREAD) != 0) Push({Task::kExit, key, {}, {}});
      return;
    case PROFD_EVENT_FORK:
      if ((header.flags & PROFD_TASK_NEW_PROCESS) != 0 && wire::ReadFixed(event.bytes, &task))
        Push({Task::kFork, key, {task.parent_pid, task.parent_process_start_ns}, {}});
      return;
    case PROFD_EVENT_ON_CPU:
    case PROFD_EVENT_OFF_CPU:
    case PROFD_EVENT_SNAPSHOT:
    case PROFD_EVENT_WAKER:
      if (wire::ReadSample(event.bytes, &sample) &&
          (sample.python_flags & (PROFD_PYTHON_FAULT | PROFD_PYTHON_TORN)) != 0)
        Push({Task::kFault, key, {}, {}});
      return;
    case PROFD_EVENT_MMAP:
      if (wire::ReadFixed(event.bytes, &mmap) && (mmap.prot & PROT_EXEC) != 0 && mmap.inode != 0)
        Push(
            {Task::kMapping, key, {}, {mmap.address, mmap.address + mmap.bytes, mmap.file_offset}});
      return;
    default:
      return;
  }
}

void PythonService::Look(ProcessKey process) { Push({Task::kProcess, process, {}, {}}); }

bool PythonService::Await(milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return ready_.wait_for(lock, timeout, [this] { return tasks_.empty() && !busy_; });
}

void PythonService::Push(Task task) {
  const std::scoped_lock lock(mutex_);
  if (tasks_.size() >= kMaxTasks) return counters_.dropped.Add();
  tasks_.push_back(task);
  ready_.notify_all();
}

void PythonService::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-python");
  const Heartbeat::Working working(beat_);
  Time swept = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const auto task = NextTask(stop);
    if (task) Handle(*task);
    Rest();
    const Time now = std::chrono::steady_clock::now();
    Retry(now);
    TakeStock();
    if (now - swept < kSweepEvery) continue;
    Sweep();
    swept = now;
  }
}

std::optional<PythonService::Task> PythonService::NextTask(const std::stop_token& stop) {
  Time next = std::chrono::steady_clock::now() + kSweepEvery;
  for (const auto& [pid, process] : processes_)
    if (process.waits) next = std::min(next, process.next);
  for (const auto& [pid, search] : searches_) next = std::min(next, search.next);
  std::unique_lock lock(mutex_);
  {
    const Heartbeat::Waiting waiting(beat_);
    (void)ready_.wait_until(lock, stop, next, [this] { return !tasks_.empty(); });
  }
  if (tasks_.empty()) return std::nullopt;
  const Task task = tasks_.front();
  tasks_.pop_front();
  busy_ = true;
  return task;
}

void PythonService::Rest() {
  const std::scoped_lock lock(mutex_);
  busy_ = false;
  if (tasks_.empty()) ready_.notify_all();
}

void PythonService::TakeStock() {
  const std::scoped_lock lock(mutex_);
  if (!tasks_.empty()) return;
  status_ = {};
  for (const auto& [pid, process] : processes_) {
    if (!process.another.empty()) ++status_.refused[process.another];
    if (!process.attached.empty()) {
      ++status_.attached;
    } else if (process.refused) {
      ++status_.refused[process.reason];
    } else if (process.waits) {
      ++status_.waiting[process.reason];
    }
  }
}

PythonStatus PythonService::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void PythonService::Handle(const Task& task) {
  switch (task.kind) {
    case Task::kExec:
      Forget(task.process.pid);
      return HandleProcess(task.process, false);
    case Task::kProcess:
      return HandleProcess(task.process, HasSettled(task.process));
    case Task::kFork:
      return HandleFork(task.process, task.parent);
    case Task::kMapping:
      return HandleMapping(task);
    case Task::kExit:
      return Forget(task.process.pid);
    case Task::kFault:
      return HandleFault(task.process);
  }
}

// A process that is known is examined again if that was long ago: it may have executed another
// program while no session ran.
void PythonService::HandleProcess(ProcessKey key, bool settled) {
  const Time now = std::chrono::steady_clock::now();
  const auto known = processes_.find(key.pid);
  if (known != processes_.end() && known->second.key == key && !known->second.attached.empty() &&
      now - known->second.looked < kFresh)
    return Report(known->second);
  if (known != processes_.end() && known->second.key != key) Forget(key.pid);
  seen_.Put(key.pid, key);
  (void)TakeMappings(key.pid);  // they are among those that it has now
  Find({.key = key,
        .number = ++numbers_,
        .mappings = {},
        .settled = settled,
        .next = {},
        .delay = kFirstDelay});
}

void PythonService::HandleMapping(const Task& task) {
  const std::uint32_t pid = task.process.pid;
  std::vector<ModuleMapping> mappings = TakeMappings(pid);
  const ProcessKey* seen = seen_.Find(pid);
  if (seen == nullptr) return;  // of no interest yet
  mappings.insert(mappings.begin(), task.mapping);
  Find({.key = *seen,
        .number = ++numbers_,
        .mappings = std::move(mappings),
        .next = {},
        .delay = kFirstDelay});
}

// Those of the process that come next, of which nothing else comes before: a request costs more
// than a mapping.
std::vector<ModuleMapping> PythonService::TakeMappings(std::uint32_t pid) {
  std::vector<ModuleMapping> mappings;
  const std::scoped_lock lock(mutex_);
  const auto end = tasks_.begin() + std::min(kLookAhead, std::ssize(tasks_));
  bool other = false;
  const auto kept = std::remove_if(tasks_.begin(), end, [&](const Task& task) {
    if (other || task.process.pid != pid) return false;
    other = task.kind != Task::kMapping;
    if (!other) mappings.push_back(task.mapping);
    return !other;
  });
  tasks_.erase(kept, end);
  return mappings;
}

// One request for a process at a time: a slow one would hold several readers.
void PythonService::Find(Search search) {
  const std::uint32_t pid = search.key.pid;
  const auto before = searches_.find(pid);
  if (before != searches_.end() && before->second.key == search.key &&
      before->second.number != search.number) {
    before->second.again = true;
    return;
  }
  const std::uint32_t user = user_of_(pid);
  if (!shares_.Admit(user)) {
    search.delay = std::max(search.delay, kBeyondShareDelay);
    return FindLater(std::move(search), kMaxPutOff);
  }
  auto found = readers_.Find(search.key, search.number, search.mappings, kPatience);
  shares_.Charge(user, found ? 1 : kLateCost);
  if (!found) return FindLater(std::move(search), kMaxSearches);
  searches_.erase(pid);
  if (search.mappings.empty())
    TakeAll(search, *std::move(found));
  else
    TakeMore(search.key, *std::move(found));
  if (search.again)
    Find({.key = search.key,
          .number = ++numbers_,
          .mappings = {},
          .settled = search.settled,
          .next = {},
          .delay = kFirstDelay});
}

void PythonService::FindLater(Search search, std::size_t room) {
  const std::uint32_t pid = search.key.pid;
  if (!searches_.contains(pid) && searches_.size() >= room) return counters_.dropped.Add();
  search.next = std::chrono::steady_clock::now() + search.delay;
  search.delay = std::min(kLastDelay, search.delay * 2);
  searches_.insert_or_assign(pid, std::move(search));
}

// All interpreters that the process has now. Until it is attached to, the BPF side uses what was
// known of it.
void PythonService::TakeAll(const Search& search, std::vector<Candidate> candidates) {
  const ProcessKey key = search.key;
  const auto known = processes_.find(key.pid);
  if (candidates.empty()) {
    if (known != processes_.end()) Forget(key.pid);
    seen_.Put(key.pid, key);
    return;
  }
  Process process;
  process.key = key;
  process.number = ++numbers_;
  process.looked = std::chrono::steady_clock::now();
  process.settled = search.settled;
  process.candidates = std::move(candidates);
  // The reason of a process that has waited for long goes out at once; runtimes keep their numbers.
  Attachments before;
  if (known != processes_.end()) {
    process.tries = known->second.tries;
    process.delay = kFirstDelay;
    before = std::move(known->second.attached);
    process.user = known->second.user;
    process.installed = known->second.installed;
  }
  std::ranges::stable_sort(process.candidates, {}, [&](const Candidate& one) {
    return std::ranges::find(before, one.mapping.begin,
                             [](const auto& runtime) { return runtime->module.begin; }) -
           before.begin();
  });
  process.outdated = !before.empty();
  process.attached = std::move(before);
  TryAttach(processes_[key.pid] = std::move(process));
}

void PythonService::TakeMore(ProcessKey key, std::vector<Candidate> candidates) {
  if (candidates.empty()) return;
  Process& process = processes_[key.pid];
  process.key = key;
  bool more = false;
  for (Candidate& candidate : candidates) {
    const auto begin_of = [](const Candidate& one) { return one.mapping.begin; };
    const bool known = std::ranges::find(process.candidates, candidate.mapping.begin, begin_of) !=
                       process.candidates.end();
    if (known || process.candidates.size() >= PythonClient::kMaxCandidates) continue;
    process.candidates.push_back(std::move(candidate));
    more = true;
  }
  if (!more) return;
  process.number = ++numbers_;
  process.tries = 0;  // it is about to start
  process.settled = false;
  TryAttach(process);
}

void PythonService::HandleFork(ProcessKey child, ProcessKey parent) {
  Forget(child.pid);
  seen_.Put(child.pid, child);
  const auto found = processes_.find(parent.pid);
  if (found == processes_.end() || found->second.key != parent) {
    // What its parent is no reader has said yet.
    if (searches_.contains(parent.pid)) HandleProcess(child, false);
    return;
  }
  Process process;
  process.key = child;
  process.number = ++numbers_;
  process.candidates = found->second.candidates;
  process.attached = found->second.attached;
  process.outdated = found->second.outdated;
  process.another = found->second.another;
  const bool waits = found->second.waits;
  Process& made = processes_[child.pid] = std::move(process);
  if (made.attached.empty()) return TryAttach(made);
  // All runtimes at once: until then the BPF side uses those of the parent.
  if (!Install(made)) {
    Uninstall(made);
    made.attached.clear();
    return WaitFor(made);
  }
  counters_.attached.Add();
  Report(made);
  if (waits) WaitFor(made);
}

void PythonService::HandleFault(ProcessKey key) {
  const Time now = std::chrono::steady_clock::now();
  const auto found = processes_.find(key.pid);
  if (found == processes_.end() || found->second.key != key || found->second.attached.empty() ||
      now - found->second.touched < kTouchEvery)
    return;
  found->second.touched = now;
  for (const auto& attachment : found->second.attached)
    readers_.Touch(key, ++numbers_, *attachment, kTouchEvery);
}

void PythonService::Forget(std::uint32_t pid) {
  seen_.Erase(pid);
  searches_.erase(pid);
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  if (!found->second.attached.empty() || found->second.installed) Uninstall(found->second);
  processes_.erase(found);
}

void PythonService::Retry(Time now) {
  std::uint64_t waiting = 0;
  for (auto& [pid, process] : processes_) {
    if (process.waits && process.next <= now) TryAttach(process);
    if (process.waits && process.attached.empty()) ++waiting;
  }
  counters_.waiting.Set(waiting);
  std::vector<std::uint32_t> due;
  for (const auto& [pid, search] : searches_)
    if (search.next <= now) due.push_back(pid);
  for (const std::uint32_t pid : due) {
    const auto search = searches_.find(pid);
    if (search == searches_.end()) continue;
    if (!IsThere(search->second.key))
      searches_.erase(search);
    else
      Find(search->second);
  }
}

void PythonService::Sweep() {
  std::vector<std::uint32_t> ended;
  for (const auto& [pid, process] : processes_)
    if (!IsThere(process.key)) ended.push_back(pid);
  for (const std::uint32_t pid : ended) Forget(pid);
  seen_.EraseIf([this](std::uint32_t /*pid*/, ProcessKey key) { return !IsThere(key); });
}

bool PythonService::IsThere(ProcessKey key) const {
  const auto stat = proc_.Read(std::to_string(key.pid) + "/stat");
  return stat && source::StartTicks(*stat) == key.start_ns / kNsPerTick;
}

void PythonService::TryAttach(Process& process) {
  const std::uint32_t user = UserIn(process);
  if (!shares_.Admit(user)) return WaitFor(process);
  process.waits = false;
  const Candidate* refused = nullptr;
  std::string reason;
  std::string waits_for;
  std::vector<Attachment> found;
  for (const Candidate& candidate : process.candidates) {
    auto attachment = readers_.Attach(process.key, process.number, candidate, kPatience);
    const bool late = !attachment && attachment.error().message == kNoAnswer;
    shares_.Charge(user, late ? kLateCost : 1);
    if (attachment) {
      found.push_back(*std::move(attachment));
      continue;
    }
    if (attachment.error().code == ErrorCode::kUnavailable) {
      process.waits = true;
      // An interpreter that is not used is no reason for the others.
      if (waits_for.empty() || waits_for == kNotInitialised) waits_for = attachment.error().message;
      // Another request for the same memory would hold one more reader.
      if (attachment.error().message == kNoAnswer) break;
    }
    if (attachment.error().code != ErrorCode::kUnsupported) continue;
    refused = &candidate;
    reason = attachment.error().message;
  }
  if (!found.empty() || waits_for != kNoAnswer) DropOutdated(process, found.empty());
  if (!found.empty()) {
    // The memory was that of this process if its pid still is.
    const bool more = process.waits;
    process.waits = false;
    if (!IsThere(process.key)) return;
    for (const Attachment& attachment : found) Accept(process, attachment);
    if (more && !process.waits) WaitFor(process);
    if (refused != nullptr) NoteAnother(process, " is not understood: " + reason);
    if (more && process.tries > kQuickTries && waits_for != kNotInitialised)
      NoteAnother(process, " is not understood yet: " + waits_for);
    return;
  }
  process.reason = process.waits ? waits_for : reason;
  if (process.waits) {
    WaitFor(process);
    ReportWhyItWaits(process);
  } else if (refused != nullptr) {
    Refuse(process, *refused);
  }
}

// What was known before a reader has answered again. If there is nothing new, the BPF side must not
// use the old.
void PythonService::DropOutdated(Process& process, bool nothing_new) {
  if (!std::exchange(process.outdated, false)) return;
  process.attached.clear();
  if (nothing_new) Uninstall(process);
}

// The samples of such a process have no Python frames, perhaps for ever.
void PythonService::ReportWhyItWaits(Process& process) {
  if (!process.attached.empty() || process.tries <= kQuickTries ||
      process.reason == kNotInitialised || process.reason == process.reported)
    return;
  const Candidate& candidate = process.candidates.front();
  const ModuleMapping& mapping = candidate.mapping;
  process.reported = process.reason;
  if (!facts_.Push({process.key,
                    {{candidate.file->version,
                      nullptr,
                      "not understood yet: " + process.reason,
                      {mapping.begin, mapping.end}}}}))
    counters_.dropped.Add();
}

void PythonService::WaitFor(Process& process) {
  process.waits = true;
  const bool quick = !process.settled && process.tries < kQuickTries;
  process.delay = quick ? kFirstDelay : std::clamp(process.delay * 2, kFirstDelay, kLastDelay);
  process.tries += process.settled && process.tries < kQuickTries ? kSettledTry : 1;
  process.next = std::chrono::steady_clock::now() + process.delay;
}

void PythonService::NoteAnother(Process& process, const std::string& what) {
  if (!process.another.empty() || process.attached.empty()) return;
  process.another = "another interpreter of the process" + what;
  Report(process);
}

void PythonService::Accept(Process& process, const Attachment& attachment) {
  Attachments& attached = process.attached;
  const auto known =
      std::ranges::find(attached, attachment.runtime, [](const auto& one) { return one->runtime; });
  const bool again = known != attached.end();
  if (!again && attached.size() == PROFD_MAX_PYTHON_RUNTIMES)
    return NoteAnother(process, ", " + VersionText(attachment.layout.version) +
                                    ", is not walked: its threads have no Python frames");
  const bool same = again && (*known)->certain == attachment.certain &&
                    (*known)->layout.process.slot == attachment.layout.process.slot;
  if (!attachment.certain) WaitFor(process);
  if (same) return;
  const Attachments before = attached;
  auto made = std::make_shared<const Attachment>(attachment);
  if (again)
    *known = std::move(made);
  else
    attached.push_back(std::move(made));
  if (!again) process.another.clear();  // which may have been this one
  // A runtime that joins others is in the stream before samples have its frames.
  if (!before.empty()) Report(process);
  if (!Install(process)) {
    attached = before;
    if (!before.empty()) Report(process);
    return WaitFor(process);
  }
  if (!before.empty()) return;
  counters_.attached.Add();
  Report(process);
}

std::uint32_t PythonService::UserIn(Process& process) {
  if (!process.user) process.user = user_of_(process.key.pid);
  return *process.user;
}

bool PythonService::Install(Process& process) {
  const std::uint32_t user = UserIn(process);
  if (!process.installed && user != 0 && installed_[user] >= kMaxOfUser) {
    shares_.Count(user);
    return false;
  }
  std::vector<profd_python_process> runtimes;
  for (const auto& attachment : process.attached) runtimes.push_back(attachment->layout.process);
  if (!known_.Put(process.key.pid, runtimes)) return false;
  if (!std::exchange(process.installed, true)) ++installed_[user];
  return true;
}

void PythonService::Uninstall(Process& process) {
  known_.Remove(process.key.pid);
  if (!std::exchange(process.installed, false)) return;
  const auto of_user = installed_.find(UserIn(process));
  if (--of_user->second == 0) installed_.erase(of_user);
}

void PythonService::Report(const Process& process) {
  PythonFacts facts{.process = process.key, .runtimes = {}};
  for (const auto& one : process.attached)
    facts.runtimes.push_back({one->layout.version, one, "", one->module});
  facts.runtimes.front().reason = process.another;
  if (!facts_.Push(std::move(facts))) counters_.dropped.Add();
}

void PythonService::Refuse(Process& process, const Candidate& candidate) {
  if (process.refused) return;
  process.refused = true;
  counters_.refused.Add();
  const ModuleMapping& mapping = candidate.mapping;
  if (!facts_.Push(
          {process.key,
           {{candidate.file->version, nullptr, process.reason, {mapping.begin, mapping.end}}}}))
    counters_.dropped.Add();
}

}  // namespace profd::python
