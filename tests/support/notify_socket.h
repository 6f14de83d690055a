// NotifySocket: the other end of sd_notify, as systemd would be.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "tests/support/temp_folder.h"

namespace profd::testing {

// Sets NOTIFY_SOCKET of this process while it lives.
class NotifySocket {
 public:
  NotifySocket() {
    const auto path = folder_.Path("socket");
    socket_.Reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    bound_ = bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() { unsetenv("NOTIFY_SOCKET"); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  [[nodiscard]] bool bound() const { return bound_; }
  // What has been said since the last call, a datagram each.
  [[nodiscard]] std::vector<std::string> Take() const {
    std::vector<std::string> said;
    std::array<char, 4096> buffer;
    while (true) {
      const ssize_t bytes = recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (bytes < 0) return said;
      said.emplace_back(buffer.data(), static_cast<std::size_t>(bytes));
    }
  }

 private:
  test::TempFolder folder_;
  UniqueFd socket_;
  bool bound_ = false;
};

}  // namespace profd::testing
