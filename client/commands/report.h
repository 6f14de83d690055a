// report: tables that answer questions from one profile.
#pragma once

#include <string>
#include <variant>

#include "client/cli/history_options.h"
#include "client/commands/file_or_target.h"
#include "client/commands/query.h"

namespace profd::client {

// A collection, the reading of a file or of the history, with another report.
class ReportVerb : public Verb {
 public:
  using Options = std::variant<CollectOptions, ExportCommandOptions, QueryOptions>;

  ReportVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] bool ShowsProgress() const override {
    return !raw_.no_progress && raw_.command.empty();
  }
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  struct Raw : RawFileOrTarget {
    RawTimes times;
    RawFilters filters;
    std::string by;
    std::string filter;
    std::string sort;
    std::string limit;
    std::string unit;
    bool kernel = false;
    std::string callers;
    std::string callees;
    std::string depth;
    bool tree = false;
    bool timeline = false;
    std::string annotate;
    NameOptions names;
    std::string format;
  };

  void AddSource();
  void AddQuestion();
  void AddTrees();
  [[nodiscard]] Result<ReportQuestion> TakeQuestion() const;
  [[nodiscard]] Result<void> TakeForm(ReportQuestion& question) const;
  [[nodiscard]] Result<void> TakeTable(ReportQuestion& question) const;
  [[nodiscard]] Result<void> TakeTree(ReportQuestion& question) const;
  // Nothing: it is a file or a target.
  [[nodiscard]] Result<std::optional<HistoryQuestion>> TakeHistory() const;

  Raw raw_;
  Options options_;
};

}  // namespace profd::client
