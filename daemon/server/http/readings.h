// Readings: what /metrics tells. Passive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "daemon/history/history.h"
#include "daemon/pipeline/status.h"

namespace profd::server {

struct Readings {
  std::uint64_t start_unix_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::map<std::string, std::uint64_t> thread_cpu_ns;  // by name
  std::uint64_t resident_bytes = 0;
  std::uint64_t progress_age_ns = 0;  // since every stage has made a round
  pipeline::BackendStatus backend;
  std::optional<history::HistoryStatus> history;
  std::size_t sessions = 0;    // of clients, that run
  std::uint64_t refusals = 0;  // of calls and connections
};

}  // namespace profd::server
