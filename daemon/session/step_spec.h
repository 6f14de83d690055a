// StepSpec: what says where a step of a program begins.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace profd::session {

struct StepSpec {
  enum class Kind {
    kRecordFunction,  // what PyTorch itself says of its optimizers and data loaders
    kRecordEvent,     // what PaddlePaddle itself says of its operators
    kFunction,        // each call of a function
    kUsdt,            // each pass of a static probe
  };
  Kind kind = Kind::kRecordFunction;
  std::string library;   // a path, or the last parts of one: "libfoo.so", "lib/libfoo.so"
  std::string provider;  // kUsdt
  std::string name;      // of the function, as the file has it, or of the probe

  friend bool operator==(const StepSpec&, const StepSpec&) = default;
};

// "record_function", "record_event", "uprobe:libfoo.so:work", "usdt:libfoo.so:trainer:step"; and
// back.
// kInvalidArgument: it is none of these.
[[nodiscard]] std::string FormatStepSpec(const StepSpec& spec);
[[nodiscard]] Result<StepSpec> ParseStepSpec(std::string_view text);

// Whether the file at `path`, as a process has mapped it, is the spec's.
[[nodiscard]] bool IsLibraryOf(const StepSpec& spec, std::string_view path);

}  // namespace profd::session
