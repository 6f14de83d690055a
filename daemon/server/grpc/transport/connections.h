// Connections: accepts at unix sockets, and hands each connection to the server of its user.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/peer.h"
#include "daemon/server/grpc/service/caller_service.h"
#include "daemon/server/grpc/transport/unix_listener.h"
#include "daemon/server/grpc/transport/user_server.h"

namespace profd::server {

// Where connections come from.
struct Door {
  UnixListener listener;
  // Whoever the file system lets connect sees all. Else root, profd's own user and members of the
  // group do, and everybody else what is theirs.
  bool trusted = true;
};

// A thread of its own accepts; it also sees when a connection ends, to keep count. Bounded: so many
// connections a user (ClientLimits), so many users at once (kMaxUsers). What is too many is closed
// at once, and logged.
class Connections {
 public:
  static constexpr std::size_t kMaxUsers = 32;

  // What is in `gate` must outlive this. `group`: whose members see all; "" for none.
  [[nodiscard]] static Result<std::unique_ptr<Connections>> Start(std::vector<Door> doors,
                                                                  const std::string& group,
                                                                  const Gate& gate);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Accepts no more; calls under way are cut off at the deadline.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  using UserKey = std::pair<uid_t, bool>;  // uid, sees all
  struct User {
    std::unique_ptr<UserServer> server;
    std::vector<UniqueFd> connections;  // descriptors of our own, to see them end
    std::uint64_t last_use = 0;
  };

  Connections(std::vector<Door> doors, std::optional<gid_t> group, const Gate& gate, UniqueFd stop);
  void Run();
  void Accept(const Door& door);
  void Refuse(const Caller& caller, const std::string& why);
  [[nodiscard]] Caller CallerOf(const Door& door, const Peer& peer) const;
  // Null: there are too many users.
  [[nodiscard]] User* UserOf(const Caller& caller);
  // Of those who see all, or of the others, so that these cannot keep those out.
  [[nodiscard]] bool MakeRoom(bool sees_all);
  void ForgetEnded();

  const std::vector<Door> doors_;
  const std::optional<gid_t> group_;
  const Gate gate_;
  const UniqueFd stop_;  // eventfd
  std::map<UserKey, User> users_;
  std::uint64_t uses_ = 0;
  std::thread thread_;
};

}  // namespace profd::server
