// OpenConnections: the connections of a listener, and which of them gives way to a new one.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/server/grpc/auth/refusal_log.h"

namespace profd::server {

// A connection belongs to an owner: first to what the listener knows, such as an address; from its
// first call on to the client that makes it. An owner has a share of the connections, and all
// owners together have a maximum. A connection beyond them takes the place of another one: of those
// that have made no call, or else of those without a running call, the longest idle one of the
// owner who has the most. So no client keeps others out, and no running call ends.
//
// gRPC owns the descriptors, and does not say when it closes them. This has duplicates, to see
// connections end and to close them. Begin, CloseIfFull and the ends of calls may come from any
// thread; the other methods are for the thread of the listener.
class OpenConnections {
 public:
  // `refusals` must outlive this.
  OpenConnections(std::size_t most, RefusalLog& refusals) : most_(most), refusals_(refusals) {}

  struct Connection {
    std::string name;   // gRPC's: ServerContext::peer(); used again when the connection has ended
    std::string owner;  // for the log, too
    std::size_t share = 0;         // of the owner
    const void* server = nullptr;  // the gRPC server that has it
  };
  // False: all connections, or all of the owner, have running calls. The new one is refused.
  [[nodiscard]] bool Add(Connection connection, UniqueFd duplicate);

  // One running call. The connections must outlive it.
  class Call {
   public:
    Call(OpenConnections& all, std::string name, std::uint64_t id)
        : all_(&all), name_(std::move(name)), id_(id) {}
    Call(Call&& other) noexcept
        : all_(std::exchange(other.all_, nullptr)), name_(std::move(other.name_)), id_(other.id_) {}
    Call& operator=(Call&&) = delete;
    ~Call() {
      if (all_ != nullptr) all_->End(name_, id_);
    }

   private:
    OpenConnections* all_;
    std::string name_;
    std::uint64_t id_;
  };
  // From now on the connection belongs to `owner`. It is closed if it is beyond the share and all
  // others of the owner have running calls.
  [[nodiscard]] Call Begin(const std::string& name, const std::string& owner, std::size_t share);

  // For a connection whose client does not take what it has been sent: nothing else ends gRPC's
  // write.
  void CloseIfFull(const std::string& name);

  // For poll(), to wake up when a connection ends.
  void AddTo(std::vector<pollfd>& polled) const;
  // Removes the connections that have ended. Returns the names of those that have ended by
  // themselves without a call.
  std::vector<std::string> RemoveEnded();
  // Removes those of a server that ends.
  void Remove(const void* server);

  struct Use {
    std::size_t connections = 0;
    std::size_t running_calls = 0;
  };
  [[nodiscard]] Use UseOf(const void* server) const;

 private:
  struct Entry {
    Connection connection;
    UniqueFd fd;
    std::uint64_t id = 0;        // of this use of the name
    std::uint64_t last_use = 0;  // counts up
    std::size_t running = 0;
    bool called = false;
    bool closing = false;  // is shut down, and no longer counts
  };
  using Entries = std::map<std::string, Entry>;  // by name

  void End(const std::string& name, std::uint64_t id);
  // The following need the mutex.
  [[nodiscard]] bool HasRoomFor(Entry& added);
  // Null: there is none. `owner` empty: of the owner who has the most of them.
  template <typename MayGo>
  [[nodiscard]] Entry* LongestIdle(const Entry& added, std::string owner, const MayGo& may_go);
  void CloseFor(Entry& entry, const std::string& why);
  static void Close(Entry& entry);

  const std::size_t most_;
  RefusalLog& refusals_;
  mutable std::mutex mutex_;
  std::uint64_t uses_ = 0;
  Entries entries_;
};

}  // namespace profd::server
