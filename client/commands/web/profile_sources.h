// ProfileSources: the profiles that a page may show: files, the history, what runs now.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/history_options.h"
#include "client/commands/web/fleet_history.h"
#include "client/link/grpc_client.h"
#include "client/system/console.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

using ProfileRef = std::shared_ptr<const v1::Profile>;

// A session that has ended, by the number under which its profile is kept.
struct LiveProfile {
  std::uint64_t number = 0;
  ProfileRef profile;
};

// Reads files from the start on, on a thread of its own, and keeps them. Keeps the last few
// sessions and answers of the history, so that what a page shows can be downloaded and compared.
// Used from any thread.
class ProfileSources {
 public:
  static constexpr std::size_t kKept = 6;  // sessions; and as many answers

  // `client` and `fleet` may be null: with neither there are files only. With a fleet that is the
  // history. They and `console` must outlive this.
  ProfileSources(std::vector<std::string> files, GrpcClient* client, FleetHistory* fleet,
                 Console& console);
  // Gives up sessions that run.
  ~ProfileSources();
  ProfileSources(const ProfileSources&) = delete;
  ProfileSources& operator=(const ProfileSources&) = delete;

  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] bool has_history() const { return client_ != nullptr || fleet_ != nullptr; }
  [[nodiscard]] bool has_daemon() const { return client_ != nullptr; }
  // kUnavailable: no profd.
  [[nodiscard]] Result<v1::StatusResponse> Status() const;

  // Waits until it is read. kInvalidArgument: no such file.
  [[nodiscard]] Result<ProfileRef> File(std::size_t index);
  [[nodiscard]] Result<ProfileRef> History(const HistoryQuestion& question);
  // The same, of what is not looked at twice: it is not kept.
  [[nodiscard]] Result<v1::Profile> Ask(const HistoryQuestion& question) const;
  // Runs a session, as long as it says.
  [[nodiscard]] Result<LiveProfile> Collect(const v1::CollectRequest& request);
  // kNotFound: it is not kept any more.
  [[nodiscard]] Result<ProfileRef> Live(std::uint64_t number);
  // Sessions that run end soon, without a profile, and no more begin.
  void Stop() { stopping_ = true; }

 private:
  struct FileSlot {
    std::once_flag read;
    std::optional<Result<ProfileRef>> profile;
  };
  struct Answer {
    std::string request;  // serialized
    ProfileRef profile;
  };

  [[nodiscard]] Result<GrpcClient*> Client() const;
  const Result<ProfileRef>& ReadOnce(std::size_t index);

  const std::vector<std::string> files_;
  GrpcClient* const client_;
  FleetHistory* const fleet_;
  Console& console_;
  std::deque<FileSlot> slots_;  // by file
  std::mutex mutex_;
  std::deque<LiveProfile> sessions_;  // the last ones; with mutex_
  std::deque<Answer> answers_;        // the same
  std::uint64_t next_number_ = 1;     // the same
  std::atomic<bool> stopping_ = false;
  std::jthread reader_;  // last: it uses the others
};

}  // namespace profd::client
