#include "client/system/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

namespace profd::client {

Result<std::unique_ptr<StopSignals>> StopSignals::Block() {
  std::unique_ptr<StopSignals> signals(new StopSignals);
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGINT);
  ::sigaddset(&stop, SIGTERM);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaddset(&stop, SIGHUP);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  ::pthread_sigmask(SIG_BLOCK, &stop, &signals->original_mask_);
  signals->signal_fd_.Reset(::signalfd(-1, &stop, SFD_CLOEXEC));
  signals->end_fd_.Reset(::eventfd(0, EFD_CLOEXEC));
  if (!signals->signal_fd_.valid() || !signals->end_fd_.valid())
    return ErrorFromErrno(errno, "cannot watch for signals");
  return signals;
}

StopSignals::~StopSignals() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(end_fd_.get(), &one, sizeof(one));
}

void StopSignals::Handle(Handler handler) {
  thread_ = std::jthread([this, handler = std::move(handler)] { Run(handler); });
}

void StopSignals::Run(const Handler& handler) {
  while (true) {
    std::array<pollfd, 2> fds{{{signal_fd_.get(), POLLIN, 0}, {end_fd_.get(), POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if ((fds[1].revents & POLLIN) != 0) return;
    if ((fds[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo info{};
    if (::read(signal_fd_.get(), &info, sizeof(info)) != sizeof(info)) continue;
    handler(static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL);
  }
}

}  // namespace profd::client
