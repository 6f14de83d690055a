// Channel: messages and descriptors between two processes of profd.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::reader {

// One message. `kind` means what the two sides agree on.
struct Message {
  std::uint32_t kind = 0;
  std::string body;
  std::vector<UniqueFd> descriptors;
};

// One end of a stream socket. Move-only; used by one thread at a time. The other side may be a
// process that a hostile file has taken over, or one that hangs: lengths are bounded, and nothing
// waits without a deadline that the caller sets.
class Channel {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMaxDescriptors = 4;

  Channel() = default;
  // Takes the descriptor of a socket of AF_UNIX and SOCK_STREAM.
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}
  [[nodiscard]] static Result<std::pair<Channel, Channel>> MakePair();

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool valid() const { return socket_.valid(); }
  void Close() { socket_.Reset(); }

  // kUnavailable: the other side is gone, or took nothing until the deadline. The deadline is
  // checked between parts of a long message.
  [[nodiscard]] Result<void> Send(std::uint32_t kind, std::string_view body, Time deadline,
                                  std::span<const int> descriptors = {});
  // What has come so far, without waiting: the message when it is whole. kCorrupt: a body longer
  // than `max_bytes`, or no message at all. kUnavailable: the other side is gone.
  [[nodiscard]] Result<std::optional<Message>> TryReceive(std::size_t max_bytes);
  // Waits for it. Nothing: the deadline has passed; a later call continues where this one ended.
  [[nodiscard]] Result<std::optional<Message>> Receive(std::size_t max_bytes, Time deadline);

 private:
  struct Header {
    std::uint32_t magic = 0;
    std::uint32_t kind = 0;
    std::uint64_t bytes = 0;
  };
  static constexpr std::uint32_t kMagic = 0x64667072;

  [[nodiscard]] Result<std::size_t> Read(std::span<char> to);

  UniqueFd socket_;
  // The message that is coming: its header, then its body.
  std::array<char, sizeof(Header)> header_{};
  std::size_t got_ = 0;  // bytes of both
  Message message_;
};

}  // namespace profd::reader
