#include "client/format/svg/svg_frames.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "client/format/svg/svg_page.h"
#include "client/profile/stack_names.h"
#include "client/text/escape.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

// Numbers strings in the order they are met.
class Strings {
 public:
  std::uint32_t Add(const std::string& text) {
    const auto [known, added] = ids_.emplace(text, static_cast<std::uint32_t>(ids_.size()));
    if (added) texts_.push_back(&known->first);
    return known->second;
  }
  void Write(std::ostream& out) const {
    const char* comma = "";
    for (const std::string* text : texts_) out << std::exchange(comma, ",\n") << QuoteJson(*text);
  }

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<const std::string*> texts_;
};

std::string LinesText(const TreeNode& node) {
  if (node.first_line == 0) return "";
  if (node.first_line == node.last_line) return ":" + std::to_string(node.first_line);
  return ":" + std::to_string(node.first_line) + "-" + std::to_string(node.last_line);
}

template <typename Number>
void WriteColumn(std::string_view name, const FlameGraph& graph, const Number& number,
                 std::ostream& out) {
  out << ",\n\"" << name << "\":[";
  const char* comma = "";
  for (const FlameNode& frame : graph.nodes) out << std::exchange(comma, ",") << number(frame);
  out << ']';
}

// Frames narrower than this share of the width are merged, as long as few enough remain.
constexpr double kNarrowest = 1.0 / 1200;
constexpr std::size_t kMostFrames = 2000;
// From here on a frame shows the beginning of its name, and (a little earlier) has a tooltip.
constexpr double kNamed = 0.02;
constexpr double kTooltip = 0.004;

class Writer {
 public:
  Writer(const FlameGraph& graph, const SvgFrames& frames, std::uint32_t rows, std::ostream& out)
      : graph_(graph), frames_(frames), rows_(rows), out_(out) {}

  void Write(const FlameNode& frame) {
    const double share = Share(frame.total_ns);
    const std::string& label = graph_.LabelOf(frame);
    const std::string style = frames_.ClassOf(frame);
    out_ << "<rect class=\"" << style << '"';
    Place(frame.depth, frame.start_ns, frame.total_ns);
    if (share < kTooltip) {
      out_ << "/>\n";
      return;
    }
    out_ << "><title>" << EscapeXml(label) << '\n'
         << FormatShare(frame.total_ns, graph_.total_ns) << ", " << FormatDuration(frame.total_ns)
         << ", " << EscapeXml(frames_.TextOf(frame)) << "</title></rect>\n";
    if (share < kNamed) return;
    out_ << "<svg";  // cuts the name at the frame's edge, whatever the window's width
    Place(frame.depth, frame.start_ns, frame.total_ns);
    out_ << "><text class=\"" << style << R"( in" x="4" y="13">)" << frames_.MarkOf(frame)
         << EscapeXml(label) << "</text></svg>\n";
  }

  void Write(const SvgPicture::Merged& merged) {
    out_ << R"(<rect class="few")";
    Place(merged.depth, merged.start_ns, merged.total_ns);
    if (Share(merged.total_ns) < kTooltip) {
      out_ << "/>\n";
      return;
    }
    out_ << "><title>" << FormatCount(merged.frames) << " frames, each too narrow to be drawn\n"
         << FormatShare(merged.total_ns, graph_.total_ns) << ", " << FormatDuration(merged.total_ns)
         << "</title></rect>\n";
  }

 private:
  double Share(std::uint64_t ns) const {
    return static_cast<double>(ns) / static_cast<double>(graph_.total_ns);
  }

  void Place(std::uint32_t depth, std::uint64_t start_ns, std::uint64_t total_ns) {
    out_ << " x=\"" << SvgPercent(start_ns, graph_.total_ns) << "\" y=\""
         << (rows_ - 1 - depth) * kSvgRowHeight << "\" width=\""
         << SvgPercent(total_ns, graph_.total_ns) << "\" height=\"" << kSvgRowHeight << '"';
  }

  const FlameGraph& graph_;
  const SvgFrames& frames_;
  const std::uint32_t rows_;
  std::ostream& out_;
};

}  // namespace

std::string ProfileFrames::ClassOf(const FlameNode& frame) const {
  return SvgClass(graph_.TreeNodeOf(frame).kind, graph_.LabelOf(frame));
}

std::string ProfileFrames::MarkOf(const FlameNode& /*frame*/) const { return ""; }

std::string ProfileFrames::PlaceOf(const FlameNode& frame) const {
  return SvgPlace(profile_, graph_.TreeNodeOf(frame));
}

std::string ProfileFrames::TextOf(const FlameNode& frame) const {
  return FormatCount(frame.count) + " samples";
}

