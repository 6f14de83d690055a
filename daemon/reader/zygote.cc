#include "daemon/reader/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "daemon/base/heartbeat.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/proc/proc_stat.h"

namespace profd::reader {
namespace {

enum Kind : std::uint32_t { kMake, kHowItEnded, kMade, kFailed };

constexpr std::chrono::seconds kZygotePatience{2};
constexpr std::size_t kMaxZygoteBytes = 4'096;
constexpr std::size_t kMaxRequestBytes = 1u << 20;
constexpr std::size_t kRemembered = 64;  // processes that have ended
// An opener needs little: a process's maps are the largest thing that it reads.
constexpr Limits kOpenerLimits{.address_space_bytes = 1u << 30, .cpu_seconds = 600};

// Ctrl-C and the signals of a service manager are for the daemon; it closes the channels when it
// ends.
void LeaveSignalsToDaemon() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Ends this process when its parent does, also if that was a moment ago.
void EndWith(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

// Standard error stays: what a library says when it aborts should be seen.
void CloseAllBut(std::vector<int> kept) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.valid()) {
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(null.get(), STDOUT_FILENO);
  }
  kept.insert(kept.end(), {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  std::ranges::sort(kept);
  unsigned next = 0;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) ::syscall(SYS_close_range, next, number - 1, 0);
    next = number + 1;
  }
  ::syscall(SYS_close_range, next, ~0u, 0);
}

[[noreturn]] void Die(const Error& error) {
  std::fprintf(stderr, "profd: a reader process cannot start: %s\n", error.message.c_str());
  ::_exit(1);
}

// `is_of_use`: whether the answer that was just made is right. If not, all others would be wrong,
// too.
template <typename IsOfUse>
[[noreturn]] void Serve(Parser& parser, Channel daemon, FileOpener& opener,
                        const IsOfUse& is_of_use) {
  for (;;) {
    auto request = daemon.Receive(kMaxRequestBytes, Channel::Time::max());
    if (!request || !*request) ::_exit(0);
    const auto answer = parser.Answer((*request)->body, {opener, (*request)->descriptors});
    if (!is_of_use()) ::_exit(0);
    const auto sent =
        answer
            ? daemon.Send(kAnswer, *answer, Channel::Time::max())
            : daemon.Send(kErrorAnswer,
                          Packer().Number(answer.error().code).Text(answer.error().message).Take(),
                          Channel::Time::max());
    if (!sent) ::_exit(0);
  }
}

[[noreturn]] void RunParser(const Role& role, Channel daemon, Channel opener) {
  ::prctl(PR_SET_NAME, role.name.c_str());
  const std::unique_ptr<Parser> parser = role.make();
  if (const auto entered = EnterParserSandbox(role.limits); !entered) Die(entered.error());
  OpenerClient client(std::move(opener));
  Serve(*parser, std::move(daemon), client, [&client] { return !client.has_ended(); });
}

[[noreturn]] void RunOpeningParser(const Role& role, Channel daemon) {
  ::prctl(PR_SET_NAME, role.name.c_str());
  const std::unique_ptr<Parser> parser = role.make();
  if (const auto entered = EnterOpenerSandbox(role.limits); !entered) Die(entered.error());
  Opener opener;
  Serve(*parser, std::move(daemon), opener, [] { return true; });
}

[[noreturn]] void RunOpener(Channel parser) {
  ::prctl(PR_SET_NAME, "profd-opener");
  if (const auto entered = EnterOpenerSandbox(kOpenerLimits); !entered) Die(entered.error());
  ServeOpenRequests(std::move(parser));
  ::_exit(0);
}

struct Made {
  Channel channel;  // the daemon's end
  std::vector<pid_t> pids;
  std::vector<UniqueFd> handles;
};

template <typename Body>
Result<pid_t> Fork(const Body& body) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return ErrorFromErrno(errno, "cannot start a reader process");
  if (child > 0) return child;
  EndWith(parent);
  body();
  ::_exit(1);
}

