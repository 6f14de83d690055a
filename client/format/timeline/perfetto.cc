// perfetto: a trace of Perfetto, for ui.perfetto.dev and trace_processor.
//
// A thread has its stacks as nested slices, and below it tracks of its states and operators; flows
// go from who ended a wait to the waiter. A process has a counter of its threads on CPUs. Each
// sample on a CPU is also a PerfSample at its own instant, for flame graphs of a selected range;
// these have no weights, so time off the CPU is in slices only. See TraceRows. Time stamps are ns
// of CLOCK_MONOTONIC.
#include "client/format/exporter.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/format/timeline/perfetto.pb.h"
#include "client/format/timeline/trace_rows.h"
#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/report_time.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kCleared = 1;  // sequence_flags
constexpr std::uint32_t kNeedsInterned = 2;
constexpr std::uint32_t kRealTime = 1;  // clock_id
constexpr std::uint32_t kBootTime = 6;
constexpr std::uint32_t kCpuClock = 1;
constexpr std::uint32_t kByRank = 3;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kMaxFrameIds = 50'000'000;  // of all callstacks

class Writer {
 public:
  Writer(const v1::Profile& profile, const ExportOptions& options, const TraceRows& rows,
         google::protobuf::io::CodedOutputStream& out)
      : profile_(profile), options_(options), rows_(rows), out_(out) {}

