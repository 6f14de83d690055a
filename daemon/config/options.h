// Options: everything that determines what this profd does. Every setting is a field here and an
// entry of the table in settings.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared/control.h"
#include "daemon/fleet/profile/settings.h"

namespace profd::config {

// A size in memory or on disk; written "64MiB".
struct Bytes {
  std::uint64_t count = 0;
};

// Passive. What the fields mean and their ranges: settings.cc.
struct Options {
  // Settings: from flags, the environment, the configuration file.
  std::string listen;
  std::string public_socket;
  std::string tls_listen;  // "": no TCP
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  std::string tls_operators;  // see server::Roles
  std::string tls_readers;
  std::string rules_file;          // "": only the rules that profd ships with
  std::string metrics_listen;      // loopback address; "": no metrics
  std::string pprof_listen;        // "": no scrapers
  std::string host_name = "auto";  // see HostName
  std::string log_level;           // debug, info, warn, error, off
  std::string hook;                // "auto": the best hook that works
  bool debug_info = true;
  Bytes memory_cap{256ull << 20};
  double clock_limit_percent = 5;
  std::string history_directory;  // or "auto", "off"; see HistoryDirectory
  Bytes history_max_size{1ull << 30};
  std::chrono::nanoseconds history_max_age = std::chrono::hours(7 * 24);
  std::string history_mode;    // "snapshot", "hooks"
  std::string history_wakers;  // "auto": in hook mode; "on", "off"
  std::uint64_t history_frequency_hz = 19;
  double history_budget_percent = 1;
  std::chrono::nanoseconds history_window = std::chrono::seconds(10);
  std::chrono::nanoseconds history_compact = std::chrono::minutes(1);
  std::string cache_directory;  // or "auto", "off"; see CacheDirectory
  Bytes cache_max_size{64ull << 20};
  std::string containers_sockets;     // "auto", "off", or paths with commas between them
  std::string containers_pod_labels;  // globs with commas between them
  std::string containers_node;        // "": the host's name

  // Of the file only: [[export]].
  std::vector<fleet::ExportSettings> exports;

  // Flags only: these hold for one run.
  std::string record_file;   // "": no recording
  std::string replay_file;   // "": live
  bool private_use = false;  // exits when standard input ends; prints "ready" on standard output
};

// Where to keep the history; "": nowhere. `state_directory` is the variable STATE_DIRECTORY that
// systemd sets for a service; null: not set.
[[nodiscard]] std::string HistoryDirectory(const Options& options, const char* state_directory);

// Where to keep what files say of their code; "": nowhere. `cache_directory` is the variable
// CACHE_DIRECTORY that systemd sets for a service; null: not set.
[[nodiscard]] std::string CacheDirectory(const Options& options, const char* cache_directory,
                                         bool is_root);

// The name of this host in profiles.
[[nodiscard]] std::string HostName(const Options& options);

// The parts of a list with commas between them; spaces around them and empty ones are left out.
[[nodiscard]] std::vector<std::string> ListOf(std::string_view text);

// The CRI sockets of `containers.sockets`.
[[nodiscard]] std::vector<std::string> ContainerSockets(const Options& options);

// The hook that the setting `hook` names; none: the best one that works.
[[nodiscard]] std::optional<profd_hook> ForcedHook(const Options& options);

}  // namespace profd::config
