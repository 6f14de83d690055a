// MetricsText: the state of profd in the text format of Prometheus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "daemon/history/history.h"
#include "daemon/pipeline/status.h"

namespace profd::server {

// The numbers from which the text is made.
struct Readings {
  std::uint64_t start_unix_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::map<std::string, std::uint64_t> thread_cpu_ns;  // by name
  std::uint64_t resident_bytes = 0;
  std::uint64_t progress_age_ns = 0;  // of the thread whose present round began first
  pipeline::BackendStatus backend;
  std::optional<history::HistoryStatus> history;
  std::size_t sessions = 0;    // running sessions of clients
  std::uint64_t refusals = 0;  // of calls and connections
};

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Returns text format 0.0.4. Names begin with profd_, or with process_ for metrics that every
// program exports. They have base units, and _total if they only grow. Counters that are 0 are
// included. The text has no name of a process, a user or a file, because every user of the host can
// read it.
[[nodiscard]] std::string MetricsText(const Readings& readings);

}  // namespace profd::server