Result<Made> MakeReader(const Role& role) {
  auto to_daemon = Channel::MakePair();
  if (!to_daemon) return to_daemon.error();
  auto to_opener = Channel::MakePair();
  if (!to_opener) return to_opener.error();
  Made made;
  const auto parser = Fork([&] {
    CloseAllBut({to_daemon->second.fd(), to_opener->first.fd()});
    if (role.opens) RunOpeningParser(role, std::move(to_daemon->second));
    RunParser(role, std::move(to_daemon->second), std::move(to_opener->first));
  });
  if (!parser) return parser.error();
  made.pids.push_back(*parser);
  if (!role.opens) {
    const auto opener = Fork([&] {
      CloseAllBut({to_opener->second.fd()});
      RunOpener(std::move(to_opener->second));
    });
    if (!opener) return ::kill(*parser, SIGKILL), opener.error();
    made.pids.push_back(*opener);
  }
  for (const pid_t made_pid : made.pids) {
    made.handles.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, made_pid, 0)));
    if (made.handles.back().valid()) continue;
    for (const pid_t pid : made.pids) ::kill(pid, SIGKILL);
    return ErrorFromErrno(errno, "cannot watch a reader process");
  }
  made.channel = std::move(to_daemon->first);
  return made;
}

// Empty for an end that was requested.
std::string Describe(int status) {
  if (status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) return {};
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) +
           ")";
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

// The zygote's process.
class ZygoteLoop {
 public:
  ZygoteLoop(std::vector<Role> roles, Channel daemon)
      : roles_(std::move(roles)), daemon_(std::move(daemon)) {}

  [[noreturn]] void Run() {
    for (;;) {
      auto request = daemon_.Receive(kMaxZygoteBytes, Channel::Time::max());
      if (!request || !*request) ::_exit(0);
      Reap();
      Unpacker fields((*request)->body);
      request_ = fields.Number<std::uint64_t>();
      const auto number = fields.Number<std::uint32_t>();
      if ((*request)->kind == kHowItEnded)
        ReportHowItEnded(static_cast<pid_t>(number));
      else
        MakeOne(number);
    }
  }

 private:
  void Reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      ended_.emplace_back(pid, status);
      if (ended_.size() > kRemembered) ended_.pop_front();
    }
  }

  void ReportHowItEnded(pid_t pid) {
    const auto known = std::ranges::find(ended_, pid, &std::pair<pid_t, int>::first);
    Answer(kMade, known == ended_.end() ? std::string() : Describe(known->second));
  }

  void MakeOne(std::uint32_t role) {
    auto made = role < roles_.size()
                    ? MakeReader(roles_[role])
                    : Result<Made>(Error{ErrorCode::kInternal, "no such kind of reader", ""});
    if (!made) {
      return Answer(kFailed, Packer().Number(made.error().code).Text(made.error().message).Take());
    }
    std::vector<int> descriptors{made->channel.fd()};
    Packer pids;
    for (std::size_t i = 0; i < made->pids.size(); ++i) {
      descriptors.push_back(made->handles[i].get());
      pids.Number(made->pids[i]);
    }
    Answer(kMade, pids.Take(), descriptors);
  }

  // With the number of the request first: the daemon may have given it up.
  void Answer(std::uint32_t kind, const std::string& body, std::span<const int> descriptors = {}) {
    (void)daemon_.Send(kind, Packer().Number(request_).Take() + body, Channel::Time::max(),
                       descriptors);
  }

  const std::vector<Role> roles_;
  Channel daemon_;
  std::uint64_t request_ = 0;  // its number
  std::deque<std::pair<pid_t, int>> ended_;
};

