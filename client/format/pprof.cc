// pprof: a gzipped profile.proto, for `go tool pprof` and everything else that reads it.
//
// Sample types samples/count, wall/nanoseconds, cpu/nanoseconds and off_cpu/nanoseconds, and where
// hardware counters have counted cycles/count, instructions/count and cache_misses/count; shown at
// first: wall, or cpu and off_cpu where only that was sampled. Labels: pid, tid, process, thread,
// state, wait, gil; of time on a CPU running (working, spinning), class and rule; of blocked time
// on whom it waits: waits_for, path and path_end; of frameworks operator and phase; and those that
// threads have published, by their names, or label:NAME where that is one of these. Stacks hold
// functions only: -tagroot=process,thread and -tagleaf=state,wait,running put the rest back.
// Addresses are offsets in the module's file.
#include "client/format/exporter.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/profile/check_profile.h"
#include "client/profile/counters/counts.h"
#include "client/profile/labels/label_values.h"
#include "client/profile/on_whom.h"
#include "client/profile/operators/operators.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "daemon/base/files.h"
#include "daemon/base/pprof/pprof.pb.h"
#include "daemon/base/pprof/pprof_tables.h"

namespace profd::client {
namespace {

// Location ids over all samples: the format has no tree, and a protobuf ends at 2 GiB.
constexpr std::uint64_t kMaxLocationIds = 200'000'000;

// Of labels that are made here.
constexpr std::array<std::string_view, 15> kNames{
    "pid",      "tid",   "process", "thread", "state",     "running", "class",   "rule",
    "operator", "phase", "wait",    "gil",    "waits_for", "path",    "path_end"};

// Strings of the file; 0: none.
struct PathText {
  std::int64_t waits_for = 0;  // the first thread
  std::int64_t path = 0;       // all of it: "engine-worker < the disk"
  std::int64_t end = 0;        // "disk"
  friend auto operator<=>(const PathText&, const PathText&) = default;
};

// Samples that differ in none of these are one.
struct SampleKey {
  std::uint32_t node = 0;
  std::uint32_t thread = 0;
  v1::State state = v1::STATE_ON_CPU;
  v1::WaitReason wait = v1::WAIT_NONE;
  v1::Gil gil = v1::GIL_NONE;
  bool spinning = false;
  std::uint32_t rule = 0;  // as Samples.rule
  PathText path{};
  std::uint32_t labels = 0;  // as Samples.labels
  friend auto operator<=>(const SampleKey&, const SampleKey&) = default;
};

struct SampleValue {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
  Counts counts{};
};

class Builder {
 public:
  Builder(const v1::Profile& profile, const ExportOptions& options)
      : profile_(profile),
        counted_(HasCounts(profile)),
        operators_(profile),
        style_{.signature = options.signatures,
               .mangled = options.mangled,
               .place = false,
               .inlined = false} {}

  Result<pprof::Profile> Build() && {
    WriteHeader();
    AddMappings();
    PROFD_TRY(AddSamples());
    return std::move(out_);
  }

 private:
  std::int64_t String(std::string_view text) { return tables_.String(text); }

  void WriteHeader() {
    const Mode mode = ModeOf(profile_);
    const std::string_view shown = mode == Mode::kWall    ? "wall"
                                   : mode == Mode::kOnCpu ? "cpu"
                                                          : "off_cpu";
    tables_.SetType(out_.add_sample_type(), "samples", "count");
    tables_.SetType(out_.add_sample_type(), "wall", "nanoseconds");
    tables_.SetType(out_.add_sample_type(), "cpu", "nanoseconds");
    tables_.SetType(out_.add_sample_type(), "off_cpu", "nanoseconds");
    if (counted_)
      for (const char* type : {"cycles", "instructions", "cache_misses"})
        tables_.SetType(out_.add_sample_type(), type, "count");
    out_.set_default_sample_type(String(shown));
    tables_.SetType(out_.mutable_period_type(), shown, "nanoseconds");
    out_.set_period(static_cast<std::int64_t>(mode == Mode::kOffCpu ? profile_.off_cpu_period_ns()
                                                                    : profile_.on_cpu_period_ns()));
    out_.set_time_nanos(static_cast<std::int64_t>(profile_.start_unix_ns()));
    out_.set_duration_nanos(static_cast<std::int64_t>(LengthNs(profile_)));
    out_.add_comment(String(TitleOf(profile_)));
    out_.add_comment(String("profd " + SafeName(profile_.profd_version()) + ", kernel " +
                            SafeName(profile_.kernel()) + ", host " + SafeName(profile_.host()) +
                            ", hook " + SafeName(profile_.hook())));
  }

