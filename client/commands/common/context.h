// Context: what every command works with. Made by main, outlives the command.
#pragma once

#include "client/cli/common_options.h"
#include "client/system/console.h"
#include "client/system/temp_files.h"

namespace profd::client {

struct Context {
  const GlobalOptions& global;
  Console& console;
  TempFiles& temp_files;
};

}  // namespace profd::client
