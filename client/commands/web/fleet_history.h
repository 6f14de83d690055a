// FleetHistory: a fleet in the place of the history, for the page.
#pragma once

#include <memory>
#include <mutex>

#include "client/cli/fleet_options.h"
#include "client/cli/history_options.h"
#include "client/commands/common/context.h"
#include "client/fleet/fleet_database.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"
#include "profd/v1/status.pb.h"

namespace profd::client {

// Answers questions about the history from the tables of a fleet, of one service. Of the filters of
// a page it knows programs, which are versions here ("cart 1.4.2"), units, containers, executables
// and threads. Used from any thread; questions wait for each other.
class FleetHistory {
 public:
  // Reads the password. HttpClient::PrepareProcess was called.
  [[nodiscard]] static Result<std::unique_ptr<FleetHistory>> Open(const FleetRequest& request,
                                                                  const Context& context);

  // kNotFound: there is nothing.
  [[nodiscard]] Result<v1::Profile> Ask(const HistoryQuestion& question);
  // Only what it says of the history.
  [[nodiscard]] Result<v1::StatusResponse> Status();

 private:
  FleetHistory(FleetQuestion question, FleetDatabase::Options options);

  const FleetQuestion question_;
  std::mutex mutex_;
  FleetDatabase database_;  // with mutex_
};

}  // namespace profd::client
