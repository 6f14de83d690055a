#include "daemon/settings.h"

#include <algorithm>
#include <numeric>

#include "daemon/base/tcp_address.h"
#include "daemon/metrics/loopback_address.h"
#include "daemon/rpc/listen_address.h"
#include "daemon/rpc/server.h"
#include "daemon/setting_values.h"

namespace profd {
namespace {

Result<void> CheckListen(const std::string& text) {
  const auto path = rpc::ParseSocketAddress(text);
  return path ? Result<void>{} : path.error();
}

Result<void> CheckPublicSocket(const std::string& text) {
  if (text == "on" || text == "off") return {};
  return CheckListen(text);
}

Result<void> CheckTlsListen(const std::string& text) {
  if (text.empty()) return {};
  const auto address = ParseTcpAddress(text);
  return address ? Result<void>{} : address.error();
}

Result<void> CheckMetricsListen(const std::string& text) {
  if (text.empty()) return {};
  const auto address = metrics::ParseLoopbackAddress(text);
  return address ? Result<void>{} : address.error();
}

std::string Spelled(std::string_view key, std::string_view prefix, char joint, bool upper) {
  std::string text(prefix);
  for (const char c : key) {
    const char lower = c == '.' || c == '_' ? joint : c;
    text += upper && lower >= 'a' && lower <= 'z' ? static_cast<char>(lower - 'a' + 'A') : lower;
  }
  return text;
}

// Letters to insert, remove or replace.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string_view LastPart(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = {
      {.key = "listen",
       .field = &Options::listen,
       .fallback = rpc::kDefaultAddress,
       .value = "ADDRESS",
       .help = "unix socket for root and the members of group profd, who see everything",
       .check = CheckListen},
      {.key = "public_socket",
       .field = &Options::public_socket,
       .fallback = "off",
       .value = "on|off|ADDRESS",
       .help = "unix socket at which every user sees their own processes; on is "
               "/run/profd/public.sock",
       .check = CheckPublicSocket},
      {.key = "log_level",
       .field = &Options::log_level,
       .fallback = "info",
       .value = "LEVEL",
       .help = "how much to say on standard error; with --private the default is warn",
       .choices = {"debug", "info", "warn", "error", "off"},
       .live = true},
      {.key = "hook",
       .field = &Options::hook,
       .fallback = "auto",
       .value = "NAME",
       .help = "only this way to see a thread come back to its CPU",
       .choices = {"auto", "sched_exit_tp", "kprobe", "switch-out"}},
      {.key = "debug_info",
       .field = &Options::debug_info,
       .fallback = "true",
       .value = "BOOL",
       .help = "inlined functions and source lines, where debug information is local"},
      {.key = "memory.cap",
       .field = &Options::memory_cap,
       .fallback = "256MiB",
       .value = "SIZE",
       .help = "give up caches and tables, and at last work, to stay below it",
       .least = "128MiB"},
      {.key = "clock.limit",
       .field = &Options::clock_limit_percent,
       .fallback = "5",
       .value = "PERCENT",
       .help = "what exact thread clocks may cost, of all CPUs; above it threads that only the "
               "history looks at go by the kernel's books; 0: no limit",
       .least = "0",
       .most = "100"},
      {.key = "history.directory",
       .field = &Options::history_directory,
       .fallback = "auto",
       .value = "DIR",
       .help =
           "keep a history of the whole host there, for profctl query; auto is $STATE_DIRECTORY, "
           "which systemd sets, or off"},
      {.key = "history.max_size",
       .field = &Options::history_max_size,
       .fallback = "1GiB",
       .value = "SIZE",
       .help = "forget the oldest of the history when it takes more",
       .least = "16MiB"},
      {.key = "history.max_age",
       .field = &Options::history_max_age,
       .fallback = "1w",
       .value = "TIME",
       .help = "forget what is older",
       .least = "1min"},
      {.key = "history.frequency",
       .field = &Options::history_frequency_hz,
       .fallback = "19",
       .value = "HZ",
       .help = "samples a second of each thread, on the CPU and off it, for the history",
       .least = "1",
       .most = "999"},
      {.key = "history.budget",
       .field = &Options::history_budget_percent,
       .fallback = "1",
       .value = "PERCENT",
       .help = "what its sampling may cost, of one CPU for every 8 of the host; 0: no limit",
       .least = "0",
       .most = "100"},
      {.key = "history.window",
       .field = &Options::history_window,
       .fallback = "10s",
       .value = "TIME",
       .help = "stretch of time that the history is told in",
       .least = "1s",
       .most = "1h"},
      {.key = "history.fold",
       .field = &Options::history_fold,
       .fallback = "1m",
       .value = "TIME",
       .help = "windows that are over become one of this length; 0s: they stay as they are",
       .least = "0s",
       .most = "1h"},
      {.key = "tls.listen",
       .field = &Options::tls_listen,
       .value = "ADDRESS",
       .help = "TCP address for clients with a certificate, such as 0.0.0.0:9898; they see "
               "everything",
       .check = CheckTlsListen},
      {.key = "tls.certificate",
       .field = &Options::tls_certificate,
       .value = "FILE",
       .help = "certificate of this profd, PEM; read again when it changes, as the next two are"},
      {.key = "tls.key",
       .field = &Options::tls_key,
       .value = "FILE",
       .help = "its key, PEM, without a passphrase"},
      {.key = "tls.client_ca",
       .field = &Options::tls_client_ca,
       .value = "FILE",
       .help = "certificates, PEM, of whoever signs those of clients"},
      {.key = "metrics.listen",
       .field = &Options::metrics_listen,
       .value = "ADDRESS",
       .help = "serve /metrics for Prometheus and /healthz there by HTTP, such as 127.0.0.1:9899; "
               "loopback only",
       .check = CheckMetricsListen},
  };
  return settings;
}

const Setting* FindSetting(std::string_view key) {
  for (const auto& setting : Settings())
    if (setting.key == key) return &setting;
  return nullptr;
}

std::string NearestKey(std::string_view key) {
  const Setting* nearest = nullptr;
  std::size_t least = 0;
  for (const auto& setting : Settings()) {
    // Also what stands in the wrong table.
    const std::size_t distance =
        std::min(Distance(setting.key, key), Distance(LastPart(setting.key), LastPart(key)) + 1);
    if (nearest != nullptr && distance >= least) continue;
    nearest = &setting;
    least = distance;
  }
  const bool near = nearest != nullptr && least <= std::max<std::size_t>(2, key.size() / 3);
  return near ? std::string(nearest->key) : "";
}

std::string FlagName(const Setting& setting) { return Spelled(setting.key, "--", '-', false); }

std::string EnvironmentName(const Setting& setting) {
  return Spelled(setting.key, "PROFD_", '_', true);
}

Result<void> CheckTogether(const Options& options) {
  if (options.tls_listen.empty()) return {};
  for (const auto& [text, key] : {std::pair{&options.tls_certificate, "tls.certificate"},
                                  {&options.tls_key, "tls.key"},
                                  {&options.tls_client_ca, "tls.client_ca"}})
    if (text->empty())
      return Error{ErrorCode::kInvalidArgument,
                   std::string("tls.listen is set and ") + key + " is not",
                   "TCP is served only to clients with a certificate: name all three files"};
  return {};
}

std::vector<SettingChange> Differences(const Options& before, const Options& after) {
  std::vector<SettingChange> changes;
  for (const auto& setting : Settings()) {
    SettingChange change{&setting, ValueText(setting, before), ValueText(setting, after)};
    if (change.from != change.to) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace profd
