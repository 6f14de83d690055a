#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "client/format/svg_parts.h"
#include "client/profile/stack_names.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

struct Totals {
  std::vector<SvgState> parts;  // running, runnable, then blocked, heaviest reason first; none is 0
  std::uint64_t blocked_ns = 0;
  std::uint64_t ns = 0;
  std::uint64_t samples = 0;
};

Totals Add(const v1::Profile& profile) {
  const v1::Samples& samples = profile.samples();
  SvgState running{"running", "", "run", 0};
  SvgState runnable{"runnable", "", "rdy", 0};
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
void WriteLanguages(const v1::Profile& profile, std::ostream& out) {
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
  legend.Add("few", "several, too narrow to be drawn", SvgLegend::kHatchedSquare);
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
  WriteSvgLine(31, "title", {SvgTitle(profile, options)}, out);
  WriteSvgLine(52, "line",
               {FormatDuration(length),
                CountText(static_cast<std::uint64_t>(profile.threads_size()), "thread", "threads") +
                    " with " + FormatDuration(totals.ns) + " in all",
                profile.start_unix_ns() == 0 ? "" : FormatInstant(profile.start_unix_ns()),
                named("host ", profile.host()), named("kernel ", profile.kernel())},
               out);
  WriteSvgBar("bar", 64, totals.parts, totals.ns, out);
  WriteStates(totals, out);
  WriteLanguages(profile, out);
  WriteSvgLine(
      107, "line dim",
      {CountText(totals.samples, "sample", "samples"), FormatCount(Sum(profile.lost())) + " lost",
       FormatCount(Sum(profile.dropped())) + " dropped", ClosureText(profile), PeriodText(profile),
       named("hook ", profile.hook()), named("profd ", profile.profd_version())},
      out);
  out << "</g>\n";
}

}  // namespace profd::client
