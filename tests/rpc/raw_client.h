// RawClient: an HTTP/2 client that sends calls, and takes no more of the answers than it wants to.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/unique_fd.h"

namespace profd::test {

// RFC 9113, with header fields as RFC 7541 has them without compression.
class RawClient {
 public:
  struct Windows {
    std::uint32_t stream_window = kLargest;  // bytes that a stream may send
  };

  RawClient(UniqueFd connection, const Windows& windows) : connection_(std::move(connection)) {
    EXPECT_EQ(fcntl(connection_.get(), F_SETFL, 0), 0);  // it blocks
    constexpr std::uint32_t kDefaultWindow = 65'535;
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    constexpr std::uint16_t kInitialWindowSize = 4;
    SendFrame(
        kSettings, 0, 0,
        std::string{'\0', static_cast<char>(kInitialWindowSize)} + Number(windows.stream_window));
    SendFrame(kWindowUpdate, 0, 0, Number(kLargest - kDefaultWindow));  // of the connection
  }

  // With an empty message.
  void Call(std::string_view method) {
    std::string fields;
    for (const auto& [name, value] :
         {std::pair<std::string_view, std::string_view>{":method", "POST"},
          {":scheme", "http"},
          {":path", method},
          {":authority", "test"},
          {"te", "trailers"},
          {"content-type", "application/grpc"}})
      fields += std::string(1, '\0') + Text(name) + Text(value);
    SendFrame(kHeaders, kEndHeaders, next_stream_, fields);
    SendFrame(kData, kEndStream, next_stream_, std::string(5, '\0'));
    next_stream_ += 2;
  }

  // Reads until so many streams have begun their answers, or have ended.
  void AwaitHeaders(std::size_t streams) { Await(headers_, streams); }
  void AwaitEnds(std::size_t streams) { Await(ends_, streams); }
  [[nodiscard]] const UniqueFd& connection() const { return connection_; }

 private:
  static constexpr std::uint32_t kLargest = 0x7fffffff;
  static constexpr std::uint8_t kData = 0;
  static constexpr std::uint8_t kHeaders = 1;
  static constexpr std::uint8_t kReset = 3;
  static constexpr std::uint8_t kSettings = 4;
  static constexpr std::uint8_t kWindowUpdate = 8;
  static constexpr std::uint8_t kEndStream = 1;
  static constexpr std::uint8_t kEndHeaders = 4;

  static std::string Number(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  }
  static std::string Text(std::string_view text) {
    return static_cast<char>(text.size()) + std::string(text);
  }
  void Send(std::string_view bytes) const {
    EXPECT_EQ(send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void SendFrame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                 std::string_view content) const {
    Send(Number(static_cast<std::uint32_t>(content.size())).substr(1) + static_cast<char>(type) +
         static_cast<char>(flags) + Number(stream) + std::string(content));
  }
  void Await(const std::size_t& count, std::size_t wanted) {
    while (count < wanted)
      if (!ReadFrame()) return ADD_FAILURE() << "the connection has ended";
  }
  bool ReadFrame() {
    std::array<unsigned char, 9> head{};
    if (recv(connection_.get(), head.data(), head.size(), MSG_WAITALL) !=
        static_cast<ssize_t>(head.size()))
      return false;
    const std::size_t size = head[0] << 16 | head[1] << 8 | head[2];
    std::string content(size, '\0');
    if (recv(connection_.get(), content.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size))
      return false;
    const bool ends = head[3] == kReset ||
                      ((head[3] == kHeaders || head[3] == kData) && (head[4] & kEndStream) != 0);
    if (head[3] == kHeaders && !ends) ++headers_;
    if (ends) ++ends_;
    return true;
  }

  const UniqueFd connection_;
  std::uint32_t next_stream_ = 1;
  std::size_t headers_ = 0;
  std::size_t ends_ = 0;
};

}  // namespace profd::test
