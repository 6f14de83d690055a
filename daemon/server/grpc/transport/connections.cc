#include "daemon/server/grpc/transport/connections.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "daemon/server/grpc/auth/client_limits.h"

namespace profd::server {
namespace {

// Without descriptors or memory, accepting again at once would fail again.
constexpr int kPauseMs = 100;

bool HasEnded(const UniqueFd& connection) {
  pollfd polled{connection.get(), POLLRDHUP, 0};
  return poll(&polled, 1, 0) > 0;
}

}  // namespace

Result<std::unique_ptr<Connections>> Connections::Start(std::vector<Door> doors,
                                                        const std::string& group,
                                                        const Gate& gate) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrorFromErrno(errno, "cannot make an eventfd");
  std::optional<gid_t> members;
  if (!group.empty()) {
    if (const auto id = GroupId(group)) members = *id;
  }
  std::unique_ptr<Connections> connections(
      new Connections(std::move(doors), members, gate, std::move(stop)));
  connections->thread_ = std::thread([&self = *connections] { self.Run(); });
  return connections;
}

Connections::Connections(std::vector<Door> doors, std::optional<gid_t> group, const Gate& gate,
                         UniqueFd stop)
    : doors_(std::move(doors)), group_(group), gate_(gate), stop_(std::move(stop)) {}

Connections::~Connections() { Shutdown(std::chrono::system_clock::now()); }

void Connections::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!thread_.joinable()) return;
  (void)eventfd_write(stop_.get(), 1);
  thread_.join();
  // As long as it is listened at, it is ours.
  for (const Door& door : doors_)
    if (door.listener.made) (void)unlink(door.listener.path.c_str());
  for (auto& [key, user] : users_) user.server->Shutdown(deadline);
  users_.clear();
}

void Connections::Run() {
  std::vector<pollfd> polled;
  while (true) {
    polled.assign(1, pollfd{stop_.get(), POLLIN, 0});
    for (const Door& door : doors_) polled.push_back({door.listener.fd.get(), POLLIN, 0});
    for (const auto& [key, user] : users_)
      for (const auto& connection : user.connections)
        polled.push_back({connection.get(), POLLRDHUP, 0});
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    ForgetEnded();
    for (std::size_t i = 0; i < doors_.size(); ++i)
      if (polled[i + 1].revents != 0) Accept(doors_[i]);
  }
}

void Connections::ForgetEnded() {
  for (auto& [key, user] : users_) std::erase_if(user.connections, HasEnded);
}

void Connections::Accept(const Door& door) {
  UniqueFd connection(
      accept4(door.listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection.valid()) {
    pollfd stop{stop_.get(), POLLIN, 0};
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      (void)poll(&stop, 1, kPauseMs);
    return;
  }
  const auto peer = PeerOf(connection.get());
  if (!peer) return gate_.refusals.Refused("somebody", "connecting", peer.error().message);
  const Caller caller = CallerOf(door, *peer);
  User* user = UserOf(caller);
  if (user == nullptr) return Refuse(caller, "too many users are connected");
  if (user->connections.size() >= LimitsOf(caller).max_connections)
    return Refuse(caller, "too many connections");
  UniqueFd ours(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!ours.valid()) return Refuse(caller, "no descriptors are left");
  user->connections.push_back(std::move(ours));
  user->server->Add(std::move(connection), peer->pid);
}

void Connections::Refuse(const Caller& caller, const std::string& why) {
  gate_.refusals.Refused(Describe(caller), "connecting", why);
}

Caller Connections::CallerOf(const Door& door, const Peer& peer) const {
  Caller caller;
  caller.uid = peer.uid;
  caller.pid = static_cast<std::uint32_t>(peer.pid);
  caller.sees_all =
      door.trusted || peer.uid == 0 || peer.uid == geteuid() || (group_ && IsIn(peer, *group_));
  return caller;
}

bool Connections::MakeRoom(bool sees_all) {
  std::size_t users = 0;
  auto idle = users_.end();
  for (auto it = users_.begin(); it != users_.end(); ++it) {
    if (it->first.second != sees_all) continue;
    ++users;
    if (!it->second.connections.empty()) continue;
    if (idle == users_.end() || it->second.last_use < idle->second.last_use) idle = it;
  }
  if (users < kMaxUsers) return true;
  if (idle == users_.end()) return false;
  users_.erase(idle);
  return true;
}

Connections::User* Connections::UserOf(const Caller& caller) {
  const UserKey key{caller.uid, caller.sees_all};
  auto found = users_.find(key);
  if (found == users_.end()) {
    if (!MakeRoom(caller.sees_all)) return nullptr;
    Caller known = caller;
    known.pid = 0;
    known.name = UserName(caller.uid);
    auto server = UserServer::Start(known, gate_);
    if (!server) return nullptr;
    found = users_.emplace(key, User{*std::move(server), {}, 0}).first;
  }
  found->second.last_use = ++uses_;
  return &found->second;
}

}  // namespace profd::server
