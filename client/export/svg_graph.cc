#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/export/escape.h"
#include "client/export/format_text.h"
#include "client/export/stack_names.h"
#include "client/export/svg_parts.h"

namespace profd::client {
namespace {

// Frames narrower than this share of the width are merged, as long as few enough remain.
constexpr double kNarrowest = 1.0 / 1200;
constexpr std::size_t kMostFrames = 2000;
// From here on a frame shows the beginning of its name, and (a little earlier) has a tooltip.
constexpr double kNamed = 0.02;
constexpr double kTold = 0.004;

struct Picture {
  std::vector<const FlameNode*> frames;
  struct Merged {  // a run of siblings too narrow to be drawn
    std::uint32_t depth = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t frames = 0;  // all above them included
  };
  std::vector<Merged> merged;
};

Picture Draw(const FlameGraph& graph, double narrowest) {
  Picture picture;
  const double least = narrowest * static_cast<double>(graph.total_ns);
  for (std::size_t i = 0; i < graph.nodes.size();) {
    const FlameNode& frame = graph.nodes[i];
    if (static_cast<double>(frame.total_ns) >= least) {
      picture.frames.push_back(&frame);
      ++i;
      continue;
    }
    // Siblings come heaviest first: all that follow up to the parent's end are narrow too.
    Picture::Merged merged{frame.depth, frame.start_ns, 0, 0};
    for (; i < graph.nodes.size() && graph.nodes[i].depth >= frame.depth; ++i) {
      if (graph.nodes[i].depth == frame.depth) merged.total_ns += graph.nodes[i].total_ns;
      ++merged.frames;
    }
    picture.merged.push_back(merged);
  }
  return picture;
}

class Writer {
 public:
  Writer(const FlameGraph& graph, std::ostream& out) : graph_(graph), out_(out) {}

  void Write(const FlameNode& frame) {
    const double share = Share(frame.total_ns);
    const std::string& label = graph_.LabelOf(frame);
    const std::string style = SvgClass(graph_.TreeNodeOf(frame).kind, label);
    out_ << "<rect class=\"" << style << '"';
    Place(frame.depth, frame.start_ns, frame.total_ns);
    if (share < kTold) {
      out_ << "/>\n";
      return;
    }
    out_ << "><title>" << EscapeXml(label) << '\n'
         << FormatShare(frame.total_ns, graph_.total_ns) << ", " << FormatDuration(frame.total_ns)
         << ", " << FormatCount(frame.count) << " samples</title></rect>\n";
    if (share < kNamed) return;
    out_ << "<svg";  // cuts the name at the frame's edge, whatever the window's width
    Place(frame.depth, frame.start_ns, frame.total_ns);
    out_ << "><text class=\"" << style << R"( in" x="4" y="13">)" << EscapeXml(label)
         << "</text></svg>\n";
  }

  void Write(const Picture::Merged& merged) {
    out_ << R"(<rect class="few")";
    Place(merged.depth, merged.start_ns, merged.total_ns);
    if (Share(merged.total_ns) < kTold) {
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
    char text[128];
    std::snprintf(text, sizeof text, " x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%u\"",
                  100 * Share(start_ns), (graph_.rows - 1 - depth) * kSvgRowHeight,
                  100 * Share(total_ns), kSvgRowHeight);
    out_ << text;
  }

  const FlameGraph& graph_;
  std::ostream& out_;
};

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

// "handle.cpp:198-210", then the module in the same string behind a newline.
std::string PlaceText(const v1::Profile& profile, const TreeNode& node) {
  if (node.frame == TreeNode::kNoFrame) return "\n";
  const v1::Frame& frame = profile.frames(static_cast<int>(node.frame));
  const auto safe = [](const std::string& text) { return text.empty() ? "" : SafeName(text); };
  std::string place = safe(frame.file());
  if (!place.empty()) place += LinesText(node);
  place += "\n" + safe(frame.module());
  if (!frame.reason().empty()) place += "\n" + SafeName(frame.reason());
  return place;
}

template <typename Number>
void WriteColumn(std::string_view name, const FlameGraph& graph, const Number& number,
                 std::ostream& out) {
  out << ",\n\"" << name << "\":[";
  const char* comma = "";
  for (const FlameNode& frame : graph.nodes) out << std::exchange(comma, ",") << number(frame);
  out << ']';
}

}  // namespace

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
    case NodeKind::kRunning:
      return "run";
    case NodeKind::kRunnable:
      return "rdy";
    case NodeKind::kBlocked: {
      const std::size_t reason = label.find(':');
      if (reason == std::string_view::npos) return "blk";
      return "blk " + std::string(label.substr(reason + 1, label.size() - reason - 2));
    }
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

void WriteSvgFrames(const FlameGraph& graph, std::ostream& out) {
  double narrowest = kNarrowest;
  Picture picture = Draw(graph, narrowest);
  while (picture.frames.size() > kMostFrames) {
    narrowest *= 1.5;
    picture = Draw(graph, narrowest);
  }
  Writer writer(graph, out);
  for (const FlameNode* frame : picture.frames) writer.Write(*frame);
  for (const Picture::Merged& merged : picture.merged) writer.Write(merged);
}

void WriteSvgData(const v1::Profile& profile, const FlameGraph& graph, std::ostream& out) {
  Strings labels;
  Strings places;
  Strings styles;
  std::vector<std::uint32_t> place_of;
  std::vector<std::uint32_t> style_of;
  for (const FlameNode& frame : graph.nodes) {
    const TreeNode& node = graph.TreeNodeOf(frame);
    labels.Add(graph.LabelOf(frame));
    place_of.push_back(places.Add(PlaceText(profile, node)));
    style_of.push_back(styles.Add(SvgClass(node.kind, graph.LabelOf(frame))));
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
  out << "}\n";
}

}  // namespace profd::client
