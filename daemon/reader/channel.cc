#include "daemon/reader/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace profd::reader {
namespace {

Error Gone() { return Error{ErrorCode::kUnavailable, "the other process has ended", ""}; }

// False: the deadline has passed.
bool Await(int fd, short events, Channel::Time deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{fd, events, 0};
    const int count =
        ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
    if (count > 0) return true;
    if (count == 0 || errno != EINTR) return false;
  }
}

union ControlBytes {
  cmsghdr alignment;
  std::array<char, CMSG_SPACE(sizeof(int) * Channel::kMaxDescriptors)> bytes;
};

}  // namespace

Result<std::pair<Channel, Channel>> Channel::MakePair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return ErrorFromErrno(errno, "cannot make a socket for a reader process");
  return std::pair(Channel(UniqueFd(ends[0])), Channel(UniqueFd(ends[1])));
}

Result<void> Channel::Send(std::uint32_t kind, std::string_view body, Time deadline,
                           std::span<const int> descriptors) {
  Header header{kMagic, kind, body.size()};
  std::size_t sent = 0;
  ControlBytes control{};
  while (sent < sizeof header + body.size()) {
    std::array<iovec, 2> parts{};
    const std::size_t of_header = std::min(sent, sizeof header);
    const std::size_t of_body = sent - of_header;
    parts[0] = {reinterpret_cast<char*>(&header) + of_header, sizeof header - of_header};
    parts[1] = {const_cast<char*>(body.data()) + of_body, body.size() - of_body};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    // Descriptors travel with the first byte.
    if (sent == 0 && !descriptors.empty()) {
      message.msg_control = control.bytes.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* first = CMSG_FIRSTHDR(&message);
      first->cmsg_level = SOL_SOCKET;
      first->cmsg_type = SCM_RIGHTS;
      first->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(first), descriptors.data(), descriptors.size_bytes());
    }
    const ssize_t put = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0) {
      sent += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      if (!Await(socket_.get(), POLLOUT, deadline))
        return Error{ErrorCode::kUnavailable, "the other process takes no more", ""};
    } else if (errno != EINTR) {
      return Gone();
    }
  }
  return {};
}

// 0: nothing is there now.
Result<std::size_t> Channel::Read(std::span<char> to) {
  iovec part{to.data(), to.size()};
  ControlBytes control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::size_t{0};
  if (got <= 0) return Gone();
  for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(one) + i * sizeof fd, sizeof fd);
      message_.descriptors.emplace_back(fd);
    }
  }
  if (message_.descriptors.size() > kMaxDescriptors)
    return Error{ErrorCode::kCorrupt, "too many descriptors in one message", ""};
  return static_cast<std::size_t>(got);
}

Result<std::optional<Message>> Channel::TryReceive(std::size_t max_bytes) {
  constexpr std::size_t kPiece = 1u
                                 << 20;  // the body grows as it comes, not as its header promises
  for (;;) {
    Header header;
    if (got_ < sizeof header) {
      const auto got = Read(std::span(header_).subspan(got_));
      if (!got) return got.error();
      if (*got == 0) return std::optional<Message>();
      got_ += *got;
      if (got_ < sizeof header) continue;
    }
    std::memcpy(&header, header_.data(), sizeof header);
    if (header.magic != kMagic || header.bytes > max_bytes)
      return Error{ErrorCode::kCorrupt, "the answer of a reader process makes no sense", ""};
    const std::size_t have = got_ - sizeof header;
    if (have == header.bytes) {
      message_.kind = header.kind;
      got_ = 0;
      return std::optional(std::exchange(message_, {}));
    }
    if (message_.body.size() == have)
      message_.body.resize(std::min<std::size_t>(header.bytes, have + kPiece));
    const auto got = Read(std::span(message_.body).subspan(have));
    if (!got) return got.error();
    if (*got == 0) return std::optional<Message>();
    got_ += *got;
  }
}

Result<std::optional<Message>> Channel::Receive(std::size_t max_bytes, Time deadline) {
  for (;;) {
    auto message = TryReceive(max_bytes);
    if (!message || *message) return message;
    if (!Await(socket_.get(), POLLIN, deadline)) return std::optional<Message>();
  }
}

}  // namespace profd::reader
