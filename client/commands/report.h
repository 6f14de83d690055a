// report: tables that answer questions from one profile.
#pragma once

#include <string>

#include "client/commands/file_or_target.h"

namespace profd::client {

// A collection, the reading of a file or of the history, with another report.
class ReportVerb : public Verb {
 public:
  ReportVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] bool ShowsProgress() const override {
    return !raw_.no_progress && raw_.command.empty();
  }
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const AnySource& options() const { return options_; }

 private:
  struct Raw : RawAnySource {
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
    bool steps = false;
    std::string loop;
    NameOptions names;
    std::string format;
  };

  void AddQuestion();
  void AddTrees();
  void AddSteps();
  [[nodiscard]] Result<ReportQuestion> TakeQuestion() const;
  [[nodiscard]] Result<void> TakeForm(ReportQuestion& question) const;
  [[nodiscard]] Result<void> TakeTable(ReportQuestion& question) const;
  [[nodiscard]] Result<void> TakeTree(ReportQuestion& question) const;

  Raw raw_;
  AnySource options_;
};

}  // namespace profd::client
