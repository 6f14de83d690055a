// OutputPlan: where a profile goes and in which format, settled before it is collected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/output_options.h"
#include "client/commands/common/context.h"
#include "client/format/exporter.h"
#include "client/profile/grouping.h"
#include "client/profile/report/sample_filter.h"
#include "client/profile/share_error.h"
#include "client/profile/steps/program_steps.h"
#include "client/system/invoking_user.h"
#include "client/text/palette.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct Output {
  std::string path;                    // "-": stdout
  const Exporter* exporter = nullptr;  // null: the report
  Report report = Report::kSummary;
};

// Immutable.
class OutputPlan {
 public:
  // Refuses what cannot work: unknown formats, a file named twice, a picture or binary on a
  // terminal that was not requested, files that cannot be written. Leaves nothing behind.
  [[nodiscard]] static Result<OutputPlan> Make(const OutputOptions& options,
                                               bool stdout_is_terminal);

  // What of a profile is written: all, or what options restrict it to. kNotFound: nothing is left,
  // or it does not hold what is reported. Before Write, with the profile that it writes.
  [[nodiscard]] Result<v1::Profile> Restrict(v1::Profile profile);
  // Writes all; one that fails is reported on the console and does not keep the others from being
  // written. `footer` stands below a summary on a terminal.
  [[nodiscard]] bool Write(const v1::Profile& profile, const std::optional<InvokingUser>& owner,
                           const std::string& footer, const Context& context) const;

  // The option that shows nothing of a profile without wakers; null: none does.
  [[nodiscard]] const char* WhatNeedsWakers() const;
  [[nodiscard]] const std::vector<Output>& outputs() const { return outputs_; }

 private:
  OutputPlan(ExportOptions options, const OutputOptions& requested)
      : options_(std::move(options)),
        report_(requested.report),
        interpreter_frames_(requested.names.interpreter_frames),
        gil_(requested.gil),
        group_by_(requested.group_by),
        question_(requested.question) {}
  // A json file is complete: all others can be made of it. So is a report on where names are from.
  [[nodiscard]] bool IsComplete(const Output& output) const;
  [[nodiscard]] Result<void> AddReports(const OutputOptions& options, bool stdout_is_terminal);
  // A table by group in the place of the summary; "" where none is requested.
  [[nodiscard]] std::string RenderTable(Report report, const v1::Profile& profile,
                                        std::size_t width, const Palette& palette,
                                        bool complete) const;
  [[nodiscard]] Result<std::string> RenderReport(const v1::Profile& profile, const Output& output,
                                                 const std::string& footer,
                                                 const Context& context) const;
  [[nodiscard]] Result<void> WriteOne(const Output& output, const v1::Profile& profile,
                                      const std::optional<InvokingUser>& owner,
                                      const std::string& footer, const Context& context) const;

  ExportOptions options_;
  Report report_;
  bool interpreter_frames_;
  bool gil_;
  std::optional<GroupKey> group_by_;
  ReportQuestion question_;
  std::optional<SampleFilter> filter_;  // of what is no report of the question
  std::optional<ProgramSteps> steps_;   // of the profile before it was restricted: these two
  std::optional<ErrorRates> errors_;
  std::vector<Output> outputs_;
};

}  // namespace profd::client
