// FrameTable: each distinct Frame once, under a small number.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <unordered_set>
#include <vector>

#include "daemon/symbolize/names/symbolizer.h"
#include "daemon/symbolize/sample/symbolized_sample.h"

namespace profd::symbolize {

// Ids count up from 0 and stay valid until Clear. When `max_frames` are in it, every new frame gets
// the id of a frame with that reason, and is counted. Used by the symbolizer thread.
class FrameTable {
 public:
  static constexpr std::size_t kDefaultMaxFrames = 400'000;
  static constexpr FrameId kNoFrame = ~FrameId{0};

  explicit FrameTable(std::size_t max_frames = kDefaultMaxFrames);
  FrameTable(const FrameTable&) = delete;
  FrameTable& operator=(const FrameTable&) = delete;

  [[nodiscard]] FrameId Intern(Frame frame);
  [[nodiscard]] const Frame& At(FrameId id) const { return frames_[id]; }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  // Memory of the frames, by an estimate.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Frames that found the table full.
  [[nodiscard]] std::size_t overflowed() const { return overflowed_; }
  // Forgets all frames for which `keep` is false. The others get new ids: the result has the new id
  // of each old one, or kNoFrame.
  [[nodiscard]] std::vector<FrameId> Retain(const std::function<bool(FrameId)>& keep);
  // Forgets all frames. No id may be in use any more.
  void Clear();

 private:
  struct Hash {
    using is_transparent = void;
    const FrameTable* table;
    std::size_t operator()(FrameId id) const { return (*this)(table->At(id)); }
    std::size_t operator()(const Frame& frame) const;
  };
  struct Equal {
    using is_transparent = void;
    const FrameTable* table;
    bool operator()(FrameId a, FrameId b) const { return a == b; }
    bool operator()(const Frame& a, FrameId b) const { return a == table->At(b); }
    bool operator()(FrameId a, const Frame& b) const { return table->At(a) == b; }
  };

  const std::size_t max_frames_;
  std::deque<Frame> frames_;
  std::unordered_set<FrameId, Hash, Equal> ids_;
  std::size_t bytes_ = 0;
  std::size_t overflowed_ = 0;
};

}  // namespace profd::symbolize
