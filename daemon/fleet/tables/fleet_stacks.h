// FleetStacks: the stacks of an export profile as a fleet compares them: names without addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/fleet/profile/export_profile.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::fleet {

// A frame on every host and of every build: no line, no address, no build id.
struct FleetFrame {
  std::string function;
  std::string module;  // last part of the path; "" of Python frames
  std::string file;    // of the source; "" unknown
  symbolize::FrameKind kind = symbolize::FrameKind::kNative;
};

struct FleetStack {
  std::uint64_t hash = 0;
  std::vector<std::uint32_t> frames;  // leaf first, by number
};

// The first 8 bytes, as a big-endian number, of the XXH3 of 128 bits (canonical form) over: for
// each frame, leaf first, its function, module and file, each behind its length as 8 bytes, and its
// kind as 8 bytes, all little-endian.
[[nodiscard]] std::uint64_t FleetStackHash(const std::vector<FleetFrame>& frames);

inline constexpr std::string_view kOtherStack = "(other)";  // of rows that a limit cut off

// Job: numbers frames and stacks in the order of their use; those that differ in lines alone are
// one. Thread: one. Owner: who makes the rows.
class FleetStacks {
 public:
  // `profile` outlives this.
  explicit FleetStacks(const ExportProfile& profile) : profile_(profile) {}

  // Numbers of stacks: of a row, of a leaf, and of a stack of one frame that is no code:
  // "[stolen]".
  [[nodiscard]] std::uint32_t Of(const ExportRow& row);
  [[nodiscard]] std::uint32_t OfNode(std::uint32_t leaf);
  [[nodiscard]] std::uint32_t Pseudo(std::string_view name);

  [[nodiscard]] const std::vector<FleetStack>& all() const { return all_; }
  [[nodiscard]] const std::vector<FleetFrame>& frames() const { return frames_; }

 private:
  [[nodiscard]] std::uint32_t Add(std::vector<std::uint32_t> frames);
  [[nodiscard]] std::uint32_t FrameNumber(FleetFrame frame);

  const ExportProfile& profile_;
  std::vector<FleetFrame> frames_;
  std::vector<FleetStack> all_;
  std::unordered_map<std::string, std::uint32_t> frame_numbers_;     // by the bytes of their hash
  std::unordered_map<std::uint32_t, std::uint32_t> profile_frames_;  // by frame of the profile
  std::unordered_map<std::uint32_t, std::uint32_t> profile_nodes_;   // stacks by leaf
  std::unordered_map<std::uint64_t, std::uint32_t> stack_numbers_;   // by hash
  std::unordered_map<std::string, std::uint32_t> pseudo_;            // stacks by name
};

}  // namespace profd::fleet