  // A mapping per module, as long as the addresses met in it. pprof takes the first for the
  // program: it is the one named like the first process, which has 15 bytes of the name at most.
  void AddMappings() {
    struct Range {
      std::uint64_t first = ~0ull;
      std::uint64_t last = 0;
    };
    std::map<std::string, Range> modules;
    const auto build_ids = BuildIdsOf(profile_);
    for (const v1::Frame& frame : profile_.frames()) {
      if (frame.module().empty()) continue;
      Range& range = modules[SafeName(frame.module())];
      range.first = std::min(range.first, frame.offset());
      range.last = std::max(range.last, frame.offset());
    }
    std::vector<std::pair<std::string, Range>> ordered(modules.begin(), modules.end());
    if (profile_.processes_size() > 0) {
      const std::string comm = SafeName(profile_.processes(0).comm());
      std::stable_partition(ordered.begin(), ordered.end(), [&](const auto& module) {
        return BaseName(module.first).substr(0, 15) == comm;
      });
    }
    for (const auto& [module, range] : ordered) {
      const auto id = build_ids.find(module);
      mappings_.emplace(module, tables_.AddMapping(module, id == build_ids.end() ? "" : id->second,
                                                   range.first, range.last));
    }
  }

  Result<void> AddSamples() {
    const v1::Samples& samples = profile_.samples();
    std::map<SampleKey, SampleValue> merged;
    for (int i = 0; i < samples.weight_ns_size(); ++i) {
      const SampleKey key{samples.node(i),
                          samples.thread(i),
                          samples.state(i),
                          samples.wait(i),
                          GilOf(samples, i),
                          IsSpinning(profile_, i),
                          samples.rule_size() == 0 ? 0 : samples.rule(i),
                          TextOfPath(i),
                          LabelsOf(profile_, i)};
      SampleValue& value = merged[key];
      value.count += samples.count(i);
      value.ns += samples.weight_ns(i);
      value.counts += CountsAt(samples, i);
    }
    std::uint64_t ids = 0;
    for (const auto& [key, value] : merged) {
      AddSample(key, value);
      ids += static_cast<std::uint64_t>(out_.sample(out_.sample_size() - 1).location_id_size());
      if (ids > kMaxLocationIds)
        return Error{ErrorCode::kExhausted, "the profile is too large for the pprof format",
                     "write json or folded, or collect for a shorter time"};
    }
    return {};
  }

  // Those that may leave the host, as an [[export]] names them.
  void AddLabelsOf(const v1::Process& process, pprof::Sample* sample) {
    const std::map<std::string, std::string> labels(process.labels().begin(),
                                                    process.labels().end());
    for (const auto& [name, value] : labels)
      if (!name.starts_with("__")) AddLabel(sample, SafeName(name), SafeName(value));
  }

