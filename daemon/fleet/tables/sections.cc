#include "daemon/fleet/tables/sections.h"

#include <array>

namespace profd::fleet {
namespace {

// Behind the magic, each section has its table, 1 byte; whether it is packed, 1; its part and its
// length, 4 each, little-endian; and its body.
constexpr std::string_view kMagic = "profd-rows-2\n";
constexpr std::string_view kOldMagic = "profd-rows-1\n";
constexpr std::string_view kPathMagic = "profd-rows-3\n";  // has_paths
static_assert(kMagic.size() == kOldMagic.size() && kMagic.size() == kPathMagic.size());
constexpr std::size_t kHeaderBytes = 10;
constexpr int kByteBits = 8;

struct TableInfo {
  std::string_view name;
  std::string_view columns;
};
constexpr std::array<TableInfo, kFleetTables + 1> kTables = {
    TableInfo{"stack", "service, hash, last_seen, functions, modules, files, kinds"},
    TableInfo{"sample",
              "service, time, hash, state, wait, host, version, zone, namespace, pod, container, "
              "unit, executable, thread, labels, ns, count"},
    TableInfo{"clock", "service, time, host, version, zone, namespace, pod, state, wait, ns"},
    TableInfo{"host_window",
              "host, time, nanosecond, seconds, zone, profd_version, rows, other_ns, gaps, lost"},
    TableInfo{"path",
              "service, hash, last_seen, kinds, hows, waits, threads, services, own, stacks, "
              "estimated"},
};
constexpr std::string_view kPathSampleColumns =
    "service, time, hash, path, state, wait, host, version, zone, namespace, pod, container, "
    "unit, executable, thread, labels, ns, count";
constexpr std::string_view kOldWindowColumns =
    "host, time, seconds, zone, profd_version, rows, other_ns, gaps, lost";

void AppendNumber(std::string& bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < sizeof(std::uint32_t); ++i) {
    bytes += static_cast<char>(number & 0xff);
    number >>= kByteBits;
  }
}

std::uint32_t NumberAt(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = sizeof(number); i-- > 0;)
    number = number << kByteBits | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

std::string_view NameOf(FleetTable table) { return kTables[static_cast<std::size_t>(table)].name; }

std::string_view ColumnsOf(const Section& section) {
  if (section.is_old && section.table == FleetTable::kHostWindow) return kOldWindowColumns;
  if (section.has_paths && section.table == FleetTable::kSample) return kPathSampleColumns;
  return kTables[static_cast<std::size_t>(section.table)].columns;
}

void PackSection(const Section& section, std::string& payload) {
  if (payload.empty()) payload = section.has_paths ? kPathMagic : kMagic;
  payload += static_cast<char>(section.table);
  payload += static_cast<char>(section.encoding);
  AppendNumber(payload, section.part);
  AppendNumber(payload, section.body.size());
  payload += section.body;
}

Result<std::vector<Section>> UnpackSections(std::string_view payload) {
  const Error wrong{ErrorCode::kCorrupt, "these are no rows of a fleet", ""};
  const bool is_old = payload.starts_with(kOldMagic);
  const bool has_paths = payload.starts_with(kPathMagic);
  if (!is_old && !has_paths && !payload.starts_with(kMagic)) return wrong;
  const std::size_t tables = has_paths ? kTables.size() : kFleetTables;
  payload.remove_prefix(kMagic.size());
  std::vector<Section> sections;
  while (!payload.empty()) {
    if (payload.size() < kHeaderBytes) return wrong;
    const auto table = static_cast<unsigned char>(payload[0]);
    const std::uint32_t length = NumberAt(payload.substr(6));
    const auto encoding = static_cast<unsigned char>(payload[1]);
    if (table >= tables || encoding > static_cast<unsigned char>(ContentEncoding::kZstd) ||
        payload.size() - kHeaderBytes < length)
      return wrong;
    sections.push_back({.table = static_cast<FleetTable>(table),
                        .part = NumberAt(payload.substr(2)),
                        .encoding = static_cast<ContentEncoding>(encoding),
                        .body = payload.substr(kHeaderBytes, length),
                        .is_old = is_old,
                        .has_paths = has_paths});
    payload.remove_prefix(kHeaderBytes + length);
  }
  return sections;
}

}  // namespace profd::fleet
