#include "daemon/fleet/targets/otlp_encoder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "daemon/aggregate/stable_hash.h"
#include "daemon/base/utf8.h"
#include "daemon/fleet/profile/frame_names.h"
#include "daemon/fleet/targets/stack_locations.h"
#include "daemon/process/wait_reason.h"

namespace profd::fleet {
namespace {

// Names of profile.frame.type in OpenTelemetry's semantic conventions; "": it has none.
std::string_view FrameType(symbolize::FrameKind kind) {
  switch (kind) {
    case symbolize::FrameKind::kNative:
      return "native";
    case symbolize::FrameKind::kKernel:
      return "kernel";
    case symbolize::FrameKind::kPython:
      return "cpython";
    case symbolize::FrameKind::kJit:
    case symbolize::FrameKind::kPseudo:
      break;
  }
  return "";
}

std::int64_t Signed(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, kMost));
}

// Builds one request from some of the rows, which are in their order.
class Encoder {
 public:
  // `part`: how many requests of the same profile come before.
  Encoder(const ExportProfile& profile, std::size_t part)
      : profile_(profile), part_(part), locations_(profile) {
    // Entry 0 of each table stands for nothing.
    String("");
    dictionary().add_mapping_table();
    dictionary().add_location_table();
    dictionary().add_function_table();
    dictionary().add_link_table();
    dictionary().add_attribute_table();
    dictionary().add_stack_table();
    if (part != 0) return;
    for (const auto& [cause, ns] : profile_.gaps)
      notes_.push_back(Attribute("profd.gap." + cause, Signed(ns), "ns"));
    for (const NamedCount& lost : profile_.lost)
      notes_.push_back(Attribute("profd.lost." + ValidUtf8(lost.name), Signed(lost.count), "1"));
  }

  otlp::ExportProfilesServiceRequest Encode(std::span<const ExportRow> rows) && {
    for (std::size_t begin = 0; begin < rows.size();) {
      std::size_t end = begin;
      while (end < rows.size() && rows[end].labels == rows[begin].labels) ++end;
      AddResource(rows.subspan(begin, end - begin));
      begin = end;
    }
    return std::move(out_);
  }

 private:
  otlp::ProfilesDictionary& dictionary() { return *out_.mutable_dictionary(); }

  std::int32_t String(std::string_view text) {
    const auto [known, added] = strings_.emplace(text, dictionary().string_table_size());
    if (added) dictionary().add_string_table(std::string(text));
    return known->second;
  }

  void AddResource(std::span<const ExportRow> rows) {
    otlp::ResourceProfiles& resource = *out_.add_resource_profiles();
    std::string identity = profile_.host;
    for (const auto& [name, value] : profile_.label_sets[rows[0].labels]) {
      otlp::KeyValue& attribute = *resource.mutable_resource()->add_attributes();
      attribute.set_key(name);
      attribute.mutable_value()->set_string_value(value);
      identity.append(1, '\0').append(name);
      identity.append(1, '\0').append(value);
    }
    otlp::ScopeProfiles& scope = *resource.add_scope_profiles();
    scope.mutable_scope()->set_name("profd");
    scope.mutable_scope()->set_version(profile_.profd_version);
    otlp::Profile& profile = *scope.add_profiles();
    const std::string_view type = profile_.on_cpu_only ? "cpu" : "wall";
    for (otlp::ValueType* to : {profile.mutable_sample_type(), profile.mutable_period_type()}) {
      to->set_type_strindex(String(type));
      to->set_unit_strindex(String("nanoseconds"));
    }
    profile.set_period(Signed(profile_.period_ns));
    profile.set_time_unix_nano(profile_.start_unix_ns);
    profile.set_duration_nano(profile_.duration_ns);
    for (const std::int32_t note : notes_) profile.add_attribute_indices(note);
    notes_.clear();  // of the first profile alone: sums over profiles stay right
    for (const ExportRow& row : rows) AddSample(row, *profile.add_samples());
    SetIdentity(identity, profile);
  }

  void AddSample(const ExportRow& row, otlp::Sample& sample) {
    sample.set_stack_index(Stack(row));
    sample.add_attribute_indices(Attribute("thread.name", profile_.threads[row.thread]));
    sample.add_attribute_indices(Attribute("profd.state", std::string(NameOf(row.part))));
    const auto wait = process::kWaitReasons[static_cast<std::size_t>(row.wait)].name;
    if (!wait.empty()) sample.add_attribute_indices(Attribute("profd.wait", std::string(wait)));
    sample.add_values(Signed(row.ns));
  }

  // The same rows at the same time have the same id, so a receiver can recognize a repetition.
  void SetIdentity(const std::string& identity, otlp::Profile& profile) const {
    const Hash128 hash = StableHash(identity, part_, profile.SerializeAsString(),
                                    out_.dictionary().string_table_size());
    profile.set_profile_id(hash.data(), hash.size());
  }

  std::int32_t Stack(const ExportRow& row) {
    const std::string pseudo = PseudoStack(row);
    std::vector<std::int32_t> locations;
    if (pseudo.empty()) {
      for (const std::uint32_t number : locations_.Of(row.node))
        locations.push_back(Location(number));
    } else {
      locations.push_back(PseudoLocation(pseudo));
    }
    const auto [known, added] = stacks_.emplace(locations, dictionary().stack_table_size());
    if (added) {
      otlp::Stack& stack = *dictionary().add_stack_table();
      for (const std::int32_t location : locations) stack.add_location_indices(location);
    }
    return known->second;
  }

