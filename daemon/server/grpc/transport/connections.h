// Connections: accepts at unix sockets, and gives each connection to the gRPC server of its user.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/peer.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/open_connections.h"
#include "daemon/server/grpc/transport/server_settings.h"
#include "daemon/server/grpc/transport/unix_listener.h"

namespace profd::server {

class UserServer;

// A socket at which clients connect.
struct Door {
  UnixListener listener;
  // Root, profd's own user and members of the group see everything at either kind of socket, as the
  // kernel says who they are; the mode of the socket is only a second lock. True: calls of all
  // others are refused. False: all others see what is theirs.
  bool trusted = true;
};

// Owned by Server. Its own thread accepts, and also sees when a connection ends, to count those
// that are open. The numbers of connections, per user (ClientLimits) and together, and of users are
// bounded. Beyond them idle connections are closed for new ones (OpenConnections); the user without
// running calls who has connected least recently gives way to a new user. What is closed or refused
// is logged.
class Connections {
 public:
  static constexpr std::size_t kMaxUsers = 32;
  static constexpr std::size_t kMaxConnections = 256;

  // The members of `gate` must outlive this. Members of `group` see everything; "": no group.
  [[nodiscard]] static Result<std::unique_ptr<Connections>> Start(std::vector<Door> doors,
                                                                  const std::string& group,
                                                                  const Gate& gate,
                                                                  const ClientTimes& times);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }
  // Stops accepting. Running calls are cancelled at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  // Users of different kinds have separate limits, so that no kind can keep another out.
  enum class UserKind : std::uint8_t { kRefused, kSeesOwn, kSeesAll, kKinds };
  using UserKey = std::pair<uid_t, UserKind>;
  struct User {
    std::unique_ptr<UserServer> server;
    std::uint64_t last_use = 0;
  };

  Connections(std::vector<Door> doors, std::optional<gid_t> group, std::string group_name,
              const Gate& gate, const ClientTimes& times, UniqueFd stop);
  void Run();
  void Accept(const Door& door);
  void Refuse(const Caller& caller, const std::string& why);
  [[nodiscard]] Caller MakeCaller(const Door& door, const Peer& peer) const;
  // The answer to a user who may not use this socket.
  [[nodiscard]] Error RefusalAt(const Door& door, const Peer& peer) const;
  [[nodiscard]] static UserKind KindOf(const Caller& caller);
  // Null: there are too many users.
  [[nodiscard]] User* FindOrAddUser(const Caller& caller);
  // Makes room for one more user. False: all users of that kind have running calls.
  [[nodiscard]] bool MakeRoom(UserKind kind);
  [[nodiscard]] OpenConnections& OpenOf(UserKind kind) {
    return open_.at(static_cast<std::size_t>(kind));
  }

  const std::vector<Door> doors_;
  const std::optional<gid_t> group_;
  const std::string group_name_;
  const Gate gate_;
  const ClientTimes times_;
  const UniqueFd stop_;  // eventfd
  std::array<OpenConnections, static_cast<std::size_t>(UserKind::kKinds)> open_;
  std::map<UserKey, User> users_;  // destroyed before the connections that their calls use
  std::uint64_t uses_ = 0;
  Heartbeat beat_{"connections"};
  std::thread thread_;
};

}  // namespace profd::server
