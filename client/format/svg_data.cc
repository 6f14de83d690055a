#include <unordered_map>
#include <utility>
#include <vector>

#include "client/format/svg_parts.h"
#include "client/profile/stack_names.h"
#include "client/text/escape.h"

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

}  // namespace

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
  at = 0;
  if (!others.empty())
    WriteColumn(
        "other", graph, [&](const FlameNode&) { return others[at++]; }, out);
  out << "}\n";
}

}  // namespace profd::client
