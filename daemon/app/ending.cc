#include "daemon/app/ending.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "daemon/app/log_sink.h"
#include "daemon/base/proc/proc_fs.h"

namespace profd::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

double Seconds(steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

UniqueFd EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Of profd's own threads that are left; those of libraries have other names.
std::string OwnThreads() {
  const ProcFs proc;
  std::string names;
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator(proc.Path("self/task"), failed)) {
    auto name = proc.Read("self/task/" + task.path().filename().string() + "/comm", 64);
    if (!name || !name->starts_with("profd-") || name->starts_with("profd-end")) continue;
    names += (names.empty() ? "" : ", ") + name->substr(0, name->find('\n'));
  }
  return names.empty() ? "none of profd's own threads" : names;
}

// Standard error may be a pipe that is full, and its reader may hang.
void WriteIfItTakesIt(const std::string& line) {
  pollfd polled{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&polled, 1, 0) == 1 && (polled.revents & POLLOUT) != 0)
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

Ending::Ending(const Limits& limits)
    : limits_(limits),
      signals_(EndSignals()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](const std::stop_token& stop) { Watch(stop); }) {}

Ending::~Ending() {
  thread_.request_stop();
  Wake();
}

void Ending::Wake() const { (void)eventfd_write(wake_.get(), 1); }

void Ending::Begin() {
  BeginAt(steady_clock::now());
  Wake();
}

void Ending::BeginAt(Time now) {
  const std::scoped_lock lock(mutex_);
  if (!began_) began_ = now;
}

Ending::Time Ending::began() const {
  const std::scoped_lock lock(mutex_);
  return began_.value_or(steady_clock::now());
}

void Ending::Step(const char* what) {
  const std::scoped_lock lock(mutex_);
  steps_.emplace_back(what, steady_clock::now());
}

std::string Ending::Finish(int code) {
  std::string text;
  {
    const std::scoped_lock lock(mutex_);
    const Time now = steady_clock::now();
    finished_ = now;
    code_ = code;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Time end = i + 1 < steps_.size() ? steps_[i + 1].second : now;
      text += fmt::format("{} {} {:.2f} s", i == 0 ? ":" : ",", steps_[i].first,
                          Seconds(end - steps_[i].second));
    }
    text = fmt::format("stopped in {:.2f} s", Seconds(now - began_.value_or(now))) + text;
  }
  Wake();
  return text;
}

std::optional<Ending::Time> Ending::Deadline() const {
  const std::scoped_lock lock(mutex_);
  if (!began_) return std::nullopt;
  const Time stop = *began_ + limits_.stop;
  return finished_ ? std::min(stop, *finished_ + limits_.free) : stop;
}

void Ending::Watch(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "profd-end");
  while (!stop.stop_requested()) {
    const auto deadline = Deadline();
    if (deadline && steady_clock::now() >= *deadline) Leave();
    const auto wait =
        deadline ? std::chrono::ceil<milliseconds>(*deadline - steady_clock::now()).count() : -1;
    // A signal stays pending until the main thread takes it.
    std::array<pollfd, 2> polled{pollfd{wake_.get(), POLLIN, 0},
                                 pollfd{deadline ? -1 : signals_.get(), POLLIN, 0}};
    (void)::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(wait, -1)));
    if (polled[1].revents != 0) BeginAt(steady_clock::now());
    std::uint64_t ignored = 0;
    (void)eventfd_read(wake_.get(), &ignored);
  }
}

void Ending::Leave() const {
  const std::scoped_lock lock(mutex_);
  const char* step = steps_.empty() ? "the main thread" : steps_.back().first;
  const std::string what =
      code_
          ? "stopped, and leaves without waiting for " + OwnThreads()
          : fmt::format("not stopped within {:.1f} s, leaves: {} does not end; there are still {}",
                        Seconds(limits_.stop), step, OwnThreads());
  const auto level = code_ ? spdlog::level::info : spdlog::level::err;
  WriteIfItTakesIt((StderrIsJournal() ? JournalPrefix(level) : "") + ("profd: " + what) + "\n");
  ::_exit(code_.value_or(EXIT_FAILURE));
}

}  // namespace profd::app
