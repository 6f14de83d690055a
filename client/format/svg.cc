// svg: the flame graph as one self-contained file.
//
// Holds the picture as it is at full width, the whole tree as data, and the script that draws it
// again for zoom, search and window width (svg/). Without script the picture stays. Nothing is
// fetched.
#include "client/format/exporter.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "client/format/svg/svg_frames.h"
#include "client/format/svg/svg_page.h"
#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

struct Totals {
  std::vector<SvgState> parts;  // working, spinning, runnable, then blocked, heaviest reason first
  std::uint64_t blocked_ns = 0;
  std::uint64_t ns = 0;
  std::uint64_t samples = 0;
};

Totals Add(const v1::Profile& profile) {
  const v1::Samples& samples = profile.samples();
  SvgState working{"working", "", "run", 0};
  SvgState spinning{"spinning", "", "spn", 0};
  SvgState runnable{"runnable", "", "rdy", 0};
  std::array<std::uint64_t, v1::WaitReason_ARRAYSIZE> blocked{};
  Totals totals;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const std::uint64_t ns = samples.weight_ns(i);
    totals.ns += ns;
    totals.samples += samples.count(i);
    if (samples.state(i) == v1::STATE_ON_CPU) {
      (IsSpinning(profile, i) ? spinning : working).ns += ns;
    } else if (samples.state(i) == v1::STATE_RUNNABLE) {
      runnable.ns += ns;
    } else {
      const v1::WaitReason wait = samples.wait(i);
      blocked[static_cast<std::size_t>(v1::WaitReason_IsValid(wait) ? wait : v1::WAIT_OTHER)] += ns;
      totals.blocked_ns += ns;
    }
  }
  totals.parts = {working, spinning, runnable};
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    const auto wait = static_cast<v1::WaitReason>(i);
    const std::string name(WaitName(wait));
    totals.parts.push_back({"blocked", name.empty() ? "unknown" : name,
                            SvgClass(NodeKind::kBlocked, StateFrameName(v1::STATE_BLOCKED, wait)),
                            blocked[i]});
  }
  std::stable_sort(totals.parts.begin() + 3, totals.parts.end(),
                   [](const SvgState& a, const SvgState& b) { return a.ns > b.ns; });
  std::erase_if(totals.parts, [](const SvgState& part) { return part.ns == 0; });
  return totals;
}

// Has to fit a narrow window: of many reasons the lightest are summed up. The bar has them all.
void WriteStates(const Totals& totals, std::ostream& out) {
  constexpr std::size_t kMostReasons = 4;
  SvgLegend legend(127, out);
  for (const SvgState& part : totals.parts)
    if (part.reason.empty()) legend.Add(part.style, SvgStateText(part, totals.ns));
  if (totals.blocked_ns == 0) return;
  legend.AddText("blocked " + FormatShare(totals.blocked_ns, totals.ns) + ":");
  std::size_t shown = 0;
  std::uint64_t more = 0;
  std::uint64_t more_ns = 0;
  const auto reasons = std::count_if(totals.parts.begin(), totals.parts.end(),
                                     [](const SvgState& part) { return !part.reason.empty(); });
  for (const SvgState& part : totals.parts) {
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
void WriteLanguages(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  std::array<bool, v1::FrameKind_ARRAYSIZE> seen{};
  for (const v1::Frame& frame : profile.frames())
    if (v1::FrameKind_IsValid(frame.kind())) seen[static_cast<std::size_t>(frame.kind())] = true;
  constexpr std::pair<v1::FrameKind, std::pair<const char*, const char*>> kLanguages[] = {
      {v1::FRAME_NATIVE, {"nat", "native"}},
      {v1::FRAME_PYTHON, {"pyt", "Python"}},
      {v1::FRAME_JIT, {"jit", "JIT"}},
      {v1::FRAME_KERNEL, {"ker", "kernel"}}};
  SvgLegend legend(145, out);
  for (const auto& [kind, language] : kLanguages)
    if (seen[static_cast<std::size_t>(kind)]) legend.Add(language.first, language.second);
  legend.Add("pro", "process, thread");
  if (options.on_whom != PathDetail::kNone && profile.paths_size() > 0)
    legend.Add("who", "on whom it waits");
  legend.Add("few", "several, too narrow to be drawn", SvgLegend::kHatchedSquare);
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

std::string MissingClocks(const v1::Profile& profile) {
  const auto missing = std::ranges::count_if(profile.threads(), &v1::Thread::clock_missing);
  if (missing == 0 || !profile.filter().empty()) return "";
  return ", " + FormatCount(static_cast<std::uint64_t>(missing)) + " threads without clock";
}

std::string Title(const v1::Profile& profile, const ExportOptions& options) {
  return options.title.empty() ? TitleOf(profile) : SafeName(options.title);
}

void WriteHead(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  const Totals totals = Add(profile);
  const auto named = [](std::string_view word, const std::string& text) {
    return text.empty() ? "" : std::string(word) + SafeName(text);
  };
  out << "<g id=\"head\">\n";
  WriteSvgLine(31, "title", {Title(profile, options)}, out);
  WriteSvgLine(52, "line",
               {FormatDuration(LengthNs(profile)),
                FormatCount(ThreadCount(profile), "thread") + " with " + FormatDuration(totals.ns) +
                    " in all",
                profile.start_unix_ns() == 0 ? "" : FormatInstant(profile.start_unix_ns()),
                named("host ", profile.host()), named("kernel ", profile.kernel())},
               out);
  WriteSvgBar("bar", 64, totals.parts, totals.ns, out);
  WriteStates(totals, out);
  WriteLanguages(profile, options, out);
  WriteSvgLine(107, "line dim",
               {FormatCount(totals.samples, "sample"), FormatCount(SumOf(profile.lost())) + " lost",
                FormatCount(SumOf(profile.dropped())) + " dropped",
                ClosureText(profile) + MissingClocks(profile), PeriodText(profile),
                named("hook ", profile.hook()), named("profd ", profile.profd_version())},
               out);
  out << "</g>\n";
}

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const auto graph = FlameGraph::Build(profile, options);
  if (!graph) return graph.error();
  const SvgPicture picture(*graph);
  const ProfileFrames frames(profile, *graph);
  WriteSvgPage(
      {.title = Title(profile, options), .rows = picture.rows()},
      [&](std::ostream& to) { WriteHead(profile, options, to); },
      [&](std::ostream& to) { WriteSvgData(*graph, frames, {}, to); },
      [&](std::ostream& to) { picture.Write(frames, to); }, out);
  return FinishStream(out);
}

}  // namespace

Exporter SvgExporter() {
  return {.name = "svg",
          .extensions = {".svg"},
          .about = "a flame graph to click through",
          .viewers = "any browser",
          .for_terminals = false,
          .write = Write};
}

}  // namespace profd::client
