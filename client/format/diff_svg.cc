#include "client/format/diff_svg.h"
#include "client/format/exporter.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/format/svg/svg_frames.h"
#include "client/format/svg/svg_page.h"
#include "client/profile/stack_names.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kHeadHeight = 244;
constexpr std::string_view kArrowUp = "\xE2\x96\xB2";
constexpr std::string_view kArrowDown = "\xE2\x96\xBC";

// "+1.20 s, +50.0 %"; "new" and "gone" where there is nothing on one side.
std::string ChangeText(const DiffTime& time) {
  if (time.a_ns == 0) return "new";
  if (time.b_ns == 0) return "gone";
  const std::int64_t change = time.change_ns();
  return (change < 0 ? "-" : "+") + FormatDuration(static_cast<std::uint64_t>(std::llabs(change))) +
         ", " + FormatChange(100 * static_cast<double>(change) / static_cast<double>(time.a_ns), 1);
}

class DiffFrames : public SvgFrames {
 public:
  // All must outlive it.
  DiffFrames(const Diff& diff, const v1::Profile& a, const v1::Profile& b)
      : diff_(diff), a_(a), b_(b) {}

  std::string ClassOf(const FlameNode& frame) const override {
    const Change change = ChangeTo(frame);
    if (change == Change::kNone) return "same";
    return (Time(frame).change_ns() > 0 ? "up" : "dn") + std::to_string(static_cast<int>(change));
  }
  std::string MarkOf(const FlameNode& frame) const override {
    if (ChangeTo(frame) == Change::kNone) return "";
    return std::string(Time(frame).change_ns() > 0 ? kArrowUp : kArrowDown) + " ";
  }
  std::string PlaceOf(const FlameNode& frame) const override {
    return SvgPlace(diff_.frame_is_a[frame.node] ? a_ : b_, diff_.tree.nodes[frame.node]);
  }
  std::string TextOf(const FlameNode& frame) const override {
    const DiffTime& time = Time(frame);
    return "A " + FormatDuration(time.a_ns) + ", B " + FormatDuration(time.b_ns) + ": " +
           ChangeText(time);
  }

 private:
  const DiffTime& Time(const FlameNode& frame) const { return diff_.total[frame.node]; }
  Change ChangeTo(const FlameNode& frame) const {
    return ChangeOf(Time(frame), {diff_.scale, diff_.tree.nodes.size()});
  }

  const Diff& diff_;
  const v1::Profile& a_;
  const v1::Profile& b_;
};

FlameGraph GraphOf(const Diff& diff, bool of_a) {
  StackTree tree = diff.tree;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    tree.nodes[i].self_ns = of_a ? diff.self[i].a_ns : diff.self[i].b_ns;
    tree.nodes[i].self_count = of_a ? diff.self[i].a_count : diff.self[i].b_count;
  }
  return FlameGraph::Lay(std::move(tree));
}

void WriteData(const Diff& diff, const FlameGraph& graph, const DiffFrames& frames, bool of_a,
               std::ostream& out) {
  std::vector<std::uint64_t> others;
  others.reserve(graph.nodes.size());
  for (const FlameNode& frame : graph.nodes)
    others.push_back(of_a ? diff.total[frame.node].b_ns : diff.total[frame.node].a_ns);
  WriteSvgData(graph, frames, others, out);
}

std::vector<SvgState> StatesOf(const Diff& diff, bool of_a) {
  std::vector<SvgState> states;
  for (const DiffState& state : DiffStates(diff)) {
    const std::uint64_t ns = of_a ? state.time.a_ns : state.time.b_ns;
    if (ns == 0) continue;
    if (state.kind == NodeKind::kBlocked)
      states.push_back({"blocked", state.name, "blk " + state.name, ns});
    else
      states.push_back({state.name, "", SvgClass(state.kind, ""), ns});
  }
  return states;
}

// As much as the stacks that only one side has.
std::uint64_t OnlyIn(const Diff& diff, bool a) {
  std::uint64_t ns = 0;
  for (const DiffTime& time : diff.self)
    if ((a ? time.b_ns : time.a_ns) == 0) ns += a ? time.a_ns : time.b_ns;
  return ns;
}

