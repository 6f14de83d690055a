// ModuleRows: what a profile says of the names of each module's frames, and what completes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

struct UnnamedFrame {
  std::uint64_t offset = 0;  // in the module's file; kernel: the address
  std::string reason;
};

// A frame is counted once for each address; inlined functions belong to the frame they are in.
struct ModuleRow {
  std::string path;     // "[kernel]"; "" for memory that no file backs
  std::string program;  // what it was started as, when it is called otherwise
  v1::Module info;      // made up where the profile has none
  bool kernel = false;
  std::uint64_t frames = 0;
  std::uint64_t named = 0;
  std::uint64_t with_line = 0;
  std::uint64_t inlined = 0;          // functions inlined into its frames
  std::vector<UnnamedFrame> unnamed;  // by offset
  // Samples whose stack ends early at a frame of this module, by the frame that says why.
  std::map<std::string, std::uint64_t> ends;
};

// A row for each module that has frames: most unnamed frames first, then most frames, then by path.
// The profile must have passed CheckProfile.
[[nodiscard]] std::vector<ModuleRow> ModuleRows(const v1::Profile& profile);

// The same reasons together, most frequent first.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> ReasonsOf(const ModuleRow& row);

struct ModuleSums {
  std::uint64_t frames = 0;
  std::uint64_t named = 0;
};
[[nodiscard]] ModuleSums SumOf(const std::vector<ModuleRow>& rows);

// Debug packages by path of the module, where they are known.
using DebugPackages = std::map<std::string, std::string>;

// What to install. Packages of the modules with the most unnamed frames come first.
struct SymbolAdvice {
  std::vector<std::string> names;  // packages
  std::vector<std::string> lines;  // further ones, for inlined functions and lines alone
  bool lacks_names = false;
  bool lacks_any = false;
  bool lacks_map = false;  // code made at run time that its program does not list
};
[[nodiscard]] SymbolAdvice AdviceOf(const std::vector<ModuleRow>& rows, const DebugPackages& known);

// Modules whose debug file is not on the host, for whose packages it is worth looking.
[[nodiscard]] std::vector<std::string> ModulesToComplete(const v1::Profile& profile);

}  // namespace profd::client
