// chrome: the trace event format, for ui.perfetto.dev and chrome://tracing.
//
// Times are us since the begin of the profile. A thread has its stacks as nested slices under its
// tid, and its states in a row below, "NAME: states", with on whom it waits; arrows go from who
// ended a wait to the waiter. See TraceRows.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "client/format/exporter.h"
#include "client/format/timeline/trace_rows.h"
#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"
#include "client/text/escape.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

// Colours that chrome://tracing has for states of threads.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kColours{
    {{"working", "thread_state_running"},
     {"running", "thread_state_running"},
     {"spinning", "terrible"},
     {"runnable", "thread_state_runnable"},
     {"blocked:io", "thread_state_iowait"},
     {"blocked", "thread_state_sleeping"},
     {"stolen", "thread_state_unknown"}}};

class Writer {
 public:
  Writer(const v1::Profile& profile, const TraceRows& rows, std::ostream& out)
      : profile_(profile), rows_(rows), out_(out) {
    for (const std::string& name : rows.names) names_.push_back(QuoteJson(name));
    for (const TraceRows::Detail& detail : rows.details) {
      std::string& text = details_.emplace_back();
      for (const auto& [key, value] : detail)
        text += (text.empty() ? "" : ",") + QuoteJson(key) + ":" + QuoteJson(value);
    }
  }

  void Write(const std::string& title) {
    out_ << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"title\":" << QuoteJson(title)
         << ",\"exporter\":" << QuoteJson("profd " + SafeName(profile_.profd_version()))
         << ",\"host\":" << QuoteJson(SafeName(profile_.host())) << ",\"start_unix_ns\":\""
         << profile_.start_unix_ns() << "\",\"times\":" << QuoteJson(rows_.timeline.TimesText())
         << "},\n\"traceEvents\":[";
    WriteNames();
    for (const TraceRow& row : rows_.rows)
      for (const TraceSlice& slice : row.slices) WriteSlice(row, slice);
    for (std::size_t i = 0; i < rows_.flows.size(); ++i) WriteFlow(i + 1, rows_.flows[i]);
    for (const TraceCounter& counter : rows_.counters) WriteCounter(counter);
    out_ << "\n]}\n";
  }

 private:
  // Opens an event.
  std::ostream& Event(char phase, std::uint32_t process, std::uint32_t tid) {
    out_ << std::exchange(comma_, ",\n") << "{\"ph\":\"" << phase
         << "\",\"pid\":" << rows_.process_ids[process] << ",\"tid\":" << tid;
    return out_;
  }

  static std::string Us(std::uint64_t ns) {
    char text[40];
    std::snprintf(text, sizeof text, "%llu.%03llu", static_cast<unsigned long long>(ns / 1000),
                  static_cast<unsigned long long>(ns % 1000));
    return text;
  }
  [[nodiscard]] std::string Time(std::uint64_t ns) const {
    return Us(ns - rows_.timeline.begin_ns);
  }

  void WriteNames() {
    for (int i = 0; i < profile_.processes_size(); ++i)
      Event('M', static_cast<std::uint32_t>(i), 0)
          << ",\"name\":\"process_name\",\"args\":{\"name\":"
          << QuoteJson(ProcessName(profile_.processes(i))) << "}}";
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
      const TraceRow& row = rows_.rows[i];
      Event('M', row.process, row.id)
          << ",\"name\":\"thread_name\",\"args\":{\"name\":" << QuoteJson(row.name) << "}}";
      Event('M', row.process, row.id)
          << ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" << i << "}}";
    }
  }

  void WriteSlice(const TraceRow& row, const TraceSlice& slice) {
    Event('X', row.process, row.id)
        << ",\"ts\":" << Time(slice.begin_ns) << ",\"dur\":" << Us(slice.end_ns - slice.begin_ns)
        << ",\"name\":" << names_[slice.name];
    if (row.kind == RowKind::kStates || row.kind == RowKind::kSwitches)
      for (const auto& [state, colour] : kColours)
        if (rows_.names[slice.name].starts_with(state)) {
          out_ << ",\"cname\":\"" << colour << '"';
          break;
        }
    if (slice.detail != 0) out_ << ",\"args\":{" << details_[slice.detail] << '}';
    out_ << '}';
  }

  void WriteFlow(std::size_t id, const TraceFlow& flow) {
    for (const bool begin : {true, false}) {
      const TraceRow& row = rows_.rows[begin ? flow.from : flow.to];
      Event(begin ? 's' : 'f', row.process, row.id)
          << ",\"ts\":" << Time(flow.time_ns) << ",\"id\":" << id
          << ",\"cat\":\"waker\",\"name\":\"ends the wait\"" << (begin ? "}" : ",\"bp\":\"e\"}");
    }
  }

  void WriteCounter(const TraceCounter& counter) {
    for (const auto& [time_ns, value] : counter.values)
      Event('C', counter.process, 0)
          << ",\"ts\":" << Time(time_ns)
          << ",\"name\":\"threads on CPUs\",\"args\":{\"threads\":" << FormatDecimals(value, 3)
          << "}}";
  }

  const v1::Profile& profile_;
  const TraceRows& rows_;
  std::ostream& out_;
  std::vector<std::string> names_;    // quoted
  std::vector<std::string> details_;  // members of an object
  const char* comma_ = "\n";
};

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const auto rows = TraceRows::Of(profile, options);
  if (!rows) return rows.error();
  Writer(profile, *rows, out)
      .Write(options.title.empty() ? TitleOf(profile) : SafeName(options.title));
  return FinishStream(out);
}

}  // namespace

Exporter ChromeExporter() {
  return {.name = "chrome",
          .extensions = {".trace.json", ".chrome.json"},
          .about = "a timeline of stacks, states and who ends waits",
          .viewers = "Perfetto (ui.perfetto.dev), chrome://tracing",
          .write = Write};
}

}  // namespace profd::client
