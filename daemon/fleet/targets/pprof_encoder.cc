#include "daemon/fleet/targets/pprof_encoder.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/duration.h"
#include "daemon/base/pprof/pprof_tables.h"
#include "daemon/base/utf8.h"
#include "daemon/fleet/profile/frame_names.h"
#include "daemon/fleet/targets/stack_locations.h"
#include "daemon/process/wait_reason.h"

namespace profd::fleet {
namespace {

std::string_view WaitName(process::WaitReason reason) {
  return process::kWaitReasons[static_cast<std::size_t>(reason)].name;
}

// "[running]", "[blocked:lock]".
std::string StateFrame(const ExportRow& row) {
  std::string text = "[" + std::string(NameOf(row.part));
  if (const auto wait = WaitName(row.wait); !wait.empty()) text += ":" + std::string(wait);
  return text + "]";
}

class Encoder {
 public:
  Encoder(const ExportProfile& profile, const PprofShape& shape)
      : profile_(profile), shape_(shape), locations_(profile) {}

  pprof::Profile Encode(std::span<const ExportRow> rows) && {
    WriteHeader();
    std::vector<std::vector<std::uint32_t>> stacks;
    stacks.reserve(rows.size());
    for (const ExportRow& row : rows) stacks.push_back(locations_.Of(row.node));
    AddMappings();
    for (std::size_t i = 0; i < rows.size(); ++i) AddRow(rows[i], stacks[i]);
    return std::move(out_);
  }

 private:
  std::int64_t String(std::string_view text) { return tables_.String(text); }

  void WriteHeader() {
    const std::string_view shown = profile_.on_cpu_only ? "cpu" : "wall";
    if (shape_.count_type) tables_.SetType(out_.add_sample_type(), "samples", "count");
    if (!profile_.on_cpu_only) tables_.SetType(out_.add_sample_type(), "wall", "nanoseconds");
    tables_.SetType(out_.add_sample_type(), "cpu", "nanoseconds");
    if (!profile_.on_cpu_only) tables_.SetType(out_.add_sample_type(), "off_cpu", "nanoseconds");
    out_.set_default_sample_type(String(shown));
    tables_.SetType(out_.mutable_period_type(), shown, "nanoseconds");
    out_.set_period(static_cast<std::int64_t>(profile_.period_ns));
    out_.set_time_nanos(static_cast<std::int64_t>(profile_.start_unix_ns));
    out_.set_duration_nanos(static_cast<std::int64_t>(profile_.duration_ns));
    out_.add_comment(String("profd " + profile_.profd_version + ", host " + profile_.host));
    if (!shape_.notes) return;
    for (const auto& [cause, ns] : profile_.gaps)
      out_.add_comment(String("gap before this profile: " + DurationText(ns) + ", " + cause));
    for (const NamedCount& lost : profile_.lost)
      out_.add_comment(String("lost: " + ValidUtf8(lost.name) + " " + std::to_string(lost.count)));
  }

  void AddMappings() {
    struct Range {
      std::uint64_t first = ~0ull;
      std::uint64_t last = 0;
      std::string build_id;
    };
    std::map<std::string, Range> modules;
    for (const auto& frames : locations_.all()) {
      const symbolize::Frame& frame = profile_.frames[frames.back()];
      if (frame.module.empty()) continue;
      Range& range = modules[frame.module];
      range.first = std::min(range.first, frame.offset);
      range.last = std::max(range.last, frame.offset);
      if (frame.origin != nullptr) range.build_id = frame.origin->build_id;
    }
    for (const auto& [module, range] : modules) {
      mappings_.emplace(module, tables_.AddMapping(ValidUtf8(module), ValidUtf8(range.build_id),
                                                   range.first, range.last));
    }
  }

