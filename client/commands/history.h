// What profd keeps of the past.
#pragma once

#include "client/commands/options.h"
#include "client/grpc_client.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::commands {

// Its target says who and which time. kNotFound: there is nothing, and the hint says what there is.
[[nodiscard]] Result<v1::Profile> AskHistory(const HistoryQuestion& question,
                                             client::GrpcClient& client);

}  // namespace profd::commands
