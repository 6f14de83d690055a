// Options that every command has: how much it says, and which profd it speaks to.
#pragma once

#include <string>

#include "client/cli/command_model.h"
#include "client/link/host.h"
#include "client/system/terminal.h"
#include "daemon/base/result.h"

namespace profd::client {

struct GlobalOptions {
  bool quiet = false;
  bool verbose = false;
  ColorChoice color = ColorChoice::kAuto;
  Host host;  // no address: PROFD_HOST, else the default
};

struct RawCommon {
  bool quiet = false;
  bool verbose = false;
  std::string color = "auto";
  Host host;
};

void AddCommon(Command& command, RawCommon& raw);
[[nodiscard]] Result<GlobalOptions> ParseCommon(const RawCommon& raw);

}  // namespace profd::client
