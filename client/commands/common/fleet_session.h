// FleetSession: one command's questions to a fleet, with its signals, its progress and its words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/fleet_options.h"
#include "client/commands/common/context.h"
#include "client/fleet/fleet_answers.h"
#include "client/fleet/fleet_database.h"
#include "client/system/stop_signals.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Made by the main thread before it starts others, and used by it. A signal ends the question that
// runs, which is then kUnavailable without a message.
class FleetSession {
 public:
  // `tls`: files that are named for the server; those of the environment count, too.
  [[nodiscard]] static Result<std::unique_ptr<FleetSession>> Open(const FleetRequest& request,
                                                                  const Context& context,
                                                                  const TlsFiles& tls);
  // With those of the command line.
  [[nodiscard]] static Result<std::unique_ptr<FleetSession>> Open(const FleetRequest& request,
                                                                  const Context& context) {
    return Open(request, context, context.global.host.tls);
  }
  FleetSession(const FleetSession&) = delete;
  FleetSession& operator=(const FleetSession&) = delete;
  ~FleetSession() = default;

  // The question of the command line, with the hosts of --host.
  [[nodiscard]] const FleetQuestion& question() const { return question_; }
  [[nodiscard]] std::uint64_t now_s() const { return now_s_; }
  [[nodiscard]] FleetDatabase& database() { return *database_; }

  // Says what of it hosts have not delivered. The profile has a name, and its range.
  [[nodiscard]] Result<v1::Profile> Ask(const FleetQuestion& question);
  void Say(const Coverage& coverage);
  // Of the last answer: of how much of the blocked time the waker is known; "": of none.
  [[nodiscard]] const std::string& wakers() const { return wakers_; }

  // Of an error: has said it, and removed temporary files where a signal ended the command.
  [[nodiscard]] int ExitCodeOfError(const Error& error) const;

 private:
  FleetSession(const FleetRequest& request, const Context& context);
  [[nodiscard]] bool IsCancelled();

  const Context& context_;
  FleetQuestion question_;
  std::string wakers_;
  std::uint64_t now_s_ = 0;
  std::atomic<int> signal_ = 0;
  std::uint64_t began_ns_ = 0;  // of the question that runs
  std::unique_ptr<StopSignals> signals_;
  std::unique_ptr<FleetDatabase> database_;
};

// "2026-11-20 14:05:10 - 15:05:10" of the time that a profile of a fleet covers.
[[nodiscard]] std::string CoveredRange(const v1::Profile& profile);
// "web-1,db-*": what --host means of a fleet.
[[nodiscard]] std::vector<std::string> HostsOf(const std::string& text);
// Fleets are for one service here: an error where none is named.
[[nodiscard]] Result<void> CheckService(const FleetQuestion& question);

}  // namespace profd::client
