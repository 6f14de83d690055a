#include "client/profile/steps/program_steps.h"

#include <utility>

#include "client/profile/labels/label_values.h"
#include "client/profile/steps/step_events.h"
#include "client/profile/steps/step_labels.h"

namespace profd::client {
namespace {

constexpr std::string_view kStepLabel = "step";

ProgramSteps WithFunction(ProgramSteps steps, const Result<StepLoop>& found) {
  if (!found || found->thread != steps.loop.thread) return steps;
  steps.loop.function = found->function;
  steps.loop.name = found->name;
  steps.loop.file = found->file;
  return steps;
}

}  // namespace

Result<ProgramSteps> FindProgramSteps(const v1::Profile& profile, const StepChoice& choice) {
  const auto found = FindStepLoop(profile, choice.loop);
  const auto in_samples = [&]() -> Result<ProgramSteps> {
    if (!found) return found.error();
    return ProgramSteps{.loop = *found, .optimizer = {}, .data = {}};
  };
  if (choice.source == "loop" || !choice.loop.empty()) return in_samples();
  if (const std::string_view label = LabelNamedBy(choice.source); !label.empty()) {
    auto loop = FindLabelSteps(profile, label);
    if (!loop) return loop.error();
    return WithFunction({.loop = *std::move(loop), .optimizer = {}, .data = {}}, found);
  }
  auto said = FindSaidSteps(profile, choice);
  if (!said) return said.error();
  if (*said) return WithFunction(*std::move(*said), found);
  if (auto loop = FindLabelSteps(profile, kStepLabel))
    return WithFunction({.loop = *std::move(loop), .optimizer = {}, .data = {}}, found);
  return in_samples();
}

}  // namespace profd::client
