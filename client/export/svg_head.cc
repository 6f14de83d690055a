#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "client/export/escape.h"
#include "client/export/format_text.h"
#include "client/export/stack_names.h"
#include "client/export/svg_parts.h"

namespace profd::client {
namespace {

// A part of the bar: a state, blocked by reason.
struct Part {
  std::string name;    // "running", "blocked"
  std::string reason;  // of blocked: "lock", "unknown"
  std::string style;   // class
  std::uint64_t ns = 0;
};

struct Totals {
  std::vector<Part> parts;  // running, runnable, then blocked, heaviest reason first; none is 0
  std::uint64_t blocked_ns = 0;
  std::uint64_t ns = 0;
  std::uint64_t samples = 0;
};

Totals Add(const v1::Profile& profile) {
  const v1::Samples& samples = profile.samples();
  Part running{"running", "", "run", 0};
  Part runnable{"runnable", "", "rdy", 0};
  std::array<std::uint64_t, v1::WaitReason_ARRAYSIZE> blocked{};
  Totals totals;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const std::uint64_t ns = samples.weight_ns(i);
    totals.ns += ns;
    totals.samples += samples.count(i);
    if (samples.state(i) == v1::STATE_ON_CPU) {
      running.ns += ns;
    } else if (samples.state(i) == v1::STATE_RUNNABLE) {
      runnable.ns += ns;
    } else {
      const v1::WaitReason wait = samples.wait(i);
      blocked[static_cast<std::size_t>(v1::WaitReason_IsValid(wait) ? wait : v1::WAIT_OTHER)] += ns;
      totals.blocked_ns += ns;
    }
  }
  totals.parts = {running, runnable};
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    const auto wait = static_cast<v1::WaitReason>(i);
    const std::string name(WaitName(wait));
    totals.parts.push_back({"blocked", name.empty() ? "unknown" : name,
                            SvgClass(NodeKind::kBlocked, StateFrameName(v1::STATE_BLOCKED, wait)),
                            blocked[i]});
  }
  std::stable_sort(totals.parts.begin() + 2, totals.parts.end(),
                   [](const Part& a, const Part& b) { return a.ns > b.ns; });
  std::erase_if(totals.parts, [](const Part& part) { return part.ns == 0; });
  return totals;
}

// "blocked: lock 79.8 %"
std::string Words(const Part& part, const Totals& totals) {
  return part.name + (part.reason.empty() ? "" : ": " + part.reason) + " " +
         FormatShare(part.ns, totals.ns);
}

std::string Percent(std::uint64_t part, std::uint64_t whole) {
  char text[32];
  const double share = whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  const int size = std::snprintf(text, sizeof text, "%.4f%%", 100 * share);
  return std::string(text, static_cast<std::size_t>(size));
}

void WriteBar(const Totals& totals, std::ostream& out) {
  out << R"(<svg id="bar" x="1%" y="64" width="98%" height="24">)"
      << R"(<rect class="empty" width="100%" height="100%"/>)";
  std::uint64_t at = 0;
  for (const Part& part : totals.parts) {
    const std::string text = Words(part, totals);
    out << "<svg x=\"" << Percent(at, totals.ns) << "\" width=\"" << Percent(part.ns, totals.ns)
        << "\" height=\"24\"><title>" << EscapeXml(text + ", " + FormatDuration(part.ns))
        << "</title><rect class=\"" << part.style << R"(" width="100%" height="100%"/>)";
    // A name that would be cut in a window of usual width says nothing.
    if (part.ns >= totals.ns / 9)
      out << "<text class=\"" << part.style << R"( in" x="6" y="16">)" << EscapeXml(text)
          << "</text>";
    out << "</svg>\n";
    at += part.ns;
  }
  out << "</svg>\n";
}

class Legend {
 public:
  Legend(int y, std::ostream& out) : out_(out) {
    out_ << R"(<text class="line" x="1%" y=")" << y << "\">";
  }
  ~Legend() { out_ << "</text>\n"; }
  Legend(const Legend&) = delete;
  Legend& operator=(const Legend&) = delete;

  void AddText(const std::string& text) { AddSpan("", text, 12); }
  void Add(std::string_view style, const std::string& text, std::string_view mark = kSquare) {
    AddSpan("key " + std::string(style), std::string(mark), 12);
    AddSpan("", text, 4);
  }
  static constexpr std::string_view kSquare = "\xE2\x96\xA0";
  static constexpr std::string_view kHatchedSquare = "\xE2\x96\xA8";

 private:
  void AddSpan(const std::string& style, const std::string& text, int gap) {
    out_ << "<tspan";
    if (!style.empty()) out_ << " class=\"" << style << '"';
    if (!first_) out_ << " dx=\"" << gap << '"';
    out_ << '>' << EscapeXml(text) << "</tspan>";
    first_ = false;
  }

  std::ostream& out_;
  bool first_ = true;
};

