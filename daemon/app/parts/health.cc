#include "daemon/app/parts/health.h"

#include <algorithm>
#include <utility>

namespace profd::app {

void Health::Watch(const Heartbeat& thread) {
  const std::scoped_lock lock(mutex_);
  threads_.push_back(&thread);
}

void Health::Watch(const std::vector<const Heartbeat*>& threads) {
  for (const Heartbeat* thread : threads) Watch(*thread);
}

void Health::Watch(Part part) {
  const std::scoped_lock lock(mutex_);
  parts_.push_back(std::move(part));
}

HealthReport Health::Check() const {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now_ns = clock_.MonotonicNs();
  HealthReport report;
  for (const Heartbeat* thread : threads_) {
    auto trouble = thread->Trouble(now_ns);
    if (trouble.empty()) continue;
    const bool fails = thread->needed_for() == Heartbeat::NeededFor::kProfiles;
    (fails ? report.failed : report.degraded).push_back(std::move(trouble));
  }
  for (const Part& part : parts_) part(now_ns, report);
  return report;
}

std::string Health::Failure() const {
  std::string line;
  for (const std::string& one : Check().failed) line += (line.empty() ? "" : "; ") + one;
  return line;
}

std::uint64_t Health::LongestRoundNs() const {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now_ns = clock_.MonotonicNs();
  std::uint64_t longest_ns = 0;
  for (const Heartbeat* thread : threads_)
    longest_ns = std::max(longest_ns, thread->RoundNs(now_ns));
  return longest_ns;
}

}  // namespace profd::app
