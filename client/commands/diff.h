// diff: two json files or ranges of the history compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/history_options.h"
#include "client/cli/output_options.h"
#include "client/commands/common/verb.h"

namespace profd::client {

struct DiffInput {
  std::string source;                      // as it was written; without `history` a json file
  std::optional<HistoryQuestion> history;  // none: "-" is stdin
  std::string filter;                      // as ThreadFilter::Parse has it; empty: everything
};

struct DiffCommandOptions {
  DiffInput a;
  DiffInput b;
  std::vector<std::string> files;  // as OutputOptions
  std::string format;
  bool absolute = false;
  bool threads = false;
  NameOptions names;
  PathDetail on_whom = PathDetail::kNone;
};

class DiffVerb : public Verb {
 public:
  DiffVerb();
  [[nodiscard]] Result<void> Take() override;
  [[nodiscard]] int Run(const Context& context) override;
  [[nodiscard]] const DiffCommandOptions& options() const { return options_; }

 private:
  void AddOutput();

  std::vector<std::string> sides_;
  RawFilters filters_;
  std::string on_whom_;
  DiffCommandOptions options_;
};

}  // namespace profd::client
