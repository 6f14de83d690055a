// callgrind: functions with the cost of their lines and calls, for KCachegrind and its like.
//
// Events are ns: Wall, which is the sum of the others, Working, Spinning, Runnable, Blocked and
// Stolen. A function is one of a file and an object (its module); all threads and processes are
// summed up, and [all] calls what their stacks begin with: readers take the sum of the calls to a
// function for its inclusive cost. The number of calls is not known: `calls=` has sampling points.
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "client/format/exporter.h"
#include "client/format/graph/call_graph.h"
#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

// In the order of TimePart.
constexpr std::array<std::string_view, kParts> kEvents{"Working", "Spinning", "Runnable", "Blocked",
                                                       "Stolen"};
constexpr std::array<std::string_view, kParts> kEventTexts{
    "on a CPU, working (ns)", "on a CPU, waiting with it in hand (ns)", "ready, without a CPU (ns)",
    "blocked (ns)", "taken by interrupts or the hypervisor (ns)"};
constexpr std::string_view kUnknown = "???";
constexpr std::string_view kRoot = "[all]";

// Names are written once and then referred to by number.
class Names {
 public:
  std::string Of(const std::string& name) {
    const auto next = numbers_.size() + 1;
    const auto [known, is_new] = numbers_.try_emplace(name, next);
    std::string text = "(" + std::to_string(known->second) + ")";
    if (is_new) text += " " + (name.empty() ? std::string(kUnknown) : name);
    return text;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

class Writer {
 public:
  Writer(const std::vector<GraphFunction>& functions, const CallGraph& graph, std::ostream& out)
      : functions_(functions), graph_(graph), out_(out), is_named_(functions.size()) {}

  void WriteHead(const v1::Profile& profile, const ExportOptions& options) {
    out_ << "# callgrind format\nversion: 1\ncreator: profd " << SafeName(profile.profd_version())
         << "\ncmd: " << (options.title.empty() ? TitleOf(profile) : SafeName(options.title))
         << "\ndesc: Time range: " << FormatDuration(LengthNs(profile)) << ", "
         << FormatCount(ThreadCount(profile), "thread") << "; host " << SafeName(profile.host())
         << "\npositions: line\n"
         << "event: Wall : time of all threads (ns)\n";
    for (std::size_t i = 0; i < kParts; ++i)
      out_ << "event: " << kEvents[i] << " : " << kEventTexts[i] << "\n";
    out_ << "events: Wall";
    for (const std::string_view event : kEvents) out_ << ' ' << event;
    out_ << "\n";
  }

  void WriteRoot() {
    WriteFunction({std::string(kRoot), "", ""}, "(0) " + std::string(kRoot));
    for (const auto& [function, time] : graph_.roots) WriteCall(0, function, time);
  }

  void WriteFunctions() {
    auto self = graph_.self.begin();
    auto call = graph_.calls.begin();
    for (std::uint32_t i = 0; i < functions_.size(); ++i) {
      const auto is_next_self = [&] {
        return self != graph_.self.end() && self->first.function == i;
      };
      const auto is_next_call = [&] {
        return call != graph_.calls.end() && call->first.first.function == i;
      };
      if (!is_next_self() && !is_next_call()) continue;
      WriteFunction(functions_[i], NameOf(i));
      for (; is_next_self(); ++self) WriteCost(self->first.line, self->second);
      for (; is_next_call(); ++call)
        WriteCall(call->first.first.line, call->first.second, call->second);
    }
  }

  void WriteTotals(const ReportTime& all) {
    out_ << "\ntotals:";
    WriteEvents(all);
  }

 private:
  // Functions of one name may be of several files.
  std::string NameOf(std::uint32_t function) {
    std::string text = "(" + std::to_string(function + 1) + ")";
    if (!is_named_[function]) text += " " + functions_[function].name;
    is_named_[function] = true;
    return text;
  }

  void WriteFunction(const GraphFunction& function, const std::string& name) {
    out_ << "\nob=" << objects_.Of(function.module) << "\nfl=" << files_.Of(function.file)
         << "\nfn=" << name << "\n";
  }

  void WriteCall(std::uint32_t line, std::uint32_t callee, const ReportTime& time) {
    const GraphFunction& called = functions_[callee];
    constexpr std::uint64_t kLeastCalls = 1;  // what was measured without a sample, too
    out_ << "cob=" << objects_.Of(called.module) << "\ncfi=" << files_.Of(called.file)
         << "\ncfn=" << NameOf(callee) << "\ncalls=" << std::max(time.all().points, kLeastCalls)
         << " 0\n";
    WriteCost(line, time);
  }

  void WriteCost(std::uint32_t line, const ReportTime& time) {
    out_ << line;
    WriteEvents(time);
  }

  void WriteEvents(const ReportTime& time) {
    out_ << ' ' << time.all().ns;
    for (const SampledTime& part : time.parts) out_ << ' ' << part.ns;
    out_ << "\n";
  }

  const std::vector<GraphFunction>& functions_;
  const CallGraph& graph_;
  std::ostream& out_;
  Names objects_;
  Names files_;
  std::vector<bool> is_named_;  // by function: its name is written
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const PlaceTree tree = PlaceTree::Of(profile, options);
  const CallGraph graph = CallGraph::Of(tree);
  Writer writer(tree.functions, graph, out);
  writer.WriteHead(profile, options);
  writer.WriteRoot();
  writer.WriteFunctions();
  writer.WriteTotals(TimeOf(profile));
  return FinishStream(out);
}

}  // namespace

Exporter CallgrindExporter() {
  return {.name = "callgrind",
          .extensions = {".callgrind", ".callgrind.out"},
          .about = "functions with the time of their lines and calls",
          .viewers = "KCachegrind, QCachegrind, callgrind_annotate",
          .write = Write};
}

}  // namespace profd::client
