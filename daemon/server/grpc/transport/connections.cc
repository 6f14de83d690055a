#include "daemon/server/grpc/transport/connections.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/caller.h"
#include "daemon/server/grpc/auth/client_limits.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/service/refusing_service.h"
#include "daemon/server/grpc/transport/call_watch.h"
#include "daemon/server/grpc/transport/open_connections.h"
#include "daemon/server/grpc/transport/server_settings.h"

namespace profd::server {
namespace {

// accept4 has failed because descriptors or memory are missing, and the connection is still in the
// backlog: poll() would return at once, again and again.
constexpr int kPauseMs = 100;

// How long the connection of a user who does not see everything may be idle.
constexpr std::chrono::milliseconds kPublicIdle{60'000};
// Each running call takes a thread.
constexpr int kTrustedThreads = 256;
constexpr int kPublicThreads = 32;

// gRPC's name for a connection that it gets as a descriptor.
std::string NameOf(const UniqueFd& connection) { return "fd:" + std::to_string(connection.get()); }

}  // namespace

// The gRPC server of all connections of one user. gRPC does not say on which connection a call
// came. So each user has a server of their own, which listens nowhere: the server that a call
// arrives at identifies the user, and nothing that a client sends can change it. Owned by
// Connections, on its thread.
class UserServer {
 public:
  // `caller` has no pid. The members of `gate`, and `open`, must outlive this.
  [[nodiscard]] static Result<std::unique_ptr<UserServer>> Start(const Caller& caller,
                                                                 const Gate& gate,
                                                                 const ClientTimes& times,
                                                                 OpenConnections& open);
  ~UserServer();
  UserServer(const UserServer&) = delete;
  UserServer& operator=(const UserServer&) = delete;

  // Serves a connection that process `pid` of the user has made. It must be non-blocking.
  void Add(UniqueFd connection, pid_t pid);
  // Stops taking calls. Running calls are cancelled at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);
  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  UserServer(Caller caller, const Gate& gate);
  [[nodiscard]] Caller GetCaller(const grpc::ServerContextBase& context) const;
  [[nodiscard]] CallerService::FindCaller FindCaller() {
    return [this](const grpc::ServerContextBase& context) { return GetCaller(context); };
  }

  const Caller caller_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint32_t>
      pids_;  // by gRPC's name of the connection; for messages only
  CallerService service_;
  RefusingService refusing_;               // of a caller who is refused
  std::unique_ptr<grpc::Server> server_;   // destroyed before the members that its calls use
  std::optional<Serving::Member> health_;  // destroyed before its server
};

Result<std::unique_ptr<UserServer>> UserServer::Start(const Caller& caller, const Gate& gate,
                                                      const ClientTimes& times,
                                                      OpenConnections& open) {
  std::unique_ptr<UserServer> user(new UserServer(caller, gate));
  grpc::ServerBuilder builder;
  ClientTimes of_user = times;
  if (!caller.sees_all) of_user.idle = std::min(times.idle, kPublicIdle);
  ApplySettings(builder, of_user);
  WatchCalls(builder, gate, open, times, user->FindCaller());
  builder.SetMaxReceiveMessageSize(LimitsFor(caller).max_request_bytes);
  grpc::ResourceQuota quota("user " + std::to_string(caller.uid));
  quota.SetMaxThreads(caller.sees_all ? kTrustedThreads : kPublicThreads);
  builder.SetResourceQuota(quota);
  builder.RegisterService(&user->service_);
  if (caller.refusal) {
    RemoveCommonServices(builder);
    builder.RegisterCallbackGenericService(&user->refusing_);
  }
  user->server_ = builder.BuildAndStart();
  if (!user->server_) return Error{ErrorCode::kInternal, "gRPC cannot make a server", ""};
  if (!caller.refusal) user->health_.emplace(gate.serving, *user->server_);
  return user;
}

UserServer::UserServer(Caller caller, const Gate& gate)
    : caller_(std::move(caller)),
      service_(gate, FindCaller()),
      refusing_(gate.refusals, FindCaller()) {}

UserServer::~UserServer() { Shutdown(std::chrono::system_clock::now()); }

void UserServer::Add(UniqueFd connection, pid_t pid) {
  {
    // gRPC names a connection by its descriptor, whose number is used again. So a late call of a
    // connection that has ended may be attributed to the wrong process, but of the right user.
    const std::scoped_lock lock(mutex_);
    pids_[NameOf(connection)] = static_cast<std::uint32_t>(pid);
  }
  grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
}

Caller UserServer::GetCaller(const grpc::ServerContextBase& context) const {
  Caller caller = caller_;
  const std::scoped_lock lock(mutex_);
  if (const auto found = pids_.find(context.peer()); found != pids_.end())
    caller.pid = found->second;
  return caller;
}

void UserServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!server_) return;
  health_.reset();
  server_->Shutdown(deadline);
  server_->Wait();
  server_.reset();
}

Result<std::unique_ptr<Connections>> Connections::Start(std::vector<Door> doors,
                                                        const std::string& group, const Gate& gate,
                                                        const ClientTimes& times) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrorFromErrno(errno, "cannot make an eventfd");
  std::optional<gid_t> members;
  if (!group.empty()) {
    if (const auto id = GroupId(group)) members = *id;
  }
  std::unique_ptr<Connections> connections(
      new Connections(std::move(doors), members, group, gate, times, std::move(stop)));
  connections->thread_ = std::thread([&self = *connections] { self.Run(); });
  return connections;
}