// Has to fit a narrow window: of many reasons the lightest are summed up. The bar has them all.
void WriteStates(const Totals& totals, std::ostream& out) {
  constexpr std::size_t kMostReasons = 4;
  Legend legend(127, out);
  for (const Part& part : totals.parts)
    if (part.reason.empty()) legend.Add(part.style, Words(part, totals));
  if (totals.blocked_ns == 0) return;
  legend.AddText("blocked " + FormatShare(totals.blocked_ns, totals.ns) + ":");
  std::size_t shown = 0;
  std::uint64_t more = 0;
  std::uint64_t more_ns = 0;
  const auto reasons = std::count_if(totals.parts.begin(), totals.parts.end(),
                                     [](const Part& part) { return !part.reason.empty(); });
  for (const Part& part : totals.parts) {
    if (part.reason.empty()) continue;
    if (static_cast<std::size_t>(reasons) <= kMostReasons || ++shown < kMostReasons) {
      legend.Add(part.style, part.reason + " " + FormatShare(part.ns, totals.ns));
    } else {
      ++more;
      more_ns += part.ns;
    }
  }
  if (more > 0)
    legend.AddText("and " + FormatCount(more) + " more " + FormatShare(more_ns, totals.ns));
}

// Only what the graph holds.
void WriteLanguages(const v1::Profile& profile, std::ostream& out) {
  std::array<bool, v1::FrameKind_ARRAYSIZE> seen{};
  for (const v1::Frame& frame : profile.frames())
    if (v1::FrameKind_IsValid(frame.kind())) seen[static_cast<std::size_t>(frame.kind())] = true;
  constexpr std::pair<v1::FrameKind, std::pair<const char*, const char*>> kLanguages[] = {
      {v1::FRAME_NATIVE, {"nat", "native"}},
      {v1::FRAME_PYTHON, {"pyt", "Python"}},
      {v1::FRAME_JIT, {"jit", "JIT"}},
      {v1::FRAME_KERNEL, {"ker", "kernel"}}};
  Legend legend(145, out);
  for (const auto& [kind, language] : kLanguages)
    if (seen[static_cast<std::size_t>(kind)]) legend.Add(language.first, language.second);
  legend.Add("pro", "process, thread");
  legend.Add("few", "several, too narrow to be drawn", Legend::kHatchedSquare);
}

std::uint64_t Sum(const google::protobuf::RepeatedPtrField<v1::NamedCount>& counts) {
  std::uint64_t sum = 0;
  for (const v1::NamedCount& count : counts) sum += count.count();
  return sum;
}

std::string PeriodText(const v1::Profile& profile) {
  const std::string on = FormatDuration(profile.on_cpu_period_ns());
  const std::string off = FormatDuration(profile.off_cpu_period_ns());
  switch (ModeOf(profile)) {
    case Mode::kOnCpu:
      return "period " + on;
    case Mode::kOffCpu:
      return "period " + off;
    default:
      return on == off ? "period " + on : "period " + on + " on CPU, " + off + " off CPU";
  }
}

// The worst closure error of a thread that has a clock.
std::string ClosureText(const v1::Profile& profile) {
  double worst = 0;
  std::uint64_t missing = 0;
  for (const v1::Thread& thread : profile.threads()) {
    if (thread.clock_missing())
      ++missing;
    else if (std::isfinite(thread.closure_error()))
      worst = std::max(worst, std::abs(thread.closure_error()));
  }
  char text[48];
  std::snprintf(text, sizeof text, "closure %.2f %%", 100 * std::min(worst, 1e6));
  return missing == 0 ? text
                      : std::string(text) + ", " + FormatCount(missing) + " threads without clock";
}

std::string CountText(std::uint64_t count, const std::string& one, const std::string& several) {
  return FormatCount(count) + " " + (count == 1 ? one : several);
}

void WriteLine(int y, std::string_view style, const std::vector<std::string>& parts,
               std::ostream& out) {
  out << R"(<text class=")" << style << R"(" x="1%" y=")" << y << "\">";
  const char* separator = "";
  for (const std::string& part : parts)
    if (!part.empty()) out << std::exchange(separator, " \xC2\xB7 ") << EscapeXml(part);
  out << "</text>\n";
}

}  // namespace

std::string SvgTitle(const v1::Profile& profile, const ExportOptions& options) {
  return options.title.empty() ? TitleOf(profile) : SafeName(options.title);
}

void WriteSvgHead(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  const Totals totals = Add(profile);
  const std::uint64_t length =
      profile.end_ns() > profile.start_ns() ? profile.end_ns() - profile.start_ns() : 0;
  const auto named = [](std::string_view word, const std::string& text) {
    return text.empty() ? "" : std::string(word) + SafeName(text);
  };
  out << "<g id=\"head\">\n";
  WriteLine(31, "title", {SvgTitle(profile, options)}, out);
  WriteLine(52, "line",
            {FormatDuration(length),
             CountText(static_cast<std::uint64_t>(profile.threads_size()), "thread", "threads") +
                 " with " + FormatDuration(totals.ns) + " in all",
             profile.start_unix_ns() == 0 ? "" : FormatInstant(profile.start_unix_ns()),
             named("host ", profile.host()), named("kernel ", profile.kernel())},
            out);
  WriteBar(totals, out);
  WriteStates(totals, out);
  WriteLanguages(profile, out);
  WriteLine(
      107, "line dim",
      {CountText(totals.samples, "sample", "samples"), FormatCount(Sum(profile.lost())) + " lost",
       FormatCount(Sum(profile.dropped())) + " dropped", ClosureText(profile), PeriodText(profile),
       named("hook ", profile.hook()), named("profd ", profile.profd_version())},
      out);
  out << "</g>\n";
}

}  // namespace profd::client
