#include "daemon/config/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "daemon/base/duration.h"
#include "daemon/server/grpc/auth/roles.h"
#include "daemon/server/grpc/transport/server.h"
#include "daemon/server/grpc/transport/unix_listener.h"
#include "daemon/server/tcp_address.h"
#include "daemon/source/probe/hook_levels.h"

namespace profd::config {
namespace {

std::vector<std::string_view> HookChoices() {
  std::vector<std::string_view> choices{"auto"};
  choices.reserve(1 + source::kHookKinds.size());
  for (const source::HookKind& kind : source::kHookKinds) choices.push_back(kind.option);
  return choices;
}

Result<void> CheckListen(const std::string& text) {
  const auto path = server::ParseSocketAddress(text);
  return path ? Result<void>{} : path.error();
}

Result<void> CheckContainerSockets(const std::string& text) {
  if (text == "auto" || text == "off") return {};
  const auto paths = ListOf(text);
  const bool good = !paths.empty() && std::ranges::all_of(paths, [](const std::string& path) {
    return path.starts_with('/');
  });
  if (good) return {};
  return Error{ErrorCode::kInvalidArgument,
               "must be auto, off, or absolute paths with commas between them", ""};
}

Result<void> CheckPublicSocket(const std::string& text) {
  if (text == "on" || text == "off") return {};
  return CheckListen(text);
}

Result<void> CheckTlsListen(const std::string& text) {
  if (text.empty()) return {};
  const auto address = server::ParseTcpAddress(text);
  return address ? Result<void>{} : address.error();
}

Result<void> CheckRole(const std::string& text) {
  const auto roles = server::Roles::Parse(text, "");
  return roles ? Result<void>{} : roles.error();
}

Result<void> CheckMetricsListen(const std::string& text) {
  if (text.empty()) return {};
  const auto address = server::ParseLoopbackAddress(text);
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

// Edit distance: how many letters to insert, remove or replace.
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

using std::chrono::nanoseconds;

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

// From small to large. Of several names of one size the first one is written.
constexpr std::array<Unit, 13> kBytes = {{{"B", 1},
                                          {"kB", 1'000},
                                          {"KiB", 1ull << 10},
                                          {"K", 1ull << 10},
                                          {"MB", 1'000'000},
                                          {"MiB", 1ull << 20},
                                          {"M", 1ull << 20},
                                          {"GB", 1'000'000'000},
                                          {"GiB", 1ull << 30},
                                          {"G", 1ull << 30},
                                          {"TB", 1'000'000'000'000},
                                          {"TiB", 1ull << 40},
                                          {"T", 1ull << 40}}};

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return {};
  return number;
}

std::string BytesText(std::uint64_t amount) {
  Unit best = kBytes.front();
  for (const auto& unit : kBytes)
    if (amount != 0 && amount % unit.size == 0 && unit.size > best.size) best = unit;
  return std::to_string(amount / best.size) + std::string(best.name);
}

std::string NumberText(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

std::optional<bool> ParseSwitch(std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return {};
}

// One overload for each kind of field. None: the text is not a value of that kind.
std::optional<bool> Parse(std::string_view text, bool) { return ParseSwitch(text); }
std::optional<std::string> Parse(std::string_view text, const std::string&) {
  return std::string(text);
}
std::optional<std::uint64_t> Parse(std::string_view text, std::uint64_t) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}
std::optional<double> Parse(std::string_view text, double) { return ParseNumber(text); }
std::optional<nanoseconds> Parse(std::string_view text, nanoseconds) {
  const auto ns = ParseDuration(text);
  if (!ns) return {};
  return nanoseconds(*ns);
}
std::optional<Bytes> Parse(std::string_view text, Bytes) { return ParseBytes(text); }

std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(const std::string& value) { return value; }
std::string Text(std::uint64_t value) { return std::to_string(value); }
std::string Text(double value) { return NumberText(value); }
std::string Text(nanoseconds value) {
  return DurationText(static_cast<std::uint64_t>(value.count()));
}
std::string Text(Bytes value) { return BytesText(value.count); }

std::string Kind(bool) { return "true or false"; }
std::string Kind(const std::string&) { return "a string"; }
std::string Kind(std::uint64_t) { return "a whole number"; }
std::string Kind(double) { return "a number"; }
std::string Kind(nanoseconds) { return "a duration such as " + DurationForms(); }
std::string Kind(Bytes) { return "a size such as 500MB or 1GiB"; }

template <typename Value>
bool Less(const Value& a, const Value& b) {
  if constexpr (std::is_same_v<Value, Bytes>)
    return a.count < b.count;
  else
    return a < b;
}

template <typename Value>
bool InRange(const Setting& setting, const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    bool known = setting.choices.empty();
    for (const auto choice : setting.choices) known = known || choice == value;
    return known;
  } else {
    const auto least = Parse(setting.least, Value{});
    const auto most = Parse(setting.most, Value{});
    return !(least && Less(value, *least)) && !(most && Less(*most, value));
  }
}

Error Wrong(const Setting& setting, std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          "is '" + std::string(text) + "'; it must be " + Expected(setting), ""};
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = {
      {.key = "listen",
       .field = &Options::listen,
       .fallback = server::kDefaultAddress,
       .value = "ADDRESS",
       .help = "unix socket for root and members of the group profd, who see every process",
       .check = CheckListen},
      {.key = "public_socket",
       .field = &Options::public_socket,
       .fallback = "off",
       .value = "on|off|ADDRESS",
       .help = "unix socket on which users see only their own processes; on means "
               "/run/profd/public.sock",
       .check = CheckPublicSocket},
      {.key = "log_level",
       .field = &Options::log_level,
       .fallback = "info",
       .value = "LEVEL",
       .help = "lowest level of messages on standard error; with --private the default is warn",
       .choices = {"debug", "info", "warn", "error", "off"},
       .live = true},
      {.key = "host_name",
       .field = &Options::host_name,
       .fallback = "auto",
       .value = "NAME",
       .help = "name of this host in profiles, in the history and at receivers of exports; auto is "
               "the kernel's, which in a pod is the pod's"},
      {.key = "hook",
       .field = &Options::hook,
       .fallback = "auto",
       .value = "NAME",
       .help = "the only hook to use for seeing a thread return to a CPU; auto picks the best that "
               "works",
       .choices = HookChoices()},
      {.key = "debug_info",
       .field = &Options::debug_info,
       .fallback = "true",
       .value = "BOOL",
       .help = "inlined functions and source lines from local debug information"},
      {.key = "memory.cap",
       .field = &Options::memory_cap,
       .fallback = "256MiB",
       .value = "SIZE",
       .help = "limit of memory; to stay below it profd frees caches and unwind tables, and drops "
               "samples as a last resort",
       .least = "128MiB"},
      {.key = "clock.limit",
       .field = &Options::clock_limit_percent,
       .fallback = "5",
       .value = "PERCENT",
       .help = "limit of what exact thread clocks cost, in percent of all CPUs; while they would "
               "cost more, sessions begin in snapshot mode; 0: no limit",
       .least = "0",
       .most = "100"},
      {.key = "history.directory",
       .field = &Options::history_directory,
       .fallback = "auto",
       .value = "DIR",
       .help = "folder of the history of the whole host, for profctl query; auto is "
               "$STATE_DIRECTORY, which systemd sets; off keeps no history"},
      {.key = "history.max_size",
       .field = &Options::history_max_size,
       .fallback = "1GiB",
       .value = "SIZE",
       .help = "drop the oldest windows when the history takes more space than this",
       .least = "16MiB"},
      {.key = "history.max_age",
       .field = &Options::history_max_age,
       .fallback = "1w",
       .value = "TIME",
       .help = "drop windows that are older than this",
       .least = "1min"},
      {.key = "history.mode",
       .field = &Options::history_mode,
       .fallback = "snapshot",
       .value = "NAME",
       .help = "how the history sees waits: snapshot visits threads and costs nothing at a context "
               "switch; hooks measures every wait exactly",
       .choices = {"snapshot", "hooks"}},
      {.key = "history.wakers",
       .field = &Options::history_wakers,
       .fallback = "auto",
       .value = "NAME",
       .help = "whether the history keeps on whom threads wait: auto does in hook mode, on needs "
               "that mode, as snapshot mode does not see who ends a wait",
       .choices = {"auto", "on", "off"}},
      {.key = "history.frequency",
       .field = &Options::history_frequency_hz,
       .fallback = "19",
       .value = "HZ",
       .help = "samples per second of each thread, on the CPU and off it, for the history",
       .least = "1",
       .most = "999"},
      {.key = "history.budget",
       .field = &Options::history_budget_percent,
       .fallback = "1",
       .value = "PERCENT",
       .help = "limit of what sampling for the history costs, in percent of one CPU for every 8 of "
               "the host; 0: no limit",
       .least = "0",
       .most = "100"},
      {.key = "history.window",
       .field = &Options::history_window,
       .fallback = "10s",
       .value = "TIME",
       .help = "length of one window of the history",
       .least = "1s",
       .most = "1h"},
      {.key = "history.compact",
       .field = &Options::history_compact,
       .fallback = "1m",
       .value = "TIME",
       .help = "merge finished windows into windows of this length; 0s: keep them as they are",
       .least = "0s",
       .most = "1h"},
      {.key = "cache.directory",
       .field = &Options::cache_directory,
       .fallback = "auto",
       .value = "DIR",
       .help = "folder in which profd keeps what it has read of programs and libraries, for its "
               "next start; auto is $CACHE_DIRECTORY, which systemd sets, else /var/cache/profd "
               "for root; off keeps nothing"},
      {.key = "cache.max_size",
       .field = &Options::cache_max_size,
       .fallback = "64MiB",
       .value = "SIZE",
       .help = "what was not used for the longest time leaves that folder above this size",
       .least = "16MiB"},
      {.key = "containers.sockets",
       .field = &Options::containers_sockets,
       .fallback = "auto",
       .value = "PATHS",
       .help = "CRI sockets of container runtimes, with commas between them, from which names of "
               "pods and images come; auto tries those of containerd, CRI-O, k3s and cri-dockerd; "
               "off: none",
       .check = CheckContainerSockets},
      {.key = "containers.pod_labels",
       .field = &Options::containers_pod_labels,
       .fallback = "app.kubernetes.io/*,app",
       .value = "NAMES",
       .help = "labels of pods that processes get as k8s.pod.label.NAME, with commas between them; "
               "* and ? stand for any text"},
      {.key = "containers.node_name",
       .field = &Options::containers_node,
       .value = "NAME",
       .help = "what this host is called as a node of Kubernetes; the host's name where this is "
               "left out"},
      {.key = "rules.file",
       .field = &Options::rules_file,
       .value = "FILE",
       .help =
           "rules that win over those of profd: which functions wait with a CPU in hand, run an "
           "operator or begin a phase; a reload reads them again",
       .live = true},
      {.key = "tls.listen",
       .field = &Options::tls_listen,
       .value = "ADDRESS",
       .help = "TCP address for clients with a certificate, such as 0.0.0.0:9898; they see every "
               "process, and tls.operators and tls.readers say what they may do",
       .check = CheckTlsListen},
      {.key = "tls.certificate",
       .field = &Options::tls_certificate,
       .value = "FILE",
       .help =
           "certificate of this profd, in PEM; all three files are read again when they change"},
      {.key = "tls.key",
       .field = &Options::tls_key,
       .value = "FILE",
       .help = "private key of the certificate, in PEM, without a passphrase"},
      {.key = "tls.client_ca",
       .field = &Options::tls_client_ca,
       .value = "FILE",
       .help = "certificates of the authorities that sign client certificates, in PEM"},
      {.key = "tls.operators",
       .field = &Options::tls_operators,
       .fallback = "*",
       .value = "NAMES",
       .help = "whose certificates may collect, dump and stop: CN=ops, DNS=web1.example, "
               "URI=spiffe://example/ops, with commas between them; * is every one that "
               "tls.client_ca has signed",
       .check = CheckRole},
      {.key = "tls.readers",
       .field = &Options::tls_readers,
       .value = "NAMES",
       .help = "whose certificates may only look at the history and the status, written as "
               "tls.operators; a name here wins over * there",
       .check = CheckRole},
      {.key = "metrics.listen",
       .field = &Options::metrics_listen,
       .value = "ADDRESS",
       .help = "loopback address for HTTP, such as 127.0.0.1:9899; serves /metrics for Prometheus "
               "and /healthz",
       .check = CheckMetricsListen},
      {.key = "pprof.listen",
       .field = &Options::pprof_listen,
       .value = "ADDRESS",
       .help = "TCP address for scrapers with a certificate of an operator, such as 0.0.0.0:9897; "
               "serves /debug/pprof/profile and /debug/pprof/wall by HTTP and the files of tls",
       .check = CheckTlsListen},
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
    // The right name in the wrong table counts as one letter.
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
  if (options.history_wakers == "on" && options.history_mode == "snapshot")
    return Error{ErrorCode::kInvalidArgument,
                 "history.wakers is on and history.mode is snapshot, which does not see who ends a "
                 "wait",
                 "set history.mode to hooks, or leave history.wakers out"};
  constexpr std::size_t kMaxHostName = 253;  // of DNS
  const auto is_plain = [](char c) { return c > ' ' && c <= '~'; };
  if (options.host_name.empty() || options.host_name.size() > kMaxHostName ||
      !std::ranges::all_of(options.host_name, is_plain))
    return Error{ErrorCode::kInvalidArgument,
                 "host_name is '" + options.host_name + "'; it must be a name without spaces",
                 "set host_name to auto, or to a name of at most 253 characters"};
  if (!options.exports.empty() && options.history_directory == "off")
    return Error{ErrorCode::kInvalidArgument,
                 "there are exports, and history.directory is off: exports send the history",
                 "set history.directory, or remove the [[export]] tables"};
  const bool by_tls = !options.tls_listen.empty();
  if (!by_tls && options.pprof_listen.empty()) return {};
  for (const auto& [text, key] : {std::pair{&options.tls_certificate, "tls.certificate"},
                                  {&options.tls_key, "tls.key"},
                                  {&options.tls_client_ca, "tls.client_ca"}})
    if (text->empty())
      return Error{ErrorCode::kInvalidArgument,
                   std::string(by_tls ? "tls" : "pprof") + ".listen is set and " + key + " is not",
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

std::optional<Bytes> ParseBytes(std::string_view text) {
  const std::size_t letters = text.find_first_not_of("0123456789.");
  const auto number = ParseNumber(text.substr(0, letters));
  if (!number) return {};
  std::uint64_t size = letters == std::string_view::npos ? 1 : 0;
  if (size == 0)
    for (const auto& unit : kBytes)
      if (unit.name == text.substr(text.find_first_not_of(' ', letters))) size = unit.size;
  const double amount = *number * static_cast<double>(size);
  if (size == 0 || amount >= 0x1p63) return {};
  return Bytes{static_cast<std::uint64_t>(std::llround(amount))};
}

Result<void> SetValue(const Setting& setting, std::string_view text, Options& options) {
  return std::visit(
      [&](auto member) -> Result<void> {
        auto& place = options.*member;
        auto value = Parse(text, place);
        if (!value || !InRange(setting, *value)) return Wrong(setting, text);
        if (setting.check != nullptr) {
          if (const auto good = setting.check(std::string(text)); !good)
            return Error{ErrorCode::kInvalidArgument,
                         "is '" + std::string(text) + "': " + good.error().message,
                         good.error().hint};
        }
        place = *std::move(value);
        return {};
      },
      setting.field);
}

std::string ValueText(const Setting& setting, const Options& options) {
  return std::visit([&](auto member) { return Text(options.*member); }, setting.field);
}

std::string Expected(const Setting& setting) {
  if (!setting.choices.empty()) {
    std::string text = "one of ";
    for (const auto choice : setting.choices) {
      if (choice != setting.choices.front()) text += ", ";
      text += choice;
    }
    return text;
  }
  std::string text = std::visit(
      [](auto member) { return Kind(std::decay_t<decltype(Options().*member)>{}); }, setting.field);
  if (!setting.least.empty() && !setting.most.empty())
    return text + ", from " + std::string(setting.least) + " to " + std::string(setting.most);
  if (!setting.least.empty()) return text + ", at least " + std::string(setting.least);
  if (!setting.most.empty()) return text + ", at most " + std::string(setting.most);
  return text;
}

}  // namespace profd::config
