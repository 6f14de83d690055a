// ModuleRows: what a profile says of the names of each module's frames.
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

}  // namespace profd::client
