// FleetQuestion: what of a fleet is requested, and the condition of SQL that says so.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/result.h"

namespace profd::client {

// What time may be split by.
enum class FleetKey : std::uint8_t {
  kService,
  kVersion,
  kHost,
  kZone,
  kNamespace,
  kPod,
  kContainer,
  kUnit,
  kExecutable
};

struct FleetKeyEntry {
  FleetKey key;
  std::string_view name;   // of the command line, and of the column
  std::string_view label;  // as OpenTelemetry has it
  bool of_clock;           // the table of clocks has it, too
};

inline constexpr std::array kFleetKeys{
    FleetKeyEntry{FleetKey::kService, "service", "service.name", true},
    FleetKeyEntry{FleetKey::kVersion, "version", "service.version", true},
    FleetKeyEntry{FleetKey::kHost, "host", "host.name", true},
    FleetKeyEntry{FleetKey::kZone, "zone", "cloud.availability_zone", true},
    FleetKeyEntry{FleetKey::kNamespace, "namespace", "k8s.namespace.name", true},
    FleetKeyEntry{FleetKey::kPod, "pod", "k8s.pod.name", true},
    FleetKeyEntry{FleetKey::kContainer, "container", "k8s.container.name", false},
    FleetKeyEntry{FleetKey::kUnit, "unit", "systemd.unit", false},
    FleetKeyEntry{FleetKey::kExecutable, "executable", "process.executable.name", false}};

[[nodiscard]] const FleetKeyEntry& EntryOf(FleetKey key);
// None: no key is called so.
[[nodiscard]] std::optional<FleetKey> FleetKeyNamed(std::string_view name);
[[nodiscard]] std::string FleetKeyNames();  // "service, version, host ..."

struct FleetQuestion {
  std::string service;  // "": all
  // Of a column any of these must fit; * and ? stand for any text.
  std::map<FleetKey, std::vector<std::string>> fits;
  std::vector<std::string> threads;
  std::map<std::string, std::vector<std::string>> labels;  // the same of other labels, by name
  std::string state;                                       // "running", ...; "": all
  std::string wait;
  std::uint64_t from_s = 0;  // since 1970; windows that begin from here on
  std::uint64_t to_s = 0;    // and before this
  std::vector<FleetKey> apart;
  // Hosts are distinguished as kHostGroups groups, by which chance is judged.
  bool by_host_groups = false;

  [[nodiscard]] std::string Words() const;  // "cart, version 1.4.2, host web-*"
};

inline constexpr unsigned kHostGroups = 16;

// A part of a statement. All that a user wrote is in `parameters`.
struct FleetCondition {
  std::string sql;
  std::map<std::string, std::string> parameters;
};

enum class FleetTable : std::uint8_t { kSample, kClock };

// Of the rows of a table; of kClock without what it has no columns for.
[[nodiscard]] FleetCondition ConditionOf(const FleetQuestion& question, FleetTable table);
// Whether the table of clocks can answer it.
[[nodiscard]] bool FitsClock(const FleetQuestion& question);

// "web-*" as a pattern of LIKE.
[[nodiscard]] std::string LikePattern(std::string_view glob);
// The value of a parameter, as servers take it from a URL.
[[nodiscard]] std::string ParameterText(std::string_view value);

}  // namespace profd::client
