#include "daemon/symbolize/sample/frame_table.h"

#include <functional>
#include <string>
#include <utility>

#include "daemon/base/keys.h"

namespace profd::symbolize {
namespace {

constexpr std::size_t kIdBytes = 32;  // a node and a bucket of a set of ids

std::size_t BytesOf(const Frame& frame) {
  std::size_t bytes = sizeof(Frame) + kIdBytes;
  for (const std::string* text :
       {&frame.name, &frame.full_name, &frame.symbol, &frame.module, &frame.file, &frame.reason})
    if (text->capacity() > std::string().capacity()) bytes += text->capacity();
  return bytes;
}

}  // namespace

FrameTable::FrameTable(std::size_t max_frames)
    : max_frames_(max_frames), ids_(0, Hash{this}, Equal{this}) {}

FrameId FrameTable::Intern(Frame frame) {
  if (const auto found = ids_.find(frame); found != ids_.end()) return *found;
  if (frames_.size() >= max_frames_) {
    ++overflowed_;
    if (frames_.size() > max_frames_) return static_cast<FrameId>(max_frames_);
    frame = Frame{};
    frame.kind = FrameKind::kPseudo;
    frame.name = "[too many distinct frames]";
  }
  const auto id = static_cast<FrameId>(frames_.size());
  bytes_ += BytesOf(frame);
  frames_.push_back(std::move(frame));
  ids_.insert(id);
  return id;
}

std::vector<FrameId> FrameTable::Retain(const std::function<bool(FrameId)>& keep) {
  std::vector<FrameId> to(frames_.size(), kNoFrame);
  ids_.clear();
  std::deque<Frame> before = std::exchange(frames_, {});
  bytes_ = 0;
  for (FrameId id = 0; id < before.size(); ++id) {
    if (!keep(id)) continue;
    to[id] = static_cast<FrameId>(frames_.size());
    bytes_ += BytesOf(before[id]);
    frames_.push_back(std::move(before[id]));
    ids_.insert(to[id]);
  }
  return to;
}

void FrameTable::Clear() {
  ids_.clear();
  frames_.clear();
  bytes_ = 0;
  overflowed_ = 0;
}

std::size_t FrameTable::Hash::operator()(const Frame& frame) const {
  const std::hash<std::string> text;
  std::uint64_t hash = MixBits(frame.offset ^ static_cast<std::uint64_t>(frame.kind) << 56 ^
                               static_cast<std::uint64_t>(frame.inlined) << 63 ^
                               static_cast<std::uint64_t>(frame.interpreter) << 62);
  hash = MixBits(hash ^ text(frame.module));
  hash = MixBits(hash ^ text(frame.name));
  hash = MixBits(hash ^ text(frame.file) ^ frame.line);  // `symbol` goes with the name
  return MixBits(hash ^ text(frame.reason));
}

}  // namespace profd::symbolize
