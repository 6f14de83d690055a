// From argv to a command of profctl that is ready to run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/common_options.h"
#include "client/commands/common/verb.h"
#include "daemon/base/result.h"

namespace profd::client {

// Verbs: all commands with their options.
//
// Owns them and the options that all of them have. Used by the main thread; does not move, since
// options point into it.
class Verbs {
 public:
  Verbs();
  Verbs(const Verbs&) = delete;
  Verbs& operator=(const Verbs&) = delete;

  // profctl itself, with what may stand before a command.
  [[nodiscard]] const Command& root() const { return root_; }
  // In the order of --help.
  [[nodiscard]] std::span<const Command* const> commands() const { return commands_; }
  // The verb must exist.
  [[nodiscard]] Verb& Of(const Command& command) const;
  [[nodiscard]] const Command& ByName(std::string_view name) const;

  [[nodiscard]] const RawCommon& common() const { return common_; }
  [[nodiscard]] bool version() const { return version_; }  // -V was given

 private:
  RawCommon common_;
  bool version_ = false;
  Command root_;
  std::vector<std::unique_ptr<Verb>> verbs_;
  std::vector<const Command*> commands_;
};

struct CommandLine {
  GlobalOptions global;
  std::string help;      // not empty: to be printed, and nothing runs
  Verb* verb = nullptr;  // of the Verbs; null with `help`
};

// Commands that have no options of their own.
[[nodiscard]] std::unique_ptr<Verb> MakeFormatsVerb();
[[nodiscard]] std::unique_ptr<Verb> MakeVersionVerb();

// `arguments` without the program's name; parsed once with the same `verbs`, which must outlive the
// result. Looks at no file and no process. Errors are kInvalidArgument and say what was meant,
// where that can be guessed.
[[nodiscard]] Result<CommandLine> ParseCommandLine(const Verbs& verbs,
                                                   std::vector<std::string> arguments);

}  // namespace profd::client
