#include "daemon/session/step_spec.h"

#include <algorithm>
#include <cstddef>

namespace profd::session {
namespace {

constexpr std::string_view kRecordFunctionName = "record_function";
constexpr std::string_view kRecordEventName = "record_event";
constexpr std::string_view kFunctionPrefix = "uprobe:";
constexpr std::string_view kUsdtPrefix = "usdt:";
constexpr std::size_t kMaxBytes = 4'096;

Error Unknown(std::string_view text) {
  return Error{ErrorCode::kInvalidArgument,
               "'" + std::string(text.substr(0, 64)) + "' does not say where steps begin",
               "write uprobe:LIB:FUNCTION, as in uprobe:libfoo.so:work, or usdt:LIB:PROVIDER:NAME"};
}

// Takes what follows the last colon.
std::string_view TakeLast(std::string_view& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view last = text.substr(colon + 1);
  text = text.substr(0, colon);
  return last;
}

bool IsPrintable(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

// libtorch_cpu.so has it; before it was split off, libtorch.so did.
bool IsTorch(std::string_view file) {
  return (file.starts_with("libtorch_cpu") || file.starts_with("libtorch.so")) &&
         file.find(".so") != std::string_view::npos;
}

// Of version 3; before, it was in another namespace.
constexpr std::string_view kPaddle = "libphi_core.so";

}  // namespace

std::string FormatStepSpec(const StepSpec& spec) {
  switch (spec.kind) {
    case StepSpec::Kind::kRecordFunction:
      return std::string(kRecordFunctionName);
    case StepSpec::Kind::kRecordEvent:
      return std::string(kRecordEventName);
    case StepSpec::Kind::kFunction:
      return std::string(kFunctionPrefix) + spec.library + ":" + spec.name;
    case StepSpec::Kind::kUsdt:
      return std::string(kUsdtPrefix) + spec.library + ":" + spec.provider + ":" + spec.name;
  }
  return {};
}

Result<StepSpec> ParseStepSpec(std::string_view text) {
  if (text == kRecordFunctionName) return StepSpec{};
  StepSpec spec;
  if (text == kRecordEventName) {
    spec.kind = StepSpec::Kind::kRecordEvent;
    return spec;
  }
  if (text.size() > kMaxBytes || !IsPrintable(text)) return Unknown(text);
  std::string_view rest = text;
  if (text.starts_with(kFunctionPrefix)) {
    spec.kind = StepSpec::Kind::kFunction;
    rest.remove_prefix(kFunctionPrefix.size());
    spec.name = TakeLast(rest);
  } else if (text.starts_with(kUsdtPrefix)) {
    spec.kind = StepSpec::Kind::kUsdt;
    rest.remove_prefix(kUsdtPrefix.size());
    spec.name = TakeLast(rest);
    spec.provider = TakeLast(rest);
    if (spec.provider.empty()) return Unknown(text);
  } else {
    return Unknown(text);
  }
  spec.library = rest;
  if (spec.library.empty() || spec.name.empty()) return Unknown(text);
  return spec;
}

bool IsLibraryOf(const StepSpec& spec, std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (spec.kind == StepSpec::Kind::kRecordFunction) return IsTorch(file);
  if (spec.kind == StepSpec::Kind::kRecordEvent) return file == kPaddle;
  if (!path.ends_with(spec.library)) return false;
  const std::size_t before = path.size() - spec.library.size();
  return before == 0 || (!spec.library.starts_with('/') && path[before - 1] == '/');
}

}  // namespace profd::session
