// Zygote: the process that all reader processes are made from, and how the daemon asks it for one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/reader/channel.h"
#include "daemon/reader/opener.h"
#include "daemon/reader/sandbox.h"

namespace profd::reader {

// What a parser can use while it answers one request.
struct ParserContext {
  FileOpener& opener;
  std::vector<UniqueFd>& descriptors;  // that came with the request
};

// Answers requests, one at a time; each parser makes its own, so it may keep state: files that are
// open, caches.
class Parser {
 public:
  virtual ~Parser() = default;
  [[nodiscard]] virtual Result<std::string> Answer(std::string_view request,
                                                   ParserContext context) = 0;
};

// Kinds of the messages that a parser sends.
inline constexpr std::uint32_t kAnswer = 1;
inline constexpr std::uint32_t kErrorAnswer = 2;  // its code and its message

// One kind of reader. `name` is that of its processes, at most 15 bytes. `make` runs before the
// process drops its rights: there a parser opens what is the kernel's or profd's own.
struct Role {
  std::string name;
  Limits limits;
  std::function<std::unique_ptr<Parser>()> make;
  // It is its own opener, in the opener's sandbox: for parsers that only copy what they read.
  bool opens = false;
};

// A reader: a parser, without rights, and its opener, or both in one. Move-only; ending it kills
// them. Used by one thread at a time.
class ReaderProcess {
 public:
  ReaderProcess() = default;
  ReaderProcess(ReaderProcess&&) noexcept = default;
  ReaderProcess& operator=(ReaderProcess&&) noexcept = default;
  ~ReaderProcess() { Kill(); }

  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] pid_t pid() const { return pids_.empty() ? 0 : pids_.front(); }
  void Kill();
  // After Kill: whether all have ended. False for long: one waits in the kernel, where no signal
  // reaches it.
  [[nodiscard]] bool HasEnded() const;
  // Neither has.
  [[nodiscard]] bool IsWhole() const;
  // Memory of both without pages of files, in bytes. Of a page that several processes have, as all
  // readers have those of the zygote, its part. Takes the kernel 0.2 ms and more: it looks at each
  // page.
  [[nodiscard]] std::uint64_t PrivateBytes() const;
  // The same, but with such pages whole; some microseconds.
  [[nodiscard]] std::uint64_t PrivateBytesAtMost() const;

 private:
  friend class Zygote;
  Channel channel_;
  std::vector<pid_t> pids_;        // parser; opener
  std::vector<UniqueFd> handles_;  // pidfds of the same
};

// Job: forks itself before the daemon has a thread, a file or much memory, and makes readers later
// from that small process. Thread: any. Owner: main(). It does not watch readers: ReaderPool does.
//
//   daemon ---- zygote          the zygote forks both, and hands the daemon its end
//     |
//   parser ---- opener
//
// Readers end when their channel to the daemon is closed, and are killed when the zygote ends,
// which ends with the daemon.
class Zygote {
 public:
  // Call it while the process has one thread. A reader's role is its index in `roles`.
  [[nodiscard]] static Result<std::unique_ptr<Zygote>> Start(std::vector<Role> roles);
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;
  ~Zygote() = default;

  // Takes about 1 ms. kUnavailable: the zygote has ended; no more readers can be made.
  [[nodiscard]] Result<ReaderProcess> Make(std::uint32_t role);
  // How a reader has ended: "signal 11 (Segmentation fault)"; empty if that is not known.
  [[nodiscard]] std::string HowItEnded(const ReaderProcess& reader);
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Why no reader can be made any more: "has ended", "has not answered for 31 s"; "": one can.
  [[nodiscard]] std::string Trouble() const;

 private:
  Zygote(pid_t pid, UniqueFd handle, Channel channel)
      : pid_(pid), handle_(std::move(handle)), channel_(std::move(channel)) {}

  using Time = Channel::Time;

  // The answer, or why there is none until the deadline. With the lock held.
  [[nodiscard]] Result<Message> Ask(std::uint32_t kind, std::uint32_t number, Time deadline);

  const pid_t pid_;
  const UniqueFd handle_;  // pidfd
  mutable std::mutex mutex_;
  Channel channel_;
  std::uint64_t asked_ = 0;  // requests so far
  std::optional<Time>
      late_since_;  // the first request that was not answered, since the last answer
};

}  // namespace profd::reader
