// What profd keeps of the past.
#pragma once

#include "client/cli/history_options.h"
#include "client/link/grpc_client.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Its target says who and which time. kNotFound: there is nothing, and the hint says what there is.
[[nodiscard]] Result<v1::Profile> AskHistory(const HistoryQuestion& question, GrpcClient& client);

}  // namespace profd::client