  void AddSample(const SampleKey& key, const SampleValue& value) {
    pprof::Sample* sample = out_.add_sample();
    if (key.node == 0) sample->add_location_id(NoStackLocation());
    for (std::uint32_t at = key.node; at != 0;) sample->add_location_id(NextLocation(at));
    const bool on_cpu = key.state == v1::STATE_ON_CPU;
    for (const std::uint64_t number :
         {value.count, value.ns, on_cpu ? value.ns : 0, on_cpu ? 0 : value.ns})
      sample->add_value(static_cast<std::int64_t>(number));
    if (counted_)
      for (const std::uint64_t number :
           {value.counts.cycles, value.counts.instructions, value.counts.cache_misses})
        sample->add_value(static_cast<std::int64_t>(number));
    const v1::Thread& thread = profile_.threads(static_cast<int>(key.thread));
    const v1::Process& process = profile_.processes(static_cast<int>(thread.process()));
    if (process.group_size() == 0) AddLabel(sample, "pid", process.pid());
    if (thread.group_size() == 0) AddLabel(sample, "tid", thread.tid());
    AddLabel(sample, "process", SafeName(process.comm()));
    AddLabel(sample, "thread", SafeName(thread.comm()));
    AddLabelsOf(process, sample);
    AddLabel(sample, "state", StateName(key.state));
    if (on_cpu) AddLabel(sample, "running", key.spinning ? "spinning" : "working");
    if (key.rule != 0) AddRule(sample, profile_.rules(static_cast<int>(key.rule) - 1));
    if (const auto op = operators_.OperatorAt(key.node))
      AddLabel(sample, "operator", operators_.names()[*op]);
    if (const auto phase = PhaseName(operators_.PhaseAt(key.node)); !phase.empty())
      AddLabel(sample, "phase", phase);
    if (!WaitName(key.wait).empty()) AddLabel(sample, "wait", WaitName(key.wait));
    if (!GilName(key.gil).empty()) AddLabel(sample, "gil", GilName(key.gil));
    for (const auto& [name, text] : {std::pair("waits_for", key.path.waits_for),
                                     {"path", key.path.path},
                                     {"path_end", key.path.end}})
      if (text != 0) AddText(sample, String(name), text);
    if (key.labels != 0)
      AddPublished(sample, profile_.label_sets(static_cast<int>(key.labels) - 1));
  }

  // What the thread has published, under names that are not those of others.
  void AddPublished(pprof::Sample* sample, const v1::LabelSet& labels) {
    for (const v1::Label& label : labels.labels()) {
      const std::string name = SafeName(label.name());
      const bool taken = std::ranges::find(kNames, name) != kNames.end();
      AddLabel(sample, taken ? "label:" + name : name, SafeName(label.value()));
    }
  }

  // Paths that read the same are one.
  PathText TextOfPath(int i) {
    const v1::Samples& samples = profile_.samples();
    if (samples.state(i) != v1::STATE_BLOCKED || samples.path_size() == 0) return {};
    const std::uint32_t path = samples.path(i);
    if (path == 0) return {};
    const std::uint32_t process = profile_.threads(static_cast<int>(samples.thread(i))).process();
    const auto [known, added] = paths_.try_emplace({process, path});
    if (!added) return known->second;
    const std::uint32_t pid = profile_.processes(static_cast<int>(process)).pid();
    const WhomWords words = WordsOf(profile_, path, pid);
    PathText& text = known->second;
    if (!words.waits_for.empty()) text.waits_for = String(words.waits_for);
    text.path = String(words.path);
    text.end = String(words.end);
    return text;
  }

  void AddRule(pprof::Sample* sample, const v1::Rule& rule) {
    AddLabel(sample, "class", ClassName(rule.frame_class()));
    AddLabel(sample, "rule", SafeName(rule.place()));
  }

  void AddLabel(pprof::Sample* sample, std::string_view key, std::string_view value) {
    tables_.AddLabel(sample, key, value);
  }

  // Both are strings of the file.
  void AddText(pprof::Sample* sample, std::int64_t name, std::int64_t text) {
    pprof::Label* label = sample->add_label();
    label->set_key(name);
    label->set_str(text);
  }

  void AddLabel(pprof::Sample* sample, std::string_view key, std::uint32_t number) {
    pprof::Label* label = sample->add_label();
    label->set_key(String(key));
    label->set_num(number);
    label->set_num_unit(String("id"));
  }