void WriteSide(std::string_view letter, const DiffSide& side, int y, const Diff& diff,
               std::ostream& out) {
  const bool of_a = letter == "A";
  WriteSvgLine(y, "line",
               {std::string(letter) + " " + side.name, side.title, FormatDuration(side.elapsed_ns),
                FormatCount(side.threads, "thread"), FormatCount(side.samples) + " samples",
                FormatCount(side.lost) + " lost",
                side.start_unix_ns == 0 ? "" : FormatInstant(side.start_unix_ns)},
               out);
  WriteSvgBar(of_a ? "bar-a" : "bar-b", y + 7, StatesOf(diff, of_a), side.total_ns, out);
}

void WriteHead(const Diff& diff, std::ostream& out) {
  out << "<g id=\"head\">\n";
  WriteSvgLine(31, "title", {diff.a.name + " \xE2\x86\x92 " + diff.b.name}, out);
  WriteSide("A", diff.a, 54, diff, out);
  WriteSide("B", diff.b, 104, diff, out);
  {
    SvgLegend legend(154, out);
    legend.AddText("B against A:");
    legend.Add("dn4", "gone", kArrowDown);
    legend.Add("dn3", "50 %", kArrowDown);
    legend.Add("dn2", "20 %", kArrowDown);
    legend.Add("dn1", "5 % less", kArrowDown);
    legend.Add("same", "as much, or maybe chance");
    legend.Add("up1", "5 %", kArrowUp);
    legend.Add("up2", "20 %", kArrowUp);
    legend.Add("up3", "50 % more", kArrowUp);
    legend.Add("up4", "new", kArrowUp);
    legend.Add("few", "several, too narrow to be drawn", SvgLegend::kHatchedSquare);
  }
  {
    SvgLegend legend(192, out);
    legend.AddText("Bars:");
    legend.Add("run", "working");
    legend.Add("spn", "spinning");
    legend.Add("rdy", "runnable");
    legend.Add("blk", "blocked, by reason");
  }
  std::string scaled;
  if (diff.scale != 1) {
    scaled =
        "times of A are multiplied by " + FormatFactor(diff.scale) + ", as if it were as long as B";
  }
  WriteSvgLine(
      174, "line dim",
      {FormatDuration(OnlyIn(diff, true)) + " of A in stacks that B does not have",
       FormatDuration(OnlyIn(diff, false)) + " of B in stacks that A does not have", scaled},
      out);
  out << "</g>\n";
}

}  // namespace

Change ChangeOf(const DiffTime& time, const ComparedTimes& of) {
  constexpr std::array kFrom{0.05, 0.2, 0.5, 0.9};
  const auto larger = static_cast<double>(std::max(time.a_ns, time.b_ns));
  const auto change = static_cast<double>(std::llabs(time.change_ns()));
  int level = 0;
  for (const double from : kFrom)
    if (change >= from * larger && change > 0) ++level;
  return level == 0 || IsNoise(time, of) ? Change::kNone : static_cast<Change>(level);
}

Result<void> WriteDiffSvg(const Diff& diff, const v1::Profile& a, const v1::Profile& b,
                          std::ostream& out) {
  const FlameGraph graph_a = GraphOf(diff, true);
  const FlameGraph graph_b = GraphOf(diff, false);
  const DiffFrames frames(diff, a, b);
  // Where B has nothing, A is all there is to see.
  const FlameGraph& shown = graph_b.nodes.empty() ? graph_a : graph_b;
  const SvgPicture picture(shown);
  WriteSvgPage(
      {.title = diff.a.name + " and " + diff.b.name,
       .head_height = kHeadHeight,
       .rows = picture.rows(),
       .when_empty = "There are no samples in these profiles."},
      [&](std::ostream& to) { WriteHead(diff, to); },
      [&](std::ostream& to) {
        to << "{\"b\":";
        WriteData(diff, graph_b, frames, false, to);
        to << ",\n\"a\":";
        WriteData(diff, graph_a, frames, true, to);
        to << "}\n";
      },
      [&](std::ostream& to) { picture.Write(frames, to); }, out);
  return FinishStream(out);
}

}  // namespace profd::client
