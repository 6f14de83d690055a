// A report as tables for people.
#pragma once

#include <cstddef>
#include <string>

#include "client/profile/report/report_question.h"
#include "client/profile/report/report_table.h"
#include "client/profile/report/report_time.h"
#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct ReportViewOptions {
  std::size_t width = 80;  // columns
  Palette palette{};
  bool complete = false;  // all rows
};

// How a sum of samples stands in a cell: a share of `whole_ns`, time, or threads of `elapsed_ns`.
// Sums of few samples begin with `~`; nothing is empty.
struct ReportScale {
  ReportUnit unit = ReportUnit::kShare;
  std::uint64_t whole_ns = 0;
  std::uint64_t elapsed_ns = 0;
  bool filtered = false;

  [[nodiscard]] std::string Cell(const SampledTime& time) const;
  // " +-1.2" behind a cell: the 95 % interval of the sum in it, where it is wider than the last
  // digit; "": it is not, or it is not known.
  [[nodiscard]] std::string Reach(const ReportTable& table, const SampledTime& time,
                                  const ErrorSum& error) const;
  // The same of work with that of workers, which is inferred where it is not just that of the row.
  [[nodiscard]] std::string Inferred(const SampledTime& time, const ReportTime& self) const;
  // "shares of all thread time".
  [[nodiscard]] std::string Name() const;
};

// Which parts have a column of their own: what spins or is stolen for no more than 0.5 % of the
// time is part of running, and of a part without time there is none.
class ReportParts {
 public:
  explicit ReportParts(const ReportTime& all);

  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] const std::string& name(std::size_t column) const { return names_[column]; }
  [[nodiscard]] Tone tone(std::size_t column) const;
  [[nodiscard]] SampledTime Of(const ReportTime& time, std::size_t column) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<TimePart>> parts_;  // by column
};

// "0.54 working + 4.36 blocked = 4.90 threads on average": the parts as they are shown, in
// hundredths that add up. Without a newline.
[[nodiscard]] std::string AverageText(const ReportTime& all, std::uint64_t elapsed_ns);

// Whose profile it is, how long, and how many threads and samples it has.
[[nodiscard]] std::string TitleLine(const v1::Profile& profile, const ReportViewOptions& options);

// The first lines: whose profile it is, and threads on average by part, which add up.
[[nodiscard]] std::string ReportHead(const v1::Profile& profile, const ReportTime& all,
                                     const ReportQuestion& question,
                                     const ReportViewOptions& options);

// The rows are sorted. What is left out is one row.
[[nodiscard]] std::string RenderReport(const v1::Profile& profile, const ReportTable& table,
                                       const ReportQuestion& question,
                                       const ReportViewOptions& options);
// The same of what hardware counters have counted, which the table has.
[[nodiscard]] std::string RenderCounters(const v1::Profile& profile, const ReportTable& table,
                                         const ReportQuestion& question,
                                         const ReportViewOptions& options);
// As many columns as fit, the others joined.
[[nodiscard]] std::string RenderReport(const v1::Profile& profile, const ReportTime& all,
                                       const CrossTable& table, const ReportQuestion& question,
                                       const ReportViewOptions& options);

}  // namespace profd::client
