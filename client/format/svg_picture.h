// SvgPicture: what is seen of a flame graph at full width, for where no script runs.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "client/profile/flame_graph.h"

namespace profd::client {

class SvgFrames;

// Frames too narrow to be drawn are one hatched frame per parent, which counts them. At most some
// thousand elements however large the graph is. The graph must outlive it.
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