Connections::Connections(std::vector<Door> doors, std::optional<gid_t> group,
                         std::string group_name, const Gate& gate, const ClientTimes& times,
                         UniqueFd stop)
    : doors_(std::move(doors)),
      group_(group),
      group_name_(std::move(group_name)),
      gate_(gate),
      times_(times),
      stop_(std::move(stop)),
      open_{OpenConnections{kMaxConnections, gate.refusals},
            OpenConnections{kMaxConnections, gate.refusals},
            OpenConnections{kMaxConnections, gate.refusals}} {}

Connections::~Connections() { Shutdown(std::chrono::system_clock::now()); }

void Connections::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (!thread_.joinable()) return;
  (void)eventfd_write(stop_.get(), 1);
  thread_.join();
  // The path still belongs to this process: no other profd takes it over while this one listens.
  for (const Door& door : doors_)
    if (door.listener.made) (void)unlink(door.listener.path.c_str());
  for (auto& [key, user] : users_) user.server->Shutdown(deadline);
  users_.clear();
}

void Connections::Run() {
  ::pthread_setname_np(::pthread_self(), "profd-accept");
  const Heartbeat::Working working(beat_);
  std::vector<pollfd> polled;
  while (true) {
    polled.assign(1, pollfd{stop_.get(), POLLIN, 0});
    for (const Door& door : doors_) polled.push_back({door.listener.fd.get(), POLLIN, 0});
    for (const auto& open : open_) open.AddTo(polled);
    {
      const Heartbeat::Waiting waiting(beat_);
      if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    }
    if (polled[0].revents != 0) return;
    for (auto& open : open_) (void)open.RemoveEnded();
    for (std::size_t i = 0; i < doors_.size(); ++i)
      if (polled[i + 1].revents != 0) Accept(doors_[i]);
  }
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
  const auto peer = GetPeer(connection.get());
  if (!peer) return gate_.refusals.Refused("an unknown user", "connecting", peer.error().message);
  // Those who are refused are served, too: only a call can be answered with the reason.
  const Caller caller = MakeCaller(door, *peer);
  User* user = FindOrAddUser(caller);
  if (user == nullptr) return Refuse(caller, "too many users have running calls");
  UniqueFd duplicate(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid()) return Refuse(caller, "no descriptors are left");
  if (!OpenOf(KindOf(caller))
           .Add({NameOf(connection), ClientName(caller), LimitsFor(caller).max_connections,
                 user->server.get()},
                std::move(duplicate)))
    return Refuse(caller, "too many connections with running calls");
  user->server->Add(std::move(connection), peer->pid);
}

void Connections::Refuse(const Caller& caller, const std::string& why) {
  gate_.refusals.Refused(Describe(caller), "connecting", why);
}

Caller Connections::MakeCaller(const Door& door, const Peer& peer) const {
  Caller caller;
  caller.uid = peer.uid;
  caller.pid = static_cast<std::uint32_t>(peer.pid);
  caller.sees_all = peer.uid == 0 || peer.uid == geteuid() || (group_ && IsIn(peer, *group_));
  if (!caller.sees_all && door.trusted) caller.refusal = RefusalAt(door, peer);
  return caller;
}

Error Connections::RefusalAt(const Door& door, const Peer& peer) const {
  const std::string members =
      group_ ? ", profd's own user and members of group " + group_name_ : " and profd's own user";
  std::string hint = "use sudo";
  if (group_) hint += ", or become a member of group " + group_name_ + " and log in again";
  for (const Door& other : doors_)
    if (!other.trusted) hint += "; for your own processes: --host unix:" + other.listener.path;
  return {ErrorCode::kPermissionDenied,
          "unix:" + door.listener.path + " is for root" + members + ", not for uid " +
              std::to_string(peer.uid),
          hint};
}

Connections::UserKind Connections::KindOf(const Caller& caller) {
  if (caller.refusal) return UserKind::kRefused;
  return caller.sees_all ? UserKind::kSeesAll : UserKind::kSeesOwn;
}

bool Connections::MakeRoom(UserKind kind) {
  std::size_t users = 0;
  OpenConnections& open = OpenOf(kind);
  auto leaves = users_.end();
  std::pair<bool, std::uint64_t> rank;  // one without connections leaves first
  for (auto it = users_.begin(); it != users_.end(); ++it) {
    if (it->first.second != kind) continue;
    ++users;
    const auto use = open.UseOf(it->second.server.get());
    if (use.running_calls != 0) continue;
    const std::pair its_rank{use.connections != 0, it->second.last_use};
    if (leaves != users_.end() && rank <= its_rank) continue;
    leaves = it;
    rank = its_rank;
  }
  if (users < kMaxUsers) return true;
  if (leaves == users_.end()) return false;
  if (rank.first)
    Refuse(leaves->second.server->caller(),
           "another user needs the place of this one, who is idle");
  open.Remove(leaves->second.server.get());
  users_.erase(leaves);
  return true;
}

Connections::User* Connections::FindOrAddUser(const Caller& caller) {
  const UserKey key{caller.uid, KindOf(caller)};
  auto found = users_.find(key);
  if (found == users_.end()) {
    if (!MakeRoom(key.second)) return nullptr;
    Caller known = caller;
    known.pid = 0;
    known.name = UserName(caller.uid);
    auto server = UserServer::Start(known, gate_, times_, OpenOf(key.second));
    if (!server) return nullptr;
    found = users_.emplace(key, User{*std::move(server), 0}).first;
  }
  found->second.last_use = ++uses_;
  return &found->second;
}

}  // namespace profd::server
