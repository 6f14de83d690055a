#include "daemon/reader/reader_pool.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "daemon/base/keys.h"
#include "daemon/base/proc/proc_stat.h"

namespace profd::reader {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kStuckAfter{1'000};
constexpr milliseconds kAnswerKept{10'000};  // for a caller that may come again
constexpr milliseconds kEndingTakes{
    200};  // until a process that has closed its channel says how it ended
constexpr std::uint64_t kMeasureEvery = 16;  // answers
// Between two times: all processes of a pool take a millisecond or two.
constexpr milliseconds kMeasureAfter{250};
// A pool that holds so much looks so often whether the memory budget wants it back.
constexpr std::uint64_t kLargeBytes = 16u << 20;
constexpr milliseconds kReclaimEvery{250};

std::uint64_t KeyOf(const ReaderRequest& request) {
  return MixBits(request.target ^ MixBits(std::hash<std::string>()(request.body)));
}

Error NotYet(const ReaderRequest& request) {
  return Error{ErrorCode::kUnavailable, request.name + ": is being read", ""};
}

std::string Times(std::uint32_t tries) {
  return tries == 1 ? "once" : std::to_string(tries) + " times";
}

// Who has made the outermost user namespace of a process within profd's own; nothing: it is in
// profd's own, or that is not known.
std::optional<std::uint32_t> OwnerOfNamespace(const std::string& process) {
  struct stat own {};
  struct stat its {};
  const std::string name = process + "/ns/user";
  if (::stat("/proc/self/ns/user", &own) != 0 || ::stat(name.c_str(), &its) != 0 ||
      own.st_ino == its.st_ino)
    return std::nullopt;
  UniqueFd outermost(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  while (outermost.valid()) {
    UniqueFd parent(::ioctl(outermost.get(), NS_GET_PARENT));
    if (!parent.valid() || ::fstat(parent.get(), &its) != 0 || its.st_ino == own.st_ino) break;
    outermost = std::move(parent);
  }
  uid_t owner = 0;
  if (!outermost.valid() || ::ioctl(outermost.get(), NS_GET_OWNER_UID, &owner) != 0)
    return std::nullopt;
  return owner;
}

std::uint32_t RealUser(const std::string& process) {
  std::array<char, 1'024> status{};  // the name before it is short
  const UniqueFd fd(::open((process + "/status").c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = fd.valid() ? ::read(fd.get(), status.data(), status.size()) : -1;
  const std::string_view text(status.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::string_view uids = StatusLine(text, "Uid:\t");
  std::uint32_t uid = 0;
  (void)std::from_chars(uids.data(), uids.data() + uids.size(), uid);
  return uid;
}

}  // namespace

std::uint32_t UserOf(std::uint32_t pid) {
  struct stat directory {};
  const std::string process = "/proc/" + std::to_string(pid);
  if (pid == 0 || ::stat(process.c_str(), &directory) != 0) return 0;
  // A user may have many ids in namespaces of their own. Containers of root have each their own.
  if (const auto owner = OwnerOfNamespace(process); owner && *owner != 0) return *owner;
  // /proc shows a process that is not dumpable, which any process may choose to be, as root's.
  return directory.st_uid != 0 ? directory.st_uid : RealUser(process);
}

ReaderPool::ReaderPool(Zygote& zygote, std::uint32_t role, const Options& options)
    : zygote_(zygote),
      role_(role),
      options_(options),
      memory_(options.holds),
      beat_("watch of " + std::string(options.holds), Heartbeat::NeededFor::kProfiles,
            Heartbeat::kBound + std::chrono::ceil<std::chrono::seconds>(options.deadline)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ReaderPool::~ReaderPool() {
  if (!watcher_.joinable()) return;
  watcher_.request_stop();
  Wake();
}

Result<std::string> ReaderPool::Ask(const ReaderRequest& request, Milliseconds patience) {
  const Time begin = Clock::now();
  const Time until = std::min(begin + patience, end_.load());
  if (begin >= end_.load())
    return Error{ErrorCode::kUnavailable, request.name + ": profd is ending", ""};
  const std::uint64_t key = KeyOf(request);
  Lock lock(mutex_);
  if (left_.contains(key)) {
    auto answer = TakeLeft(key);
    return answer ? *std::move(answer) : NotYet(request);
  }
  // Of one target one request at a time: it must not hold several readers.
  if (IsBeingRead(request.target)) return NotYet(request);
  if (auto refusal = Refusal(request)) return counters_.refused.Add(), *std::move(refusal);
  auto process = Acquire(lock, request, until);
  if (!process) return process.error();

  ++busy_;
  counters_.requests.Add();
  const Time deadline =
      begin + (request.deadline == milliseconds{} ? options_.deadline : request.deadline);
  lock.unlock();
  // A request is small: the socket of an idle reader has room for it.
  const auto sent =
      process->channel().Send(0, request.body, std::min(until, deadline), request.descriptors);
  auto message = sent ? process->channel().Receive(options_.answer_bytes, std::min(until, deadline))
                      : Result<std::optional<Message>>(sent.error());
  lock.lock();
  --busy_;
  if (message && !*message) {
    Leave(key, Job{*std::move(process), request, deadline, {}, {}});
    return NotYet(request);
  }
  return Finish(lock, *std::move(process), request,
                message ? Result<Message>(**std::move(message)) : Result<Message>(message.error()));
}

// Does not wait: a slow request holds up its caller once.
std::optional<Result<std::string>> ReaderPool::TakeLeft(std::uint64_t key) {
  const auto job = left_.find(key);
  if (!job->second.answer) return std::nullopt;
  auto answer = *std::move(job->second.answer);
  left_.erase(job);
  return answer;
}

std::optional<Error> ReaderPool::Refusal(const ReaderRequest& request) {
  const Time now = Clock::now();
  ForgetEnded();
  const auto failure = failures_.find(request.target);
  const bool has_stuck = std::ranges::any_of(
      killed_, [&](const KilledReader& one) { return one.target == request.target; });
  if (failure != failures_.end() && (now < failure->second.next || has_stuck))
    return Error{
        ErrorCode::kUnavailable,
        request.name + ": " + failure->second.why + ", tried " + Times(failure->second.tries), ""};
  if (request.user == 0) return std::nullopt;
  if (const auto why = WhyNoShareIsLeft(request.user); !why.empty())
    return Error{ErrorCode::kUnavailable, request.name + ": " + why, ""};
  return std::nullopt;
}

bool ReaderPool::IsBeingRead(std::uint64_t target) const {
  return std::ranges::any_of(left_, [&](const auto& entry) {
    return !entry.second.answer && entry.second.request.target == target;
  });
}

// A killed reader that has not ended takes no place among those that work, but what it waits for
// may hold the next one, too.
std::string ReaderPool::WhyNoShareIsLeft(std::uint32_t user) const {
  std::size_t slow = 0;
  std::size_t slow_of_user = 0;
  for (const auto& [key, job] : left_) {
    if (job.answer || job.request.user == 0) continue;
    ++slow;
    if (job.request.user == user) ++slow_of_user;
  }
  const Held held = HeldAt(Clock::now(), user);
  const std::size_t share = (options_.processes + 1) / 2;
  // With half of the limit used up, the other half is for users who have none of it.
  const bool many = held.of_user > 0 && held.of_users >= options_.stuck_of_users / 2;
  if (slow_of_user + held.of_user >= share || many) return "other files of its user do not answer";
  if (slow >= std::max<std::size_t>(options_.processes - 1, 1))
    return "too many files of users do not answer";
  return {};
}

Result<ReaderProcess> ReaderPool::Acquire(Lock& lock, const ReaderRequest& request, Time until) {
  const auto running = [this] {
    return busy_ + static_cast<std::size_t>(std::ranges::count_if(
                       left_, [](const auto& entry) { return !entry.second.answer; }));
  };
  const auto may_go = [&] { return !idle_.empty() || running() < options_.processes; };
  if (!changed_.wait_until(lock, until, may_go)) return NotYet(request);
  // One that ended between two requests, such as at its bound of CPU time, is no failure of the
  // next target.
  std::erase_if(idle_, [](const IdleReader& one) { return !one.process.IsWhole(); });
  if (!idle_.empty()) {
    auto best = std::ranges::find(idle_, request.target, &IdleReader::target);
    if (best == idle_.end()) best = std::prev(idle_.end());
    ReaderProcess process = std::move(best->process);
    idle_.erase(best);
    return process;
  }
  if (auto why = WhyNoneStartsFor(request.user == 0); !why.empty())
    return Error{ErrorCode::kExhausted, std::move(why), ""};
  auto process = zygote_.Make(role_);
  if (!process) return process;
  counters_.started.Add();
  if (!watcher_.joinable())
    watcher_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
  return process;
}

Result<std::string> ReaderPool::Finish(Lock& lock, ReaderProcess process,
                                       const ReaderRequest& request, Result<Message> message) {
  if (!message) {
    const bool by_itself = message.error().code == ErrorCode::kUnavailable;
    counters_.ended.Add();
    if (!by_itself) return Fail(lock, std::move(process), request, message.error().message);
    // The zygote knows how, but the kernel closes the channel a little earlier.
    lock.unlock();
    const Time until = Clock::now() + kEndingTakes;
    process.Kill();
    while (!process.HasEnded() && Clock::now() < until) std::this_thread::yield();
    const std::string how = zygote_.HowItEnded(process);
    lock.lock();
    return Fail(lock, std::move(process), request,
                "the process that reads it ended" + (how.empty() ? "" : ": " + how));
  }
  failures_.erase(request.target);
  if (counters_.requests.value() % kMeasureEvery == 0 &&
      process.PrivateBytesAtMost() > options_.process_bytes) {
    counters_.oversize.Add();
    Kill(std::move(process), 0, 0);
  } else {
    idle_.push_back({std::move(process), Clock::now(), request.target});
  }
  MeasureMemory();
  changed_.notify_all();
  if (message->kind == kAnswer) return std::move(message->body);
  Unpacker fields(message->body);
  const auto code = fields.Number<ErrorCode>();
  std::string text(fields.Text());
  if (!fields.done())
    return Error{ErrorCode::kCorrupt, request.name + ": the reader's answer makes no sense", ""};
  return Error{code, std::move(text), ""};
}

Error ReaderPool::Fail(Lock& /*held*/, ReaderProcess process, const ReaderRequest& request,
                       std::string why) {
  Kill(std::move(process), request.target, request.user);
  if (!options_.pauses) {
    changed_.notify_all();
    return Error{ErrorCode::kUnavailable, request.name + ": " + why, ""};
  }
  if (failures_.size() >= kMaxTroubles) {
    failures_.erase(std::ranges::min_element(failures_, {},
                                             [](const auto& entry) { return entry.second.next; }));
  }
  Failure& failure = failures_[request.target];
  failure.name = request.name;
  failure.why = std::move(why);
  const auto delay =
      std::min<milliseconds>(kLastDelay, kFirstDelay * (1ll << std::min(2 * failure.tries, 20u)));
  ++failure.tries;
  failure.next = Clock::now() + delay;
  changed_.notify_all();
  return Error{ErrorCode::kUnavailable,
               request.name + ": " + failure.why + ", tried " + Times(failure.tries), ""};
}

void ReaderPool::Leave(std::uint64_t key, Job job) {
  left_.insert_or_assign(key, std::move(job));
  Wake();
}

void ReaderPool::Wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void ReaderPool::Kill(ReaderProcess process, std::uint64_t target, std::uint32_t user) {
  process.Kill();
  killed_.push_back({std::move(process), Clock::now(), target, user});
}

void ReaderPool::ForgetEnded() {
  std::erase_if(killed_, [](const KilledReader& one) { return one.process.HasEnded(); });
}

std::size_t ReaderPool::StuckAt(Time now) const {
  const Held held = HeldAt(now - kStuckAfter, 0);
  return held.of_users + held.of_root;
}

ReaderPool::Held ReaderPool::HeldAt(Time since, std::uint32_t user) const {
  Held held;
  std::set<std::uint32_t> users;
  for (const KilledReader& one : killed_) {
    if (one.since > since || one.process.HasEnded()) continue;
    if (one.user == 0) {
      ++held.of_root;
      continue;
    }
    ++held.of_users;
    users.insert(one.user);
    if (one.user == user) ++held.of_user;
  }
  held.users = users.size();
  return held;
}

bool ReaderPool::IsHeldBy(std::uint64_t target) const {
  const Lock lock(mutex_);
  return std::ranges::any_of(killed_, [&](const KilledReader& one) {
    return one.target == target && !one.process.HasEnded();
  });
}

void ReaderPool::Blame(std::uint64_t target, std::uint32_t user) {
  const Lock lock(mutex_);
  for (auto& [key, job] : left_)
    if (job.request.target == target) job.request.user = user;
  for (KilledReader& one : killed_)
    if (one.target == target) one.user = user;
}

std::size_t ReaderPool::stuck() const {
  const Lock lock(mutex_);
  return StuckAt(Clock::now());
}

std::string ReaderPool::WhyNoneStarts() const {
  const Lock lock(mutex_);
  const std::string users = WhyNoneStartsFor(false);
  const std::string root = WhyNoneStartsFor(true);
  return users + (users.empty() || root.empty() ? "" : "; ") + root;
}

std::string ReaderPool::WhyNoneStartsFor(bool root) const {
  const Held held = HeldAt(Clock::now() - kStuckAfter, 0);
  const std::size_t stuck = root ? held.of_root : held.of_users;
  if (stuck < (root ? options_.stuck_of_root : options_.stuck_of_users)) return {};
  const std::string whose = root              ? "root"
                            : held.users == 1 ? "1 user"
                                              : std::to_string(held.users) + " users";
  return std::to_string(stuck) + " processes wait for files of " + whose +
         " and cannot be ended: none is started for " + (root ? "root" : "users");
}

std::vector<Trouble> ReaderPool::troubles() const {
  const Lock lock(mutex_);
  std::vector<Trouble> troubles;
  troubles.reserve(failures_.size());
  for (const auto& [target, failure] : failures_)
    troubles.push_back({failure.name, failure.why, failure.tries});
  return troubles;
}

bool ReaderPool::GiveUp() {
  if (memory_.TakeReclaimRequest() == 0) return false;
  idle_.clear();
  memory_.Set(0);
  return true;
}

// Those that are busy are measured when they have answered.
void ReaderPool::MeasureMemory() {
  if (GiveUp()) return;
  const Time now = Clock::now();
  if (counters_.requests.value() % kMeasureEvery != 0 || now - measured_ < kMeasureAfter) return;
  measured_ = now;
  std::uint64_t bytes = 0;
  for (const IdleReader& one : idle_) bytes += one.process.PrivateBytes();
  const bool were_small = memory_.bytes() < kLargeBytes;
  memory_.Set(bytes);
  if (were_small && bytes >= kLargeBytes) Wake();
}

void ReaderPool::Watch(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-readers");
  const Heartbeat::Working working(beat_);
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
    for (auto& [key, job] : left_)
      if (!job.answer) polled.push_back({job.process.channel().fd(), POLLIN, 0});
    const auto wait = std::chrono::ceil<milliseconds>(NextDeadline() - Clock::now());
    lock.unlock();
    {
      // With a request that has a deadline it comes back in time.
      std::optional<Heartbeat::Waiting> waiting;
      if (polled.size() == 1)
        waiting.emplace(beat_);
      else
        beat_.Beat();
      (void)::poll(polled.data(), polled.size(),
                   static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 1 << 30)));
    }
    std::uint64_t ignored = 0;
    (void)!::read(wake_.get(), &ignored, sizeof ignored);
    lock.lock();
    ServeLeft(lock, Clock::now());
  }
}

ReaderPool::Time ReaderPool::NextDeadline() const {
  Time next = Time::max();
  for (const auto& [key, job] : left_)
    next = std::min(next, job.answer ? job.answered + kAnswerKept : job.deadline);
  for (const IdleReader& one : idle_) next = std::min(next, one.since + options_.idle);
  // When no more requests come, the memory budget is answered here.
  if (memory_.bytes() >= kLargeBytes) next = std::min(next, Clock::now() + kReclaimEvery);
  return next;
}

void ReaderPool::ServeLeft(Lock& lock, Time now) {
  std::erase_if(idle_, [&](const IdleReader& one) { return now - one.since >= options_.idle; });
  (void)GiveUp();
  if (idle_.empty() && left_.empty()) memory_.Set(0);
  std::erase_if(left_, [&](const auto& entry) {
    return entry.second.answer && now - entry.second.answered >= kAnswerKept;
  });
  std::vector<std::uint64_t> keys;
  for (const auto& [key, job] : left_)
    if (!job.answer) keys.push_back(key);
  for (const std::uint64_t key : keys) {
    Job& job = left_.at(key);
    auto message = job.process.channel().TryReceive(options_.answer_bytes);
    if (message && !*message && now < job.deadline) continue;
    // Its place in `left_` stays while the lock is free: only this thread answers or removes
    // it.
    ReaderProcess process = std::move(job.process);
    const ReaderRequest request = job.request;
    Result<std::string> answer = Error{};
    if (message && !*message) {
      counters_.late.Add();
      answer = Fail(lock, std::move(process), request, "does not answer");
    } else {
      answer = Finish(
          lock, std::move(process), request,
          message ? Result<Message>(**std::move(message)) : Result<Message>(message.error()));
    }
    Job& same = left_.at(key);
    same.answered = now;
    same.answer = std::move(answer);
    changed_.notify_all();
  }
}

}  // namespace profd::reader
