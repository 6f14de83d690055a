#include "client/link/daemon_choice.h"

#include <linux/capability.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace profd::client {
namespace {

// Of the host's profd: where its socket is not for us, the one for everybody, if there is one.
std::string HostAddress() {
  const auto probe = ProbeUnixSocket(UnixSocketPath(kDefaultAddress));
  const bool refused = !probe && probe.error().code == ErrorCode::kPermissionDenied;
  return refused && ProbeUnixSocket(UnixSocketPath(kPublicAddress)) ? kPublicAddress
                                                                    : kDefaultAddress;
}

Result<std::uint64_t> EffectiveCapabilities(const ProcFs& proc) {
  const Result<std::string> status = proc.Read("self/status");
  if (!status) return status.error();
  constexpr std::string_view kKey = "\nCapEff:\t";
  const std::size_t at = status->find(kKey);
  std::uint64_t mask = 0;
  if (at != std::string::npos) {
    const char* begin = status->data() + at + kKey.size();
    if (std::from_chars(begin, status->data() + status->size(), mask, 16).ec == std::errc{})
      return mask;
  }
  return Error{ErrorCode::kCorrupt, proc.Path("self/status") + " names no capabilities", ""};
}

Result<void> CheckRights() {
  const Result<std::vector<std::string>> missing = MissingCapabilities(ProcFs());
  if (!missing) return missing.error();
  if (missing->empty()) return {};
  std::string names;
  for (const std::string& name : *missing) names += (names.empty() ? "" : ", ") + name;
  return Error{
      ErrorCode::kPermissionDenied,
      "no profd is running, and a private one needs root or rights that are missing: " + names,
      "use sudo, or start profd: systemctl start profd"};
}

}  // namespace

TlsFiles ExplicitTlsFiles(const TlsFiles& named) {
  const auto either = [](const std::string& file, const char* variable) {
    const char* environment = file.empty() ? std::getenv(variable) : nullptr;
    return environment != nullptr ? std::string(environment) : file;
  };
  return {.ca = either(named.ca, "PROFD_TLS_CA"),
          .certificate = either(named.certificate, "PROFD_TLS_CERT"),
          .key = either(named.key, "PROFD_TLS_KEY")};
}

Result<std::string> ExplicitAddress(const std::string& host) {
  std::string address = host;
  if (address.empty()) {
    const char* environment = std::getenv("PROFD_HOST");
    if (environment != nullptr) address = environment;
  }
  if (address.empty()) return address;
  if (address.starts_with('/')) return "unix:" + address;
  const std::size_t scheme = address.starts_with(kTlsScheme) ? kTlsScheme.size() : 0;
  if (address.find(':', scheme) == std::string::npos)
    return Error{ErrorCode::kInvalidArgument, "the host '" + address + "' has no port",
                 "write host:port, tls://host:port, or unix:///path/of/a/socket"};
  return address;
}

Result<std::unique_ptr<GrpcClient>> ConnectToRunning(const Host& host) {
  const Result<std::string> address = ExplicitAddress(host.address);
  if (!address) return address.error();
  const bool tls = address->starts_with(kTlsScheme);
  if (!tls && !(host.tls.ca + host.tls.certificate + host.tls.key).empty())
    return Error{ErrorCode::kInvalidArgument, "TLS files are named, but no address for TLS",
                 "write --host tls://HOST:PORT"};
  if (!address->empty()) return GrpcClient::Connect(*address, ExplicitTlsFiles(host.tls));
  const std::string host_address = HostAddress();
  const std::string path = UnixSocketPath(host_address);
  const Result<void> probe = ProbeUnixSocket(path);
  if (!probe && probe.error().code == ErrorCode::kUnavailable)
    return Error{ErrorCode::kUnavailable, "no profd is running: no process answers at " + path,
                 "start it: systemctl start profd, or name another with --host"};
  return GrpcClient::Connect(host_address);
}

Result<bool> NeedsPrivateDaemon(const Host& host) {
  const Result<std::string> address = ExplicitAddress(host.address);
  if (!address) return address.error();
  if (!address->empty()) return false;
  const Result<void> probe = ProbeUnixSocket(UnixSocketPath(HostAddress()));
  if (probe) return false;
  if (probe.error().code != ErrorCode::kUnavailable) return probe.error();
  return true;
}

Result<DaemonConnection> ConnectToPrivate(const sigset_t& signal_mask, Console& console,
                                          TempFiles& temp_files) {
  PROFD_TRY(CheckRights());
  const Result<std::string> program = FindDaemonProgram();
  if (!program) return program.error();
  console.Say("no profd is running: using a private one for this command");
  console.Explain("it is " + *program);
  DaemonConnection connection;
  Result<std::unique_ptr<PrivateDaemon>> daemon =
      PrivateDaemon::Start(*program, signal_mask, console, temp_files);
  if (!daemon) return daemon.error();
  connection.private_daemon = std::move(*daemon);
  Result<std::unique_ptr<GrpcClient>> client =
      GrpcClient::Connect(connection.private_daemon->address());
  if (!client) return client.error();
  connection.client = std::move(*client);
  connection.private_daemon->RemoveDirectory();
  return connection;
}

Result<std::vector<std::string>> MissingCapabilities(const ProcFs& proc) {
  const Result<std::uint64_t> effective = EffectiveCapabilities(proc);
  if (!effective) return effective.error();
  const auto has = [&](int capability) { return ((*effective >> capability) & 1) != 0; };
  std::vector<std::string> missing;
  // CAP_SYS_ADMIN holds the two that were once taken out of it.
  if (!has(CAP_BPF) && !has(CAP_SYS_ADMIN)) missing.emplace_back("CAP_BPF");
  if (!has(CAP_PERFMON) && !has(CAP_SYS_ADMIN)) missing.emplace_back("CAP_PERFMON");
  return missing;
}

}  // namespace profd::client
