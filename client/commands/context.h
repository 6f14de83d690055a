// Context: what every command works with. Made by main, outlives the command.
#pragma once

#include "client/commands/options.h"
#include "client/console.h"
#include "client/export/exporter.h"
#include "client/temp_files.h"

namespace profd::commands {

struct Context {
  const GlobalOptions& global;
  client::Console& console;
  client::TempFiles& temp_files;
  const client::Exporters& exporters;
};

}  // namespace profd::commands