// Nothing: profd may not look, or the kernel does not say it.
std::optional<std::uint64_t> ProportionalBytes(pid_t pid) {
  const auto text = ProcFs().Read(std::to_string(pid) + "/smaps_rollup", 4'096);
  if (!text) return std::nullopt;
  std::uint64_t kilobytes = 0;
  for (const std::string_view key : {"Pss_Anon:", "Pss_Shmem:"}) {
    const std::string line(StatusLine(*text, key));
    std::uint64_t value = 0;
    if (std::sscanf(line.c_str(), "%lu", &value) != 1) return std::nullopt;
    kilobytes += value;
  }
  return kilobytes << 10;
}

std::uint64_t AnonymousBytes(pid_t pid) {
  constexpr std::uint64_t kPage = 4'096;
  const auto statm = ProcFs().Read(std::to_string(pid) + "/statm", 256);
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  if (!statm || std::sscanf(statm->c_str(), "%lu %lu %lu", &size, &resident, &shared) != 3)
    return 0;
  return (resident - std::min(resident, shared)) * kPage;
}

bool HasProcessEnded(const UniqueFd& handle) {
  pollfd ended{handle.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 1;
}

}  // namespace

void ReaderProcess::Kill() {
  channel_.Close();
  for (const UniqueFd& handle : handles_)
    ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
}

bool ReaderProcess::HasEnded() const { return std::ranges::all_of(handles_, &HasProcessEnded); }

bool ReaderProcess::IsWhole() const { return std::ranges::none_of(handles_, &HasProcessEnded); }

std::uint64_t ReaderProcess::PrivateBytes() const {
  std::uint64_t bytes = 0;
  for (const pid_t pid : pids_) bytes += ProportionalBytes(pid).value_or(AnonymousBytes(pid));
  return bytes;
}

std::uint64_t ReaderProcess::PrivateBytesAtMost() const {
  std::uint64_t bytes = 0;
  for (const pid_t pid : pids_) bytes += AnonymousBytes(pid);
  return bytes;
}

Result<std::unique_ptr<Zygote>> Zygote::Start(std::vector<Role> roles) {
  auto pair = Channel::MakePair();
  if (!pair) return pair.error();
  const auto child = Fork([&] {
    ::prctl(PR_SET_NAME, "profd-zygote");
    LeaveSignalsToDaemon();
    CloseAllBut({pair->second.fd()});
    ZygoteLoop(std::move(roles), std::move(pair->second)).Run();
  });
  if (!child) return child.error();
  UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, *child, 0)));
  if (!handle.valid()) return ErrorFromErrno(errno, "cannot watch the zygote");
  return std::unique_ptr<Zygote>(new Zygote(*child, std::move(handle), std::move(pair->first)));
}

std::string Zygote::Trouble() const {
  if (HasProcessEnded(handle_)) return "has ended";
  const std::scoped_lock lock(mutex_);
  if (!late_since_) return {};
  const auto late = std::chrono::steady_clock::now() - *late_since_;
  if (late < Heartbeat::kBound) return {};
  return "has not answered for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(late).count()) + " s";
}

Result<Message> Zygote::Ask(std::uint32_t kind, std::uint32_t number, Time deadline) {
  const std::uint64_t request = ++asked_;
  if (auto sent = channel_.Send(kind, Packer().Number(request).Number(number).Take(), deadline);
      !sent)
    return sent.error();
  for (;;) {
    auto answer = channel_.Receive(kMaxZygoteBytes, deadline);
    if (!answer) return answer.error();
    if (!*answer) {
      if (!late_since_) late_since_ = deadline;
      return Error{ErrorCode::kUnavailable,
                   "the process that makes readers does not answer in time", ""};
    }
    late_since_.reset();
    // The answer to a request that was given up, with a reader that ends when this is dropped.
    if (Unpacker((*answer)->body).Number<std::uint64_t>() != request) continue;
    (*answer)->body.erase(0, sizeof request);
    return **std::move(answer);
  }
}

Result<ReaderProcess> Zygote::Make(std::uint32_t role) {
  const std::scoped_lock lock(mutex_);
  auto answer = Ask(kMake, role, std::chrono::steady_clock::now() + kZygotePatience);
  if (!answer) return answer.error().Wrap("cannot start a reader process");
  Unpacker fields(answer->body);
  if (answer->kind != kMade) {
    const auto code = fields.Number<ErrorCode>();
    return Error{code, std::string(fields.Text()), ""};
  }
  ReaderProcess reader;
  auto& descriptors = answer->descriptors;
  while (!fields.done() && fields.ok()) reader.pids_.push_back(fields.Number<pid_t>());
  if (!fields.ok() || reader.pids_.empty() || descriptors.size() != reader.pids_.size() + 1)
    return Error{ErrorCode::kInternal, "the zygote's answer makes no sense", ""};
  reader.channel_ = Channel(std::move(descriptors.front()));
  std::move(descriptors.begin() + 1, descriptors.end(), std::back_inserter(reader.handles_));
  return reader;
}

std::string Zygote::HowItEnded(const ReaderProcess& reader) {
  const std::scoped_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + kZygotePatience;
  // A parser ends without a word when its opener does, and the other way round.
  for (const pid_t pid : reader.pids_) {
    auto answer = Ask(kHowItEnded, static_cast<std::uint32_t>(pid), deadline);
    if (!answer) return {};
    if (!answer->body.empty()) return std::move(answer->body);
  }
  return {};
}

}  // namespace profd::reader
