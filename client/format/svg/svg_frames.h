// SvgFrames: the frames of a flame graph in the svg, as data for the script and as a picture for
// where no script runs.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/format/svg/flame_graph.h"

namespace profd::client {

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

// Class of a frame: the colour of its kind, and one of three shades by its name.
[[nodiscard]] std::string SvgClass(NodeKind kind, std::string_view label);

// The whole graph as one JSON object that may stand in a <script>; svg/model.js reads it. `others`,
// where there are any: the ns of each frame on the other side of a diff.
void WriteSvgData(const FlameGraph& graph, const SvgFrames& frames,
                  std::span<const std::uint64_t> others, std::ostream& out);

// What is seen of a flame graph at full width. Frames too narrow to be drawn are one hatched frame
// per parent, which counts them. At most some thousand elements however large the graph is. The
// graph must outlive it.
class SvgPicture {
 public:
  explicit SvgPicture(const FlameGraph& graph);
  // Of those that have something drawn in them; frames that are merged make none.
  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  void Write(const SvgFrames& frames, std::ostream& out) const;

  struct Merged {  // a run of siblings, at the end of their parent
    std::uint32_t depth = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t frames = 0;  // all above them included
  };

 private:
  void Draw(double narrowest);  // merges what is narrower than this share of the width

  const FlameGraph& graph_;
  std::uint32_t rows_ = 0;
  std::vector<const FlameNode*> frames_;
  std::vector<Merged> merged_;
};

}  // namespace profd::client