  void Write() {
    WriteHead();
    WriteTracks();
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) WriteSlices(i);
    for (std::size_t i = 0; i < rows_.flows.size(); ++i) WriteFlow(i + 1, rows_.flows[i]);
    for (std::size_t i = 0; i < rows_.counters.size(); ++i) WriteCounter(i);
    if (rows_.timeline.has_times) WriteSamples();
  }

 private:
  // Numbers of tracks: processes, then rows, then counters.
  [[nodiscard]] std::uint64_t ProcessTrack(std::uint32_t process) const { return 1 + process; }
  [[nodiscard]] std::uint64_t RowTrack(std::size_t row) const {
    return 1 + rows_.process_ids.size() + row;
  }
  [[nodiscard]] std::uint64_t CounterTrack(std::size_t counter) const {
    return RowTrack(rows_.rows.size()) + counter;
  }

  void Put(perfetto::TracePacket& packet) {
    constexpr std::uint32_t kPacketTag = 1 << 3 | 2;
    packet.set_trusted_packet_sequence_id(kSequence);
    out_.WriteTag(kPacketTag);
    out_.WriteVarint64(packet.ByteSizeLong());
    packet.SerializeWithCachedSizes(&out_);
  }

  void WriteHead() {
    perfetto::TracePacket packet;
    packet.set_sequence_flags(kCleared);
    packet.set_first_packet_on_sequence(true);
    packet.set_timestamp(rows_.timeline.begin_ns);
    for (const auto& [id, time_ns] :
         {std::pair(kBootTime, profile_.start_ns()), {kRealTime, profile_.start_unix_ns()}}) {
      auto* clock = packet.mutable_clock_snapshot()->add_clocks();
      clock->set_clock_id(id);
      clock->set_timestamp(time_ns);
    }
    auto* timebase =
        packet.mutable_trace_packet_defaults()->mutable_perf_sample_defaults()->mutable_timebase();
    timebase->set_counter(kCpuClock);
    if (profile_.on_cpu_period_ns() != 0)
      timebase->set_frequency((kNsPerSecond + profile_.on_cpu_period_ns() / 2) /
                              profile_.on_cpu_period_ns());
    auto* interned = packet.mutable_interned_data();
    for (std::size_t i = 0; i < rows_.names.size(); ++i) {
      auto* name = interned->add_event_names();
      name->set_iid(i + 1);
      name->set_name(rows_.names[i]);
    }
    if (rows_.timeline.has_times) InternStacks(*interned);
    Put(packet);
  }

  void InternStacks(perfetto::InternedData& interned) {
    const auto build_ids = BuildIdsOf(profile_);
    std::map<std::string, std::uint64_t> mappings;
    std::map<std::string, std::uint64_t> names;
    const auto text = [](auto* strings, std::uint64_t iid, const std::string& value) {
      auto* added = strings->Add();
      added->set_iid(iid);
      added->set_str(value);
    };
    const FrameStyle style{
        .signature = options_.signatures, .mangled = options_.mangled, .line = options_.lines};
    for (const v1::Frame& frame : profile_.frames()) {
      const std::string module = SafeName(frame.module().empty() ? frame.file() : frame.module());
      const auto [mapping, is_new] = mappings.try_emplace(module, mappings.size() + 1);
      if (is_new) {
        text(interned.mutable_mapping_paths(), mapping->second, module);
        const auto id = build_ids.find(module);
        text(interned.mutable_build_ids(), mapping->second,
             id == build_ids.end() ? "" : id->second);
        auto* added = interned.add_mappings();
        added->set_iid(mapping->second);
        added->set_build_id(mapping->second);
        added->add_path_string_ids(mapping->second);
      }
      const auto [name, is_new_name] = names.try_emplace(FrameName(frame, style), names.size() + 1);
      if (is_new_name) text(interned.mutable_function_names(), name->second, name->first);
      auto* added = interned.add_frames();
      added->set_iid(static_cast<std::uint64_t>(interned.frames_size()));
      added->set_function_name_id(name->second);
      added->set_mapping_id(mapping->second);
      added->set_rel_pc(frame.offset());
    }
    InternCallstacks(interned);
  }

  void InternCallstacks(perfetto::InternedData& interned) {
    std::uint64_t ids = 0;
    for (int i = 0; i < profile_.samples().node_size(); ++i) {
      const std::uint32_t node = profile_.samples().node(i);
      if (!IsPoint(i) || !stacks_.insert(node).second) continue;
      std::vector<std::uint64_t> frames;
      for (std::uint32_t at = node; at != 0;) {
        const v1::StackNode& one = profile_.nodes(static_cast<int>(at) - 1);
        frames.push_back(one.frame() + 1ull);
        at = one.parent();
      }
      ids += frames.size();
      if (ids > kMaxFrameIds) {  // the slices have them all
        stacks_.erase(node);
        return;
      }
      auto* stack = interned.add_callstacks();
      stack->set_iid(node);
      stack->mutable_frame_ids()->Add(frames.rbegin(), frames.rend());
    }
  }

  // A sample on a CPU, which is of one instant.
  [[nodiscard]] bool IsPoint(int i) const {
    const v1::Samples& samples = profile_.samples();
    return samples.state(i) == v1::STATE_ON_CPU && samples.count(i) != 0 && samples.node(i) != 0 &&
           profile_.threads(static_cast<int>(samples.thread(i))).group_size() == 0;
  }

  void WriteTracks() {
    for (std::uint32_t i = 0; i < rows_.process_ids.size(); ++i) {
      const v1::Process& process = profile_.processes(static_cast<int>(i));
      perfetto::TracePacket packet;
      auto* track = packet.mutable_track_descriptor();
      track->set_uuid(ProcessTrack(i));
      if (i == 0) track->set_description(rows_.timeline.TimesText());
      track->mutable_process()->set_pid(static_cast<std::int32_t>(rows_.process_ids[i]));
      track->mutable_process()->set_process_name(SafeName(process.comm()));
      if (!process.command_line().empty())
        track->mutable_process()->add_cmdline(SafeName(process.command_line()));
      Put(packet);
    }
    std::size_t thread = 0;
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
      const TraceRow& row = rows_.rows[i];
      perfetto::TracePacket packet;
      auto* track = packet.mutable_track_descriptor();
      track->set_uuid(RowTrack(i));
      switch (row.kind) {
        case RowKind::kStacks:
          thread = i;
          track->mutable_thread()->set_pid(
              static_cast<std::int32_t>(rows_.process_ids[row.process]));
          track->mutable_thread()->set_tid(row.id);
          track->mutable_thread()->set_thread_name(row.name);
          track->set_child_ordering(kByRank);
          break;
        case RowKind::kStates:
        case RowKind::kSwitches:
        case RowKind::kOperators:
          track->set_parent_uuid(RowTrack(thread));
          track->set_name(row.kind == RowKind::kStates     ? "states"
                          : row.kind == RowKind::kSwitches ? "switches, exact"
                                                           : "operators");
          track->set_sibling_order_rank(row.kind == RowKind::kSwitches ? 0
                                        : row.kind == RowKind::kStates ? 1
                                                                       : 2);
          break;
        case RowKind::kSteps:
          track->set_parent_uuid(ProcessTrack(row.process));
          track->set_name(row.name);
          break;
      }
      Put(packet);
    }
    for (std::size_t i = 0; i < rows_.counters.size(); ++i) {
      perfetto::TracePacket packet;
      auto* track = packet.mutable_track_descriptor();
      track->set_uuid(CounterTrack(i));
      track->set_parent_uuid(ProcessTrack(rows_.counters[i].process));
      track->set_name("threads on CPUs");
      track->mutable_counter()->set_unit_name("threads");
      Put(packet);
    }
  }

  // The packet of an event of a track.
  static perfetto::TrackEvent* Event(perfetto::TracePacket& packet, std::uint64_t time_ns,
                                     std::uint64_t track, perfetto::TrackEvent::Type type) {
    packet.set_timestamp(time_ns);
    packet.set_sequence_flags(kNeedsInterned);
    packet.mutable_track_event()->set_track_uuid(track);
    packet.mutable_track_event()->set_type(type);
    return packet.mutable_track_event();
  }

  void WriteSlices(std::size_t row) {
    std::vector<std::uint64_t> open;  // ends, the innermost last
    const auto close = [&](std::uint64_t until_ns) {
      for (; !open.empty() && open.back() <= until_ns; open.pop_back()) {
        perfetto::TracePacket packet;
        Event(packet, open.back(), RowTrack(row), perfetto::TrackEvent::TYPE_SLICE_END);
        Put(packet);
      }
    };
    for (const TraceSlice& slice : rows_.rows[row].slices) {
      close(slice.begin_ns);
      perfetto::TracePacket packet;
      auto* event =
          Event(packet, slice.begin_ns, RowTrack(row), perfetto::TrackEvent::TYPE_SLICE_BEGIN);
      event->set_name_iid(slice.name + 1ull);
      for (const auto& [key, value] : rows_.details[slice.detail]) {
        auto* annotation = event->add_debug_annotations();
        annotation->set_name(key);
        annotation->set_string_value(value);
      }
      Put(packet);
      open.push_back(slice.end_ns);
    }
    close(~0ull);
  }

  void WriteFlow(std::size_t id, const TraceFlow& flow) {
    for (const bool begin : {true, false}) {
      perfetto::TracePacket packet;
      auto* event = Event(packet, flow.time_ns, RowTrack(begin ? flow.from : flow.to),
                          perfetto::TrackEvent::TYPE_INSTANT);
      event->set_name(begin ? "ends a wait" : "wait ends");
      (begin ? event->mutable_flow_ids() : event->mutable_terminating_flow_ids())->Add(id);
      Put(packet);
    }
  }

  void WriteCounter(std::size_t counter) {
    for (const auto& [time_ns, value] : rows_.counters[counter].values) {
      perfetto::TracePacket packet;
      Event(packet, time_ns, CounterTrack(counter), perfetto::TrackEvent::TYPE_COUNTER)
          ->set_double_counter_value(value);
      Put(packet);
    }
  }

  void WriteSamples() {
    std::map<std::uint32_t, std::uint32_t> tids;  // by thread: the id of its row
    for (const TraceRow& row : rows_.rows)
      if (row.kind == RowKind::kStacks) tids.try_emplace(row.thread, row.id);
    const v1::Samples& samples = profile_.samples();
    for (int i = 0; i < samples.time_ns_size(); ++i) {
      const auto tid = tids.find(samples.thread(i));
      if (!IsPoint(i) || !stacks_.contains(samples.node(i)) || tid == tids.end()) continue;
      perfetto::TracePacket packet;
      packet.set_timestamp(samples.time_ns(i));
      packet.set_sequence_flags(kNeedsInterned);
      auto* sample = packet.mutable_perf_sample();
      sample->set_pid(
          rows_.process_ids[profile_.threads(static_cast<int>(samples.thread(i))).process()]);
      sample->set_tid(tid->second);
      sample->set_callstack_iid(samples.node(i));
      Put(packet);
    }
  }

  const v1::Profile& profile_;
  const ExportOptions& options_;
  const TraceRows& rows_;
  google::protobuf::io::CodedOutputStream& out_;
  std::set<std::uint32_t> stacks_;  // nodes that are interned as callstacks
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const auto rows = TraceRows::Of(profile, options);
  if (!rows) return rows.error();
  {
    google::protobuf::io::OstreamOutputStream bytes(&out);
    google::protobuf::io::CodedOutputStream coded(&bytes);
    Writer(profile, options, *rows, coded).Write();
  }
  return FinishStream(out);
}

}  // namespace

Exporter PerfettoExporter() {
  return {.name = "perfetto",
          .extensions = {".perfetto-trace", ".pftrace"},
          .about = "a timeline with counters and samples",
          .viewers = "Perfetto (ui.perfetto.dev, trace_processor)",
          .for_terminals = false,
          .write = Write};
}

}  // namespace profd::client
