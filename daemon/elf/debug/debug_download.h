// DebugDownload: debug files from debuginfod servers, for later.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/lru_cache.h"
#include "daemon/budget/share/shares.h"

namespace profd::elf {

// A thread of its own requests each build id from the servers that DEBUGINFOD_URLS names, and keeps
// the paths of the files that libdebuginfod puts into its cache. No caller waits: Ask returns what
// is there, and improvements() grows when there is more.
//
// Build ids come from files of users, and anybody can make them up. So each user has a share of the
// requests, those of all users are served in turn, and what is known is forgotten for each user by
// itself: the ids of one user neither hold up nor displace those of others. Any thread. Owned by
// ObjectClient.
class DebugDownload {
 public:
  // Build ids of one user.
  static constexpr budget::Shares::Rate kShareOfUser{2, 2'000};
  static constexpr std::size_t kMaxKnown = 4'096;  // of one user
  static constexpr std::size_t kMaxUsers = 64;

  // DEBUGINFOD_URLS names one; set to nothing, it does not.
  [[nodiscard]] static bool HasServers();

  struct Answer {
    std::string path;  // of the debug file; "" when it is not there
    std::string why;   // then: "being requested", or the answer of the servers
  };
  // What a thread gets files with.
  class Servers {
   public:
    virtual ~Servers() = default;
    [[nodiscard]] virtual Answer Get(const std::string& build_id) = 0;
  };
  // Makes it in the thread; null: there are none. It calls `goes_on` at least once a second, and
  // ends when that is false.
  using MakeServers = std::function<std::unique_ptr<Servers>(std::function<bool()> goes_on)>;
  [[nodiscard]] static std::unique_ptr<Servers> ByLibrary(std::function<bool()> goes_on);

  // `shares`, of kShareOfUser, outlive this.
  explicit DebugDownload(budget::Shares& shares, MakeServers make = ByLibrary);
  DebugDownload(const DebugDownload&) = delete;
  DebugDownload& operator=(const DebugDownload&) = delete;
  // Cancels the download under way.
  ~DebugDownload();

  // `build_id` in hexadecimal. `user` has a file of it.
  [[nodiscard]] Answer Ask(const std::string& build_id, std::uint32_t user);
  [[nodiscard]] std::uint64_t improvements() const { return improvements_.value(); }
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  struct User {
    LruCache<std::string, Answer> known{kMaxKnown};
    std::deque<std::string> queue;
    std::uint64_t used = 0;  // the greatest was used last
  };
  struct Request {
    std::uint32_t user = 0;
    std::string build_id;
  };

  void Serve(const std::stop_token& stop);
  [[nodiscard]] User& Of(std::uint32_t user);
  // Of the user whose turn it is. With the lock held; a request must be there.
  [[nodiscard]] Request TakeNext();

  static constexpr std::chrono::seconds kSilence{120};  // of a server, or of name resolution

  budget::Shares& shares_;
  const MakeServers make_;
  Counter improvements_;
  Heartbeat beat_{"debug downloads", Heartbeat::NeededFor::kExtras, kSilence};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::uint32_t, User> users_;
  // Found for any user: servers vouch for these.
  LruCache<std::string, std::string> files_{kMaxKnown};
  std::uint64_t uses_ = 0;
  std::size_t queued_ = 0;
  std::uint32_t served_ = 0;  // the user who was served last
  std::jthread server_;
};

}  // namespace profd::elf