  // `stack`: numbers of locations.
  void AddRow(const ExportRow& row, const std::vector<std::uint32_t>& stack) {
    pprof::Sample* sample = out_.add_sample();
    const std::string pseudo = PseudoStack(row);
    if (!pseudo.empty()) {
      sample->add_location_id(PseudoLocation(pseudo));
    } else {
      for (const std::uint32_t number : stack) sample->add_location_id(Location(number));
    }
    if (const std::string root = StateFrame(row); shape_.state_as_root && root != pseudo)
      sample->add_location_id(PseudoLocation(root));
    const bool on_cpu = IsOnCpu(row.part);
    const bool off_cpu = row.part == Part::kRunnable || row.part == Part::kBlocked;
    const auto add = [sample](std::uint64_t value) {
      sample->add_value(static_cast<std::int64_t>(value));
    };
    if (shape_.count_type) add(row.count);
    if (!profile_.on_cpu_only) add(row.ns);
    add(on_cpu ? row.ns : 0);
    if (!profile_.on_cpu_only) add(off_cpu ? row.ns : 0);
    if (shape_.process_labels)
      for (const auto& [name, value] : profile_.label_sets[row.labels])
        tables_.AddLabel(sample, name, value);
    if (!shape_.thread_labels) return;
    tables_.AddLabel(sample, "thread", profile_.threads[row.thread]);
    tables_.AddLabel(sample, "state", NameOf(row.part));
    if (const auto wait = WaitName(row.wait); !wait.empty()) tables_.AddLabel(sample, "wait", wait);
  }

  // Numbers of locations may be behind those of pseudo ones.
  std::uint64_t Location(std::uint32_t number) {
    const auto [known, added] = ids_.try_emplace(number, out_.location_size() + 1);
    if (!added) return known->second;
    const auto& frames = locations_.all()[number];
    pprof::Location* location = out_.add_location();
    location->set_id(known->second);
    const symbolize::Frame& outer = profile_.frames[frames.back()];
    if (const auto mapping = mappings_.find(outer.module); mapping != mappings_.end()) {
      location->set_mapping_id(mapping->second);
      location->set_address(outer.offset);
    }
    for (const std::uint32_t index : frames) {
      const symbolize::Frame& frame = profile_.frames[index];
      pprof::Line* line = location->add_line();
      const std::int64_t name = String(FunctionName(frame));
      const std::int64_t full = frame.full_name.empty() ? name : String(ValidUtf8(frame.full_name));
      line->set_function_id(tables_.Function(name, full, String(ValidUtf8(frame.file))));
      line->set_line(frame.line);
    }
    return known->second;
  }

  std::uint64_t PseudoLocation(const std::string& text) {
    const auto [known, added] = pseudo_.try_emplace(text, out_.location_size() + 1);
    if (!added) return known->second;
    pprof::Location* location = out_.add_location();
    location->set_id(known->second);
    const std::int64_t name = String(text);
    location->add_line()->set_function_id(tables_.Function(name, name, 0));
    return known->second;
  }

  const ExportProfile& profile_;
  const PprofShape shape_;
  StackLocations locations_;
  pprof::Profile out_;
  PprofTables tables_{out_};
  std::unordered_map<std::string, std::uint64_t> mappings_;  // by module
  std::unordered_map<std::uint32_t, std::uint64_t> ids_;     // by number of StackLocations
  std::unordered_map<std::string, std::uint64_t> pseudo_;    // by name
};

}  // namespace

pprof::Profile EncodePprof(const ExportProfile& profile, std::span<const ExportRow> rows,
                           const PprofShape& shape) {
  return Encoder(profile, shape).Encode(rows);
}

pprof::Profile EncodePprof(const ExportProfile& profile) {
  return EncodePprof(profile, profile.rows, PprofShape());
}

Result<std::string> PprofBytes(const pprof::Profile& profile, Compression how) {
  std::string bytes;
  if (how == Compression::kNone) {
    if (profile.SerializeToString(&bytes)) return bytes;
  } else {
    google::protobuf::io::StringOutputStream to(&bytes);
    google::protobuf::io::GzipOutputStream gzip(&to);
    if (profile.SerializeToZeroCopyStream(&gzip) && gzip.Close()) return bytes;
  }
  return Error{ErrorCode::kExhausted, "the profile is too large for its format", ""};
}

}  // namespace profd::fleet
