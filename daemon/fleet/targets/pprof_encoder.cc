#include "daemon/fleet/targets/pprof_encoder.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

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

class Encoder {
 public:
  explicit Encoder(const ExportProfile& profile) : profile_(profile), locations_(profile) {}

  pprof::Profile Encode() && {
    WriteHeader();
    AddMappings();
    for (const ExportRow& row : profile_.rows) AddRow(row);
    return std::move(out_);
  }

 private:
  std::int64_t String(std::string_view text) { return tables_.String(text); }

  void WriteHeader() {
    const std::string_view shown = profile_.on_cpu_only ? "cpu" : "wall";
    tables_.SetType(out_.add_sample_type(), "samples", "count");
    if (!profile_.on_cpu_only) tables_.SetType(out_.add_sample_type(), "wall", "nanoseconds");
    tables_.SetType(out_.add_sample_type(), "cpu", "nanoseconds");
    if (!profile_.on_cpu_only) tables_.SetType(out_.add_sample_type(), "off_cpu", "nanoseconds");
    out_.set_default_sample_type(String(shown));
    tables_.SetType(out_.mutable_period_type(), shown, "nanoseconds");
    out_.set_period(static_cast<std::int64_t>(profile_.period_ns));
    out_.set_time_nanos(static_cast<std::int64_t>(profile_.start_unix_ns));
    out_.set_duration_nanos(static_cast<std::int64_t>(profile_.duration_ns));
    out_.add_comment(String("profd " + profile_.profd_version + ", host " + profile_.host));
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
    for (const symbolize::Frame& frame : profile_.frames) {
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

  void AddRow(const ExportRow& row) {
    pprof::Sample* sample = out_.add_sample();
    if (const std::string pseudo = PseudoStack(row); !pseudo.empty()) {
      sample->add_location_id(PseudoLocation(pseudo));
    } else {
      for (const std::uint32_t number : locations_.Of(row.node))
        sample->add_location_id(Location(number));
    }
    const bool on_cpu = IsOnCpu(row.part);
    const bool off_cpu = row.part == Part::kRunnable || row.part == Part::kBlocked;
    const auto add = [sample](std::uint64_t value) {
      sample->add_value(static_cast<std::int64_t>(value));
    };
    add(row.count);
    if (!profile_.on_cpu_only) add(row.ns);
    add(on_cpu ? row.ns : 0);
    if (!profile_.on_cpu_only) add(off_cpu ? row.ns : 0);
    for (const auto& [name, value] : profile_.label_sets[row.labels])
      tables_.AddLabel(sample, name, value);
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
  StackLocations locations_;
  pprof::Profile out_;
  PprofTables tables_{out_};
  std::unordered_map<std::string, std::uint64_t> mappings_;  // by module
  std::unordered_map<std::uint32_t, std::uint64_t> ids_;     // by number of StackLocations
  std::unordered_map<std::string, std::uint64_t> pseudo_;    // by name
};

}  // namespace

pprof::Profile EncodePprof(const ExportProfile& profile) { return Encoder(profile).Encode(); }

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
