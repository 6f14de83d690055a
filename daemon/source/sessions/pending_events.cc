#include "daemon/source/sessions/pending_events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace profd::source {
namespace {

void Append(std::vector<wire::EventBytes> events, std::vector<wire::EventBytes>* to) {
  to->insert(to->end(), std::make_move_iterator(events.begin()),
             std::make_move_iterator(events.end()));
}

}  // namespace

Result<UniqueFd> PendingEvents::MakeWakeFd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot make an eventfd");
  return fd;
}

void PendingEvents::PutBefore(std::vector<wire::EventBytes> events) {
  {
    const std::scoped_lock lock(mutex_);
    Append(std::move(events), &events_.before);
  }
  Wake();
}

void PendingEvents::PutAfter(std::vector<wire::EventBytes> events) {
  {
    const std::scoped_lock lock(mutex_);
    Append(std::move(events), &events_.after);
  }
  Wake();
}

void PendingEvents::Wake() {
  // Fails only when the counter is full, and then the reader is awake.
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

PendingEvents::Taken PendingEvents::Take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof(count));
  const std::scoped_lock lock(mutex_);
  return std::exchange(events_, {});
}

}  // namespace profd::source