  std::int32_t Location(std::uint32_t number) {
    const auto [known, added] = ids_.emplace(number, dictionary().location_table_size());
    if (!added) return known->second;
    const auto& frames = locations_.all()[number];
    otlp::Location& location = *dictionary().add_location_table();
    const symbolize::Frame& outer = profile_.frames[frames.back()];
    if (!outer.module.empty()) {
      location.set_mapping_index(Mapping(outer));
      location.set_address(outer.offset);
    }
    for (const std::uint32_t index : frames) {
      const symbolize::Frame& frame = profile_.frames[index];
      otlp::Line& line = *location.add_lines();
      const std::int32_t name = String(FunctionName(frame));
      const std::int32_t full = frame.full_name.empty() ? name : String(ValidUtf8(frame.full_name));
      line.set_function_index(Function(name, full, String(ValidUtf8(frame.file))));
      line.set_line(frame.line);
    }
    if (const auto type = FrameType(outer.kind); !type.empty())
      location.add_attribute_indices(Attribute("profile.frame.type", std::string(type)));
    return known->second;
  }

  std::int32_t PseudoLocation(const std::string& text) {
    const auto [known, added] = pseudo_.emplace(text, dictionary().location_table_size());
    if (!added) return known->second;
    const std::int32_t name = String(text);
    dictionary().add_location_table()->add_lines()->set_function_index(Function(name, name, 0));
    return known->second;
  }

  std::int32_t Mapping(const symbolize::Frame& frame) {
    const auto [known, added] = mappings_.emplace(frame.module, dictionary().mapping_table_size());
    if (!added) return known->second;
    otlp::Mapping& mapping = *dictionary().add_mapping_table();
    // Addresses are offsets in the file.
    mapping.set_memory_limit(~0ull);
    mapping.set_filename_strindex(String(ValidUtf8(frame.module)));
    if (frame.origin != nullptr && !frame.origin->build_id.empty())
      mapping.add_attribute_indices(
          Attribute("process.executable.build_id.gnu", ValidUtf8(frame.origin->build_id)));
    return known->second;
  }

  std::int32_t Function(std::int32_t name, std::int32_t system_name, std::int32_t file) {
    const auto [known, added] =
        functions_.emplace(std::tuple(name, system_name, file), dictionary().function_table_size());
    if (added) {
      otlp::Function& function = *dictionary().add_function_table();
      function.set_name_strindex(name);
      function.set_system_name_strindex(system_name);
      function.set_filename_strindex(file);
    }
    return known->second;
  }

  std::int32_t Attribute(const std::string& name, const std::string& value) {
    const auto [known, added] =
        attributes_.emplace(std::pair(name, value), dictionary().attribute_table_size());
    if (added) {
      otlp::KeyValueAndUnit& attribute = *dictionary().add_attribute_table();
      attribute.set_key_strindex(String(name));
      attribute.mutable_value()->set_string_value(value);
    }
    return known->second;
  }

  // Each is used once.
  std::int32_t Attribute(const std::string& name, std::int64_t value, const std::string& unit) {
    const std::int32_t number = dictionary().attribute_table_size();
    otlp::KeyValueAndUnit& attribute = *dictionary().add_attribute_table();
    attribute.set_key_strindex(String(name));
    attribute.mutable_value()->set_int_value(value);
    attribute.set_unit_strindex(String(unit));
    return number;
  }

  const ExportProfile& profile_;
  const std::size_t part_;
  StackLocations locations_;
  otlp::ExportProfilesServiceRequest out_;
  std::vector<std::int32_t> notes_;  // attributes
  std::unordered_map<std::string, std::int32_t> strings_;
  std::unordered_map<std::string, std::int32_t> mappings_;    // by module
  std::unordered_map<std::uint32_t, std::int32_t> ids_;       // by number of StackLocations
  std::unordered_map<std::string, std::int32_t> pseudo_;      // by name
  std::map<std::vector<std::int32_t>, std::int32_t> stacks_;  // by locations
  std::map<std::pair<std::string, std::string>, std::int32_t> attributes_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int32_t> functions_;
};

void EncodeRows(const ExportProfile& profile, std::span<const ExportRow> rows, std::size_t limit,
                OtlpParts& parts) {
  if (rows.empty()) return;
  const auto request = Encoder(profile, parts.requests.size()).Encode(rows);
  if (request.ByteSizeLong() <= limit) {
    parts.requests.push_back(request.SerializeAsString());
  } else if (rows.size() == 1) {
    parts.too_large_ns += rows[0].ns;
  } else {
    EncodeRows(profile, rows.first(rows.size() / 2), limit, parts);
    EncodeRows(profile, rows.subspan(rows.size() / 2), limit, parts);
  }
}

}  // namespace

OtlpParts EncodeOtlp(const ExportProfile& profile, std::size_t limit) {
  OtlpParts parts;
  EncodeRows(profile, profile.rows, limit, parts);
  return parts;
}

}  // namespace profd::fleet
