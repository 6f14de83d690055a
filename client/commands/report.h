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
  [[nodiscard]] const FileOrHistory& options() const { return options_; }

 private:
  struct Raw : RawFileOrHistory {
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

  Raw raw_;
  FileOrHistory options_;
};

}  // namespace profd::client