std::string SvgClass(NodeKind kind, std::string_view label) {
  std::uint32_t hash = 0;
  for (const char c : label) hash = hash * 31 + static_cast<unsigned char>(c);
  const std::string shade = " s" + std::to_string(hash % 3);
  switch (kind) {
    case NodeKind::kAll:
    case NodeKind::kProcess:
    case NodeKind::kThread:
      return "pro";
    case NodeKind::kPseudo:
      return "psd";
    case NodeKind::kWorking:
      return "run";
    case NodeKind::kSpinning:
      return "spn";
    case NodeKind::kRunnable:
      return "rdy";
    case NodeKind::kBlocked: {
      const std::size_t reason = label.find(':');
      if (reason == std::string_view::npos) return "blk";
      return "blk " + std::string(label.substr(reason + 1, label.size() - reason - 2));
    }
    case NodeKind::kPath:
      return "who";
    case NodeKind::kKernel:
      return "ker" + shade;
    case NodeKind::kPython:
      return "pyt" + shade;
    case NodeKind::kJit:
      return "jit" + shade;
    case NodeKind::kNative:
      break;
  }
  return "nat" + shade;
}

std::string SvgPlace(const v1::Profile& profile, const TreeNode& node) {
  if (node.frame == TreeNode::kNoFrame) return "\n";
  const v1::Frame& frame = profile.frames(static_cast<int>(node.frame));
  const auto safe = [](const std::string& text) { return text.empty() ? "" : SafeName(text); };
  std::string place = safe(frame.file());
  if (!place.empty()) place += LinesText(node);
  place += "\n" + safe(frame.module());
  if (!frame.reason().empty()) place += "\n" + SafeName(frame.reason());
  return place;
}

void WriteSvgData(const FlameGraph& graph, const SvgFrames& frames,
                  std::span<const std::uint64_t> others, std::ostream& out) {
  Strings labels;
  Strings places;
  Strings styles;
  std::vector<std::uint32_t> place_of;
  std::vector<std::uint32_t> style_of;
  for (const FlameNode& frame : graph.nodes) {
    labels.Add(graph.LabelOf(frame));
    place_of.push_back(places.Add(frames.PlaceOf(frame)));
    style_of.push_back(styles.Add(frames.ClassOf(frame)));
  }
  out << "{\"labels\":[\n";
  labels.Write(out);
  out << "],\n\"places\":[\n";
  places.Write(out);
  out << "],\n\"styles\":[\n";
  styles.Write(out);
  out << ']';
  std::size_t at = 0;
  WriteColumn(
      "depth", graph, [](const FlameNode& frame) { return frame.depth; }, out);
  WriteColumn(
      "label", graph, [&](const FlameNode& f) { return labels.Add(graph.LabelOf(f)); }, out);
  WriteColumn(
      "place", graph, [&](const FlameNode&) { return place_of[at++]; }, out);
  at = 0;
  WriteColumn(
      "style", graph, [&](const FlameNode&) { return style_of[at++]; }, out);
  WriteColumn(
      "ns", graph, [](const FlameNode& frame) { return frame.total_ns; }, out);
  WriteColumn(
      "count", graph, [](const FlameNode& frame) { return frame.count; }, out);
  if (std::ranges::any_of(graph.nodes, [](const FlameNode& frame) { return frame.reach_ns != 0; }))
    WriteColumn(
        "reach", graph, [](const FlameNode& frame) { return frame.reach_ns; }, out);
  at = 0;
  if (!others.empty())
    WriteColumn(
        "other", graph, [&](const FlameNode&) { return others[at++]; }, out);
  out << "}\n";
}

SvgPicture::SvgPicture(const FlameGraph& graph) : graph_(graph) {
  double narrowest = kNarrowest;
  do {
    Draw(narrowest);
    narrowest *= 1.5;
  } while (frames_.size() > kMostFrames);
}

void SvgPicture::Draw(double narrowest) {
  frames_.clear();
  merged_.clear();
  rows_ = 0;
  const double least = narrowest * static_cast<double>(graph_.total_ns);
  const std::vector<FlameNode>& nodes = graph_.nodes;
  for (std::size_t i = 0; i < nodes.size();) {
    const FlameNode& frame = nodes[i];
    rows_ = std::max(rows_, frame.depth + 1);
    if (static_cast<double>(frame.total_ns) >= least) {
      frames_.push_back(&frame);
      ++i;
      continue;
    }
    // Siblings come heaviest first: all that follow up to the parent's end are narrow too.
    Merged merged{frame.depth, frame.start_ns, 0, 0};
    for (; i < nodes.size() && nodes[i].depth >= frame.depth; ++i) {
      if (nodes[i].depth == frame.depth) merged.total_ns += nodes[i].total_ns;
      ++merged.frames;
    }
    merged_.push_back(merged);
  }
}

void SvgPicture::Write(const SvgFrames& frames, std::ostream& out) const {
  Writer writer(graph_, frames, rows_, out);
  for (const FlameNode* frame : frames_) writer.Write(*frame);
  for (const Merged& merged : merged_) writer.Write(merged);
}

}  // namespace profd::client
