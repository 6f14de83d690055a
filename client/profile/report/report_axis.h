// ReportAxis: the values of one key in one profile, numbered as they are met.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/profile/report/report_keys.h"
#include "client/profile/report/shown_stacks.h"

namespace profd::client {

// Values of one text are one. The context's profile and the stacks outlive this. Used by one
// thread.
class ReportAxis {
 public:
  // Of the context the operators are found here, if the key needs them.
  ReportAxis(const ReportKey& key, const KeyContext& context, const ShownStacks& stacks);
  ReportAxis(const ReportAxis&) = delete;
  ReportAxis& operator=(const ReportAxis&) = delete;

  // The value of a sample; of a key of frames that of the innermost frame of its stack.
  [[nodiscard]] std::uint32_t Of(int sample);
  // Of keys of frames: the value of a stack that ends at `leaf`, which is shown; 0: no stack.
  [[nodiscard]] std::uint32_t OfLeaf(std::uint32_t leaf);
  // Of keys of frames: the value of a shown node that is, or is called by, another one; kNone.
  [[nodiscard]] std::uint32_t OfNode(std::uint32_t node);

  [[nodiscard]] const ReportKey& key() const { return key_; }
  // Of keys that need them.
  [[nodiscard]] const Operators& operators() const { return *operators_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // Of keys of frames: the first frame that has the value, or kNone.
  [[nodiscard]] std::uint32_t FrameOf(std::uint32_t value) const { return frames_[value]; }

  static constexpr std::uint32_t kNone = ~0u;

 private:
  [[nodiscard]] std::uint32_t Named(std::string name, std::uint32_t frame);
  [[nodiscard]] const std::string& Text(std::uint32_t frame);

  const ReportKey& key_;
  const std::optional<Operators> operators_;
  const KeyContext context_;
  const ShownStacks& stacks_;
  std::vector<std::string> names_;     // by value
  std::vector<std::uint32_t> frames_;  // by value
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;
  std::vector<std::uint32_t> by_node_;
  std::vector<std::uint32_t> by_frame_;  // kFrame
  std::vector<std::string> texts_;       // by frame; empty: not made yet
  std::uint32_t no_stack_ = kNone;
};

}  // namespace profd::client
