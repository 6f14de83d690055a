#include "client/commands/common/history.h"

#include <string>

#include "client/cli/time_values.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

// What the history has, for who requested something else.
std::string Extent(GrpcClient& client) {
  const auto status = client.Status();
  if (!status || !status->has_history()) return "profctl status says what there is";
  const v1::HistoryStatus& history = status->history();
  if (history.windows() == 0)
    return "nothing is kept yet: the first window ends " + FormatDuration(history.window_ns()) +
           " after profd's start";
  return "the history has " + FormatRange(history.first_unix_ns(), history.last_unix_ns()) + " (" +
         FormatSpan(history.last_unix_ns() - history.first_unix_ns()) + ")";
}

}  // namespace

Result<v1::Profile> AskHistory(const HistoryQuestion& question, GrpcClient& client) {
  Result<v1::Profile> profile = client.Query(question.request);
  if (!profile) {
    if (profile.error().code != ErrorCode::kNotFound) return profile.error();
    return Error{ErrorCode::kNotFound, "no data: nothing is kept of " + question.range,
                 Extent(client)};
  }
  const std::uint64_t end_unix_ns =
      profile->start_unix_ns() + (profile->end_ns() - profile->start_ns());
  const std::string covered = FormatRange(profile->start_unix_ns(), end_unix_ns);
  if (profile->threads_size() == 0)
    return Error{ErrorCode::kNotFound, "no data: no thread of " + question.who + " in " + covered,
                 "profctl list shows who there was"};
  profile->set_target(question.who + ", " + covered);
  return profile;
}

}  // namespace profd::client
