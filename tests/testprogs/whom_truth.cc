#include "tests/testprogs/whom_truth.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace profd::testprog {

RunDelay::RunDelay() : fd_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) std::abort();
}

RunDelay::~RunDelay() { close(fd_); }

std::int64_t RunDelay::Ns() const {
  std::array<char, 96> text{};
  if (pread(fd_, text.data(), text.size() - 1, 0) <= 0) std::abort();
  char* after_run_time = nullptr;
  std::strtoll(text.data(), &after_run_time, 10);
  return std::strtoll(after_run_time, nullptr, 10);
}

void SleepExactly() { ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

void WhomTruth::Length::Add(Instant from, Instant until, std::int64_t awake_ns) {
  least_ns += std::max<std::int64_t>(0, until.early_ns - from.late_ns - awake_ns);
  most_ns += std::max<std::int64_t>(0, until.late_ns - from.early_ns);
}

void WhomTruth::Wait(Instant from, Instant until, std::int64_t awake_ns) {
  from_ = from;
  until_ = until;
  blocked_.Add(from, until, awake_ns);
  ++waits_;
  longest_ns_ = std::max(longest_ns_, until.late_ns - from.early_ns);
  hand_over_ns_ += until.late_ns - until.early_ns;
}

void WhomTruth::Part(const std::string& path, Instant from, Instant until, std::int64_t awake_ns) {
  const auto inside = [this](Instant at) {
    return Instant{std::clamp(at.early_ns, from_.early_ns, until_.late_ns),
                   std::clamp(at.late_ns, from_.early_ns, until_.late_ns)};
  };
  const auto later = [](Instant a, Instant b) {
    return Instant{std::max(a.early_ns, b.early_ns), std::max(a.late_ns, b.late_ns)};
  };
  const auto earlier = [](Instant a, Instant b) {
    return Instant{std::min(a.early_ns, b.early_ns), std::min(a.late_ns, b.late_ns)};
  };
  paths_[path].Add(later(inside(from), from_), earlier(inside(until), until_), awake_ns);
}

nlohmann::json WhomTruth::JsonOf(const Length& length) {
  return {{"least_ns", length.least_ns}, {"most_ns", length.most_ns}};
}

nlohmann::json WhomTruth::Json() const {
  nlohmann::json paths = nlohmann::json::object();
  for (const auto& [path, length] : paths_) paths[path] = JsonOf(length);
  return {
      {"waiter", waiter_},        {"function", function_},         {"blocked", JsonOf(blocked_)},
      {"waits", waits_},          {"hand_over_ns", hand_over_ns_}, {"paths", std::move(paths)},
      {"longest_ns", longest_ns_}};
}

}  // namespace profd::testprog
