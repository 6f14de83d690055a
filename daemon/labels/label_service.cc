#include "daemon/labels/label_service.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace profd::labels {
namespace {

constexpr std::size_t kMaxTasks = 65'536;

}  // namespace

LabelService::LabelService(LabelProcesses& processes, reader::Readers& readers, const Clock& clock)
    : known_(processes), readers_(readers), clock_(clock) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void LabelService::Look(ProcessKey process) { Push({Task::kLook, process}); }
void LabelService::LookAgain(ProcessKey process) { Push({Task::kAgain, process}); }
void LabelService::Forget(ProcessKey process) { Push({Task::kForget, process}); }
void LabelService::ForgetAll() { Push({Task::kForgetAll, {}}); }

void LabelService::Push(Task task) {
  const std::scoped_lock lock(mutex_);
  if (task.kind == Task::kForgetAll) tasks_.clear();
  if (tasks_.size() >= kMaxTasks) return counters_.dropped.Add();
  tasks_.push_back(task);
  ready_.notify_all();
}

bool LabelService::Await(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return ready_.wait_for(lock, timeout, [this] { return tasks_.empty() && !busy_; });
}

std::vector<FoundLabels> LabelService::TakeFound() {
  if (!any_found_.load(std::memory_order_acquire)) return {};
  const std::scoped_lock lock(mutex_);
  any_found_.store(false, std::memory_order_relaxed);
  return std::exchange(found_, {});
}

void LabelService::Run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-labels");
  const Heartbeat::Working working(beat_);
  while (!stop.stop_requested()) {
    if (const auto task = NextTask(stop)) Handle(*task);
    LookDue();
    const std::scoped_lock lock(mutex_);
    busy_ = false;
    if (tasks_.empty()) ready_.notify_all();
  }
}

std::optional<LabelService::Task> LabelService::NextTask(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto any = [this] { return !tasks_.empty(); };
  {
    const Heartbeat::Waiting waiting(beat_);
    if (due_.empty())
      (void)ready_.wait(lock, stop, any);
    else
      (void)ready_.wait_until(lock, stop, due_.begin()->first, any);
  }
  if (tasks_.empty()) return std::nullopt;
  const Task task = tasks_.front();
  tasks_.pop_front();
  busy_ = true;
  return task;
}

void LabelService::Handle(const Task& task) {
  const std::uint32_t pid = task.process.pid;
  const auto known = processes_.find(pid);
  switch (task.kind) {
    case Task::kForgetAll:
      for (const auto& [other, process] : processes_)
        if (process.installed) known_.Remove(other);
      processes_.clear();
      due_.clear();
      return Count();
    case Task::kForget:
      return Remove(pid);
    case Task::kAgain:
      if (known == processes_.end()) return;
      if (const Time next = std::max(std::chrono::steady_clock::now() + kFirstDelay,
                                     known->second.looked + kAgainDelay);
          !known->second.next || next < *known->second.next)
        Schedule(known->second, next);
      return;
    case Task::kLook:
      if (known != processes_.end() && known->second.key != task.process) Remove(pid);
      if (processes_.size() >= kMaxProcesses) return counters_.dropped.Add();
      Process& process = processes_[pid];
      process.key = task.process;
      process.delay = kFirstDelay;
      return Look(process);
  }
}

void LabelService::LookDue() {
  const Time now = std::chrono::steady_clock::now();
  while (!due_.empty() && due_.begin()->first <= now) {
    Look(processes_.at(due_.begin()->second));
    beat_.Beat();
  }
}

void LabelService::Schedule(Process& process, std::optional<Time> next) {
  if (process.next) due_.erase({*process.next, process.key.pid});
  process.next = next;
  if (next) due_.emplace(*next, process.key.pid);
}

void LabelService::ScheduleLater(Process& process) {
  Schedule(process, process.looked + process.delay);
  process.delay = std::min(2 * process.delay, kLastDelay);
}

void LabelService::Look(Process& process) {
  auto found = readers_.Find(process.key, kPatience);
  process.looked = std::chrono::steady_clock::now();
  if (!found && found.error().code == ErrorCode::kNotFound) return Remove(process.key.pid);
  if (found && *found) return Take(process, **std::move(found));
  // One that is being written keeps what is known of it.
  if (found && process.facts) {
    if (process.installed) known_.Remove(process.key.pid);
    process.installed = false;
    process.facts.reset();
    Count();
  }
  ScheduleLater(process);
}

void LabelService::Take(Process& process, LabelFacts facts) {
  const bool is_new = process.facts != facts;
  if (facts.refused.empty())
    Schedule(process, std::nullopt);
  else
    ScheduleLater(process);
  if (!is_new) return;
  // Into the stream before the BPF side knows: then it comes before the first sample with labels.
  {
    const std::scoped_lock lock(mutex_);
    found_.push_back({process.key, clock_.MonotonicNs(), facts});
    any_found_.store(true, std::memory_order_release);
  }
  profd_label_process variable = facts.variable;
  variable.process_start_ns = process.key.start_ns;
  if (facts.refused.empty()) {
    process.installed = known_.Put(process.key.pid, variable);
    if (!process.installed) counters_.dropped.Add();
  } else if (process.installed) {
    known_.Remove(process.key.pid);
    process.installed = false;
  }
  process.facts = std::move(facts);
  Count();
}

void LabelService::Remove(std::uint32_t pid) {
  const auto known = processes_.find(pid);
  if (known == processes_.end()) return;
  if (known->second.installed) known_.Remove(pid);
  const bool counted = known->second.facts.has_value();
  Schedule(known->second, std::nullopt);
  processes_.erase(known);
  if (counted) Count();
}

void LabelService::Count() {
  std::uint64_t known = 0;
  std::uint64_t refused = 0;
  for (const auto& [pid, process] : processes_) {
    if (!process.facts) continue;
    ++(process.facts->refused.empty() ? known : refused);
  }
  counters_.known.Set(known);
  counters_.refused.Set(refused);
}

}  // namespace profd::labels
