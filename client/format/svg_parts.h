// The parts of the svg that are made here; svg.cc puts them together with the style and the script.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/flame_graph.h"
#include "client/profile/options.h"

namespace profd::client {

// The head: title, when and how long, the bar of states, the legend, what the numbers rest on.
// Everything is placed in percent of the width and px of height, so that it fits any window.
inline constexpr std::uint32_t kSvgHeadHeight = 190;
inline constexpr std::uint32_t kSvgRowHeight = 18;

// What the frames of a graph look like and what is said of them.
class SvgFrames {
 public:
  virtual ~SvgFrames() = default;
  [[nodiscard]] virtual std::string ClassOf(const FlameNode& frame) const = 0;
  // Stands before the name where there is room for it; "" or a sign and a space.
  [[nodiscard]] virtual std::string MarkOf(const FlameNode& frame) const = 0;
  // "handle.cpp:198-210", then the module and why there is no name, a line each.
  [[nodiscard]] virtual std::string PlaceOf(const FlameNode& frame) const = 0;
  // The last line of a tooltip where no script runs: how many samples.
  [[nodiscard]] virtual std::string TextOf(const FlameNode& frame) const = 0;
};

// Of a graph of one profile: coloured by kind.
class ProfileFrames : public SvgFrames {
 public:
  // Both must outlive it.
  ProfileFrames(const v1::Profile& profile, const FlameGraph& graph)
      : profile_(profile), graph_(graph) {}
  [[nodiscard]] std::string ClassOf(const FlameNode& frame) const override;
  [[nodiscard]] std::string MarkOf(const FlameNode& frame) const override;
  [[nodiscard]] std::string PlaceOf(const FlameNode& frame) const override;
  [[nodiscard]] std::string TextOf(const FlameNode& frame) const override;

 private:
  const v1::Profile& profile_;
  const FlameGraph& graph_;
};

// Of the node of a tree whose `frame` is one of `profile`.
[[nodiscard]] std::string SvgPlace(const v1::Profile& profile, const TreeNode& node);

[[nodiscard]] std::string SvgTitle(const v1::Profile& profile, const ExportOptions& options);
void WriteSvgHead(const v1::Profile& profile, const ExportOptions& options, std::ostream& out);

// The whole graph as one JSON object that may stand in a <script>; svg/model.js reads it. `others`,
// where there are any: the ns of each frame on the other side of a diff.
void WriteSvgData(const FlameGraph& graph, const SvgFrames& frames,
                  std::span<const std::uint64_t> others, std::ostream& out);

// A part of a bar of states: a state, blocked by reason.
struct SvgState {
  std::string name;    // "running", "blocked"
  std::string reason;  // of blocked: "lock", "unknown"
  std::string style;   // class
  std::uint64_t ns = 0;
};
// "blocked: lock 79.8 %"
[[nodiscard]] std::string SvgStateText(const SvgState& part, std::uint64_t total_ns);
// As wide as `total_ns`.
void WriteSvgBar(std::string_view id, int y, const std::vector<SvgState>& states,
                 std::uint64_t total_ns, std::ostream& out);

// A line of text, cut to the window by the script; empty parts are left out.
void WriteSvgLine(int y, std::string_view style, const std::vector<std::string>& parts,
                  std::ostream& out);

// A line of coloured squares and what they stand for; written as long as it lives.
class SvgLegend {
 public:
  SvgLegend(int y, std::ostream& out);
  ~SvgLegend();
  SvgLegend(const SvgLegend&) = delete;
  SvgLegend& operator=(const SvgLegend&) = delete;

  void AddText(const std::string& text) { AddSpan("", text, 12); }
  void Add(std::string_view style, const std::string& text, std::string_view point = kSquare);
  static constexpr std::string_view kSquare = "\xE2\x96\xA0";
  static constexpr std::string_view kHatchedSquare = "\xE2\x96\xA8";

 private:
  void AddSpan(const std::string& style, const std::string& text, int gap);

  std::ostream& out_;
  bool first_ = true;
};

using SvgWriter = std::function<void(std::ostream&)>;

// The file around its parts: the head, the data for the script, the picture for where none runs.
struct SvgPage {
  std::string title;
  std::uint32_t head_height = kSvgHeadHeight;
  std::uint32_t rows = 0;  // of the picture; 0: there is no graph
  std::string when_empty = "There are no samples in this profile.";
};
void WriteSvgPage(const SvgPage& page, const SvgWriter& head, const SvgWriter& data,
                  const SvgWriter& picture, std::ostream& out);

// Class of a frame: the colour of its kind, and one of three shades by its name.
[[nodiscard]] std::string SvgClass(NodeKind kind, std::string_view label);

}  // namespace profd::client
