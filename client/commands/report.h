// report: tables that answer questions from one profile.
#pragma once

#include <string>

#include "client/commands/file_or_target.h"

namespace profd::client {

// Tables, trees and sources of any source.
class ReportVerb : public AnySourceVerb {
 public:
  ReportVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;

 private:
  // As the user wrote it.
  struct Raw {
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
    bool exact = false;
    bool outliers = false;
    std::string loop;
    std::string step_name;
    NameOptions names;
  };

  void AddQuestion();
  void AddTrees();
  void AddSteps();
  [[nodiscard]] Result<ReportQuestion> TakeQuestion() const;
  // What of a fleet the keys distinguish.
  [[nodiscard]] Result<void> TakeApart();
  [[nodiscard]] Result<void> TakeForm(ReportQuestion& question) const;
  [[nodiscard]] Result<void> TakeSteps(ReportQuestion& question) const;
  [[nodiscard]] Result<void> TakeTable(ReportQuestion& question) const;
  [[nodiscard]] Result<void> TakeTree(ReportQuestion& question) const;

  Raw raw_;
};

}  // namespace profd::client
