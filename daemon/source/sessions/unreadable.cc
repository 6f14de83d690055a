#include "daemon/source/sessions/unreadable.h"

#include <algorithm>

namespace profd::source {
namespace {

constexpr std::size_t kMaxUsersKept = 64;

std::uint64_t NsOf(Unreadable::Time time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

}  // namespace

void Unreadable::Note(std::uint32_t pid, std::uint32_t user, std::uint64_t request, Time now) {
  const std::scoped_lock lock(mutex_);
  auto known = std::ranges::find(processes_, pid, &Process::pid);
  if (known == processes_.end()) {
    if (processes_.size() == PROFD_MAX_UNREADABLE) processes_.erase(processes_.begin());
    known = processes_.insert(processes_.end(), Process{.pid = pid, .delay = kFirstPause});
  }
  known->user = user;
  known->request = request;
  known->since = now;
  known->next = now + known->delay;
  known->delay = std::min(2 * known->delay, kLastPause);
}

Unreadable::Orders Unreadable::Next(Time now, const IsHeld& is_held) {
  const std::scoped_lock lock(mutex_);
  Orders orders;
  std::map<std::uint32_t, std::size_t> held;  // readers, by user
  std::size_t all = 0;
  for (Process& one : processes_) {
    // While the kernel still holds the reader that tried it last, another one would only join it.
    const bool holds = is_held(one.request);
    one.left_alone = one.next > now || holds;
    if (!one.left_alone) continue;
    ++one.runs;
    orders.pids.push_back(one.pid);
    // A reader that has just been given up may not be killed yet.
    if (one.user == 0 || (!holds && now - one.since >= kFirstPause)) continue;
    ++held[one.user];
    ++all;
  }
  if (all >= kMaxOfUsers) orders.reads = PROFD_READS_OF_ROOT;
  if (users_.size() > kMaxUsersKept)
    users_.erase(
        std::ranges::min_element(users_, {}, [](const auto& one) { return one.second.last; }));
  for (auto& [uid, user] : users_) user.left_alone = false;
  for (const auto& [uid, count] : held) {
    if (count < kMaxOfUser || orders.users.size() == PROFD_MAX_UNREADABLE_USERS) continue;
    orders.users.push_back(uid);
    User& user = users_[uid];
    ++user.runs;
    user.last = now;
    user.left_alone = true;
  }
  return orders;
}

std::vector<budget::BeyondShare> Unreadable::Beyond() const {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t now_ns = NsOf(std::chrono::steady_clock::now());
  std::vector<budget::BeyondShare> all;
  for (const Process& one : processes_) {
    if (one.runs > 0)
      all.push_back(
          {{PROFD_SHARE_STACKS, one.pid}, one.runs, one.left_alone ? now_ns : NsOf(one.since)});
  }
  for (const auto& [uid, user] : users_)
    all.push_back(
        {{PROFD_SHARE_STACKS_OF_USER, uid}, user.runs, user.left_alone ? now_ns : NsOf(user.last)});
  return all;
}

}  // namespace profd::source
