#include "daemon/server/grpc/transport/open_connections.h"

#include <sys/socket.h>

#include <algorithm>

namespace profd::server {
namespace {

bool Polls(int fd, short events) {
  pollfd polled{fd, events, 0};
  return poll(&polled, 1, 0) > 0;
}

}  // namespace

bool OpenConnections::Add(Connection connection, UniqueFd duplicate) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t use = ++uses_;
  std::string name = connection.name;
  // A name that is known belongs to a connection that has ended and has not been removed yet.
  Entry& added = entries_.insert_or_assign(std::move(name), Entry{}).first->second;
  added.connection = std::move(connection);
  added.fd = std::move(duplicate);
  added.id = added.last_use = use;
  if (HasRoomFor(added)) return true;
  entries_.erase(added.connection.name);
  return false;
}

OpenConnections::Call OpenConnections::Begin(const std::string& name, const std::string& owner,
                                             std::size_t share) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return {*this, name, 0};
  Entry& entry = found->second;
  entry.connection.owner = owner;
  entry.connection.share = share;
  entry.called = true;
  ++entry.running;
  if (!entry.closing && !HasRoomFor(entry))
    CloseFor(entry, "too many connections with running calls");
  return {*this, name, entry.id};
}

void OpenConnections::End(const std::string& name, std::uint64_t id) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.id != id) return;
  --found->second.running;
  found->second.last_use = ++uses_;
}

bool OpenConnections::HasRoomFor(Entry& added) {
  std::size_t all = 0;
  std::size_t owners = 0;
  for (const auto& [name, entry] : entries_) {
    if (entry.closing) continue;
    ++all;
    if (entry.connection.owner == added.connection.owner) ++owners;
  }
  const auto has_not_called = [](const Entry& entry) { return !entry.called; };
  const auto is_idle = [](const Entry& entry) { return entry.running == 0; };
  if (owners > added.connection.share) {
    Entry* idle = LongestIdle(added, added.connection.owner, is_idle);
    if (idle == nullptr) return false;
    CloseFor(*idle, "too many connections, of which this was idle for the longest time");
  } else if (all > most_) {
    Entry* idle = LongestIdle(added, "", has_not_called);
    if (idle == nullptr) idle = LongestIdle(added, "", is_idle);
    if (idle == nullptr) return false;
    CloseFor(*idle, "another client needs the place of this connection, which was idle");
  }
  return true;
}

template <typename MayGo>
OpenConnections::Entry* OpenConnections::LongestIdle(const Entry& added, std::string owner,
                                                     const MayGo& may_go) {
  const auto counts = [&](const Entry& entry) {
    return &entry != &added && !entry.closing && may_go(entry);
  };
  if (owner.empty()) {
    std::map<std::string, std::size_t> by_owner;
    for (const auto& [name, entry] : entries_)
      if (counts(entry)) ++by_owner[entry.connection.owner];
    const auto most =
        std::max_element(by_owner.begin(), by_owner.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == by_owner.end()) return nullptr;
    owner = most->first;
  }
  Entry* longest = nullptr;
  for (auto& [name, entry] : entries_)
    if (counts(entry) && entry.connection.owner == owner &&
        (longest == nullptr || entry.last_use < longest->last_use))
      longest = &entry;
  return longest;
}

void OpenConnections::CloseFor(Entry& entry, const std::string& why) {
  refusals_.Refused(entry.connection.owner, "connecting", why);
  Close(entry);
}

void OpenConnections::Close(Entry& entry) {
  entry.closing = true;
  // gRPC owns the connection and closes it after this. RemoveEnded then removes it here.
  (void)shutdown(entry.fd.get(), SHUT_RDWR);
}

void OpenConnections::CloseIfFull(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found != entries_.end() && !Polls(found->second.fd.get(), POLLOUT)) Close(found->second);
}

void OpenConnections::AddTo(std::vector<pollfd>& polled) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) polled.push_back({entry.fd.get(), POLLRDHUP, 0});
}

std::vector<std::string> OpenConnections::RemoveEnded() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> silent;
  std::erase_if(entries_, [&](const auto& named) {
    const auto& [name, entry] = named;
    if (!Polls(entry.fd.get(), POLLRDHUP)) return false;
    if (!entry.called && !entry.closing) silent.push_back(name);
    return true;
  });
  return silent;
}

void OpenConnections::Remove(const void* server) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_,
                [&](const auto& named) { return named.second.connection.server == server; });
}

OpenConnections::Use OpenConnections::UseOf(const void* server) const {
  const std::scoped_lock lock(mutex_);
  Use use;
  for (const auto& [name, entry] : entries_) {
    if (entry.connection.server != server) continue;
    ++use.connections;
    use.running_calls += entry.running;
  }
  return use;
}

}  // namespace profd::server
