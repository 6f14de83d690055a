#include "daemon/source/observe/observers.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "daemon/base/mul_div.h"
#include "daemon/reader/message.h"

namespace profd::source {
namespace {

// After a request that failed.
constexpr std::chrono::milliseconds kPause{1'000};

}  // namespace

Result<ObserverCpus> ChooseObserverCpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return ErrorFromErrno(errno, "cannot find out on which CPUs profd may run");
  // The first CPUs serve most interrupts: the last ones are taken.
  std::vector<std::uint32_t> last;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && last.size() < PROFD_STREAMS; --cpu)
    if (CPU_ISSET(cpu, &allowed)) last.push_back(static_cast<std::uint32_t>(cpu));
  if (last.size() < PROFD_STREAMS)
    return Error{ErrorCode::kUnsupported, "profd may run on one CPU only", ""};
  return ObserverCpus{last.front(), last.back()};
}

Observers::Observers(const Parts& parts) : parts_(parts) {
  const auto cpus = ChooseObserverCpus();
  if (cpus) cpus_ = *cpus;
  if (parts_.fds.empty())
    why_not_ = Error{ErrorCode::kUnsupported, "this kernel cannot run them", ""};
  else if (!cpus)
    why_not_ = cpus.error();
}

void Observers::Run(std::uint32_t level, bool requested) {
  requested_ = requested;
  level_ = std::min<std::uint32_t>(level, PROFD_LONG_LEVEL);
  if (!stopped_) return;
  streams_.clear();  // waits for those that were stopped
  for (std::uint32_t stream = 0; stream < PROFD_STREAMS; ++stream) {
    streams_.emplace_back([this, stream](const std::stop_token& stop) {
      ::pthread_setname_np(::pthread_self(), ("profd-observe" + std::to_string(stream)).c_str());
      Serve(stop, stream);
    });
  }
  stopped_ = false;
}

void Observers::Stop() {
  for (std::jthread& stream : streams_) stream.request_stop();
  stopped_ = true;
}

std::string Observers::Describe() const {
  if (why_not_) return "no observers: " + why_not_->message;
  const std::scoped_lock lock(mutex_);
  std::string text = std::to_string(PROFD_STREAMS) + " observers";
  if (missed_ != 0) text += ", " + std::to_string(missed_) + " points missed";
  return trouble_.empty() ? text : text + "; " + trouble_;
}

std::vector<Observers::Hang> Observers::TakeHangs() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(hangs_, {});
}

void Observers::AddAnswer(std::uint32_t stream, std::uint64_t cpu_ns) {
  const std::scoped_lock lock(mutex_);
  trouble_.clear();
  Cost& cost = (requested_ ? costs_.requested : costs_.background).at(stream);
  cost = {cost.before_ns + cost.last_ns, cpu_ns, parts_.clock.MonotonicNs()};
}

session::PerKind<std::uint64_t> Observers::cpu_ns() const {
  const std::uint64_t now_ns = parts_.clock.MonotonicNs();
  const std::scoped_lock lock(mutex_);
  const auto sum = [now_ns](const auto& costs) {
    std::uint64_t sum_ns = 0;
    for (const Cost& cost : costs)
      sum_ns += cost.before_ns +
                MulDiv(cost.last_ns, std::min(now_ns - cost.answered_ns, kSpanNs), kSpanNs);
    return sum_ns;
  };
  return {.requested = sum(costs_.requested), .background = sum(costs_.background)};
}

void Observers::Serve(const std::stop_token& stop, std::uint32_t stream) {
  std::uint64_t after_ns = parts_.clock.MonotonicNs();
  while (!stop.stop_requested()) {
    const auto answer = Ask(stream, after_ns);
    if (answer) {
      missed_ += answer->missed;
      AddAnswer(stream, answer->cpu_ns);
      after_ns = std::max(after_ns, answer->last_point_ns);
      continue;
    }
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, kPause, [] { return false; });
    after_ns = parts_.clock.MonotonicNs();
  }
}

Result<ObserveAnswer> Observers::Ask(std::uint32_t stream, std::uint64_t after_ns) {
  const ObserveRequest request{.stream = stream,
                               .cpu = cpus_.at(stream),
                               .stream0_cpu = cpus_.front(),
                               .level = level_,
                               .seed = parts_.point_seed,
                               .after_ns = after_ns,
                               .until_ns = parts_.clock.MonotonicNs() + kSpanNs};
  const std::uint64_t target = kTargets + ++requests_;
  const auto bytes = parts_.readers.Ask({.body = reader::Packer().Plain(request).Take(),
                                         .name = "an observer",
                                         .target = target,
                                         .user = 0,
                                         .descriptors = parts_.fds},
                                        kDeadline);
  if (!bytes) {
    const std::uint32_t pid = std::atomic_ref(parts_.control.observes_pid[stream]).exchange(0);
    const std::scoped_lock lock(mutex_);
    hangs_.push_back({target, pid});
    trouble_ = bytes.error().message;
    return bytes.error();
  }
  reader::Unpacker fields(*bytes);
  const auto answer = fields.Plain<ObserveAnswer>();
  if (!fields.done()) return Error{ErrorCode::kInternal, "an observer's answer makes no sense", ""};
  return answer;
}

}  // namespace profd::source