  // The location that `at` is the innermost frame of: it and the functions it was inlined into.
  // Leaves `at` at the caller.
  std::uint64_t NextLocation(std::uint32_t& at) {
    std::vector<std::uint32_t> frames;
    for (bool inlined = true; inlined && at != 0;) {
      const v1::StackNode& node = profile_.nodes(static_cast<int>(at - 1));
      const v1::Frame& frame = Frame(node.frame());
      // An inlined frame without its outer one stays by itself.
      if (!frames.empty() && (frame.module() != Frame(frames[0]).module() ||
                              frame.offset() != Frame(frames[0]).offset()))
        break;
      frames.push_back(node.frame());
      inlined = frame.inlined();
      at = node.parent();
    }
    const auto next = static_cast<std::uint64_t>(out_.location_size()) + 1;
    const auto [known, added] = locations_.emplace(frames, next);
    if (added) AddLocation(frames);
    return known->second;
  }

  void AddLocation(const std::vector<std::uint32_t>& frames) {
    pprof::Location* location = out_.add_location();
    location->set_id(static_cast<std::uint64_t>(out_.location_size()));
    const v1::Frame& outer = Frame(frames.back());
    const auto mapping = mappings_.find(SafeName(outer.module()));
    if (!outer.module().empty() && mapping != mappings_.end()) {
      location->set_mapping_id(mapping->second);
      location->set_address(outer.offset());
    }
    for (const std::uint32_t index : frames) {
      pprof::Line* line = location->add_line();
      line->set_function_id(Function(index));
      line->set_line(Frame(index).line());
    }
  }

  std::uint64_t NoStackLocation() {
    if (no_stack_ == 0) {
      pprof::Location* location = out_.add_location();
      no_stack_ = static_cast<std::uint64_t>(out_.location_size());
      location->set_id(no_stack_);
      const std::int64_t name = String(kNoStack);
      location->add_line()->set_function_id(tables_.Function(name, name, 0));
    }
    return no_stack_;
  }

  std::uint64_t Function(std::uint32_t frame_index) {
    const v1::Frame& frame = Frame(frame_index);
    const std::int64_t name = String(FrameName(frame, style_));
    const std::int64_t full =
        frame.full_name().empty() ? name : String(SafeName(frame.full_name()));
    return tables_.Function(name, full, frame.file().empty() ? 0 : String(SafeName(frame.file())));
  }

  const v1::Frame& Frame(std::uint32_t index) const {
    return profile_.frames(static_cast<int>(index));
  }

  const v1::Profile& profile_;
  const bool counted_;  // hardware counters have counted
  const Operators operators_;
  const FrameStyle style_;  // pprof itself shows places and what is inlined
  pprof::Profile out_;
  PprofTables tables_{out_};
  std::unordered_map<std::string, std::uint64_t> mappings_;            // by module
  std::map<std::vector<std::uint32_t>, std::uint64_t> locations_;      // by frames
  std::uint64_t no_stack_ = 0;                                         // location
  std::map<std::pair<std::uint32_t, std::uint32_t>, PathText> paths_;  // by process and path
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const auto converted = Builder(profile, options).Build();
  if (!converted) return converted.error();
  google::protobuf::io::OstreamOutputStream bytes(&out);
  google::protobuf::io::GzipOutputStream gzip(&bytes);
  if (!converted->SerializeToZeroCopyStream(&gzip) || !gzip.Close())
    return Error{ErrorCode::kIo, "cannot write the profile", ""};
  return FinishStream(out);
}

}  // namespace

Exporter PprofExporter() {
  return {.name = "pprof",
          .extensions = {".pb.gz", ".pprof", ".pprof.gz"},
          .about = "stacks with labels",
          .viewers = "go tool pprof, Perfetto, speedscope",
          .for_terminals = false,
          .write = Write};
}

}  // namespace profd::client
