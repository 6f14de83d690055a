// LoopbackClient: says bytes to a server at 127.0.0.1, and hears what it answers.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include "daemon/base/unique_fd.h"

namespace profd::testing {

// One connection. Used by one thread.
class LoopbackClient {
 public:
  explicit LoopbackClient(std::uint16_t port)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }

  void Say(const std::string& text) const {
    (void)!::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // All until the server closes the connection.
  [[nodiscard]] std::string Hear() const {
    std::string text;
    std::array<char, 4096> part;
    while (true) {
      const ssize_t got = ::read(fd_.get(), part.data(), part.size());
      if (got <= 0) return text;
      text.append(part.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  UniqueFd fd_;
};

}  // namespace profd::testing
