// ReportKeys: by what a report sums up time. A key is one row of a table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/operators/operators.h"
#include "client/profile/stack_names.h"
#include "client/profile/steps/step_loop.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct KeyContext {
  const v1::Profile& profile;  // has passed CheckProfile
  FrameStyle style{};          // of functions
  // Of the profile; null but for keys that need them.
  const Operators* operators = nullptr;
  std::string_view label = {};      // of the key
  const StepLoop* steps = nullptr;  // null: none are known
};

enum class ReportKeyKind {
  kSample,  // a sample has one value
  kFrame,   // each frame of its stack has one
  kCaller,  // each frame has one, with that of the frame that called it
  kCallee   // the same pairs from the other side; the innermost frame has "[self]" behind it
};

struct ReportKey {
  std::string_view name;
  std::string_view plural;  // what its table is headed with
  std::string_view help;
  ReportKeyKind kind = ReportKeyKind::kSample;
  // kSample: a number for the value of a sample. Samples of one number have one text.
  std::uint64_t (*number)(const KeyContext& context, int sample) = nullptr;
  // Safe text of that number; of the other kinds it is an index into the profile's frames.
  std::string (*text)(const KeyContext& context, std::uint64_t number) = nullptr;
  bool by_operators = false;    // it needs KeyContext.operators
  bool by_steps = false;        // it is about KeyContext.steps
  std::string_view label = {};  // of label:NAME: its name

  [[nodiscard]] bool OfFrames() const { return kind != ReportKeyKind::kSample; }
};

using ReportKeyRef = std::shared_ptr<const ReportKey>;

// In the order of the help; without label:NAME, of which there may be any.
[[nodiscard]] std::span<const ReportKey> ReportKeys();
[[nodiscard]] std::vector<std::string> ReportKeyNames();
// "function", "thread,label:step": one key or two different ones. Never null.
[[nodiscard]] Result<std::vector<ReportKeyRef>> ParseReportKeys(std::string_view text);

}  // namespace profd::client
