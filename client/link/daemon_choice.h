// DaemonChoice: which profd a command speaks to.
#pragma once

#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "client/link/grpc_client.h"
#include "client/link/host.h"
#include "client/link/private_daemon.h"
#include "client/system/console.h"
#include "client/system/temp_files.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"

namespace profd::client {

inline constexpr const char* kDefaultAddress = "unix:///run/profd/profd.sock";
// For users who are not let in there; they see their own processes.
inline constexpr const char* kPublicAddress = "unix:///run/profd/public.sock";

// A connection, and the daemon behind it if it is ours. The connection goes first.
struct DaemonConnection {
  std::unique_ptr<PrivateDaemon> private_daemon;
  std::unique_ptr<GrpcClient> client;
};

// The files of the command line, else of PROFD_TLS_CA, PROFD_TLS_CERT and PROFD_TLS_KEY.
[[nodiscard]] TlsFiles ExplicitTlsFiles(const TlsFiles& named);

// The address of --host, else of PROFD_HOST; empty when there is neither. A bare path is a unix
// socket; a TCP address needs its port, and "tls://" in front for TLS.
[[nodiscard]] Result<std::string> ExplicitAddress(const std::string& host);

// To the explicit address, else to the default one, and to no other.
[[nodiscard]] Result<std::unique_ptr<GrpcClient>> ConnectToRunning(const Host& host);

// True if the default address is used and no process answers there: a private profd is needed. An
// error if a process may be there but refuses the connection.
[[nodiscard]] Result<bool> NeedsPrivateDaemon(const Host& host);

// Starts a private profd and connects to it.
[[nodiscard]] Result<DaemonConnection> ConnectToPrivate(const sigset_t& signal_mask,
                                                        Console& console, TempFiles& temp_files);

// The capabilities that profd needs and this process does not have.
[[nodiscard]] Result<std::vector<std::string>> MissingCapabilities(const ProcFs& proc);

}  // namespace profd::client
