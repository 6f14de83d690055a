// Verb: a command of profctl: its options, what they mean, and what it does.
#pragma once

#include <utility>

#include "client/cli/command_model.h"
#include "client/commands/common/context.h"
#include "daemon/base/result.h"

namespace profd::client {

// One run: the parser fills the variables of the options, Take makes typed options of them, Run
// does the work. Used by the main thread. Options point into the verb, so it does not move.
class Verb {
 public:
  virtual ~Verb() = default;
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;

  [[nodiscard]] const Command& command() const { return command_; }
  [[nodiscard]] Command& command() { return command_; }
  // Looks at no file and no process. kInvalidArgument: the options make no sense.
  [[nodiscard]] virtual Result<void> Take() { return {}; }
  // Whether a progress line may be shown on standard error. After Take.
  [[nodiscard]] virtual bool ShowsProgress() const { return true; }
  // Returns the exit code and has said what went wrong. After Take.
  [[nodiscard]] virtual int Run(const Context& context) = 0;

 protected:
  explicit Verb(Command command) : command_(std::move(command)) {}

 private:
  Command command_;
};

}  // namespace profd::client
