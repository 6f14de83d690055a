// ModuleInfo: where the names of one file's frames come from, and what is missing.
#pragma once

#include <memory>
#include <string>

namespace profd::symbolize {

struct ModuleInfo {
  std::string path;      // as Frame.module
  std::string build_id;  // lower-case hex; "" when it has none
  // ".symtab", ".dynsym", ".gnu_debugdata", "kallsyms", "gdb jit"; "" for none at all.
  std::string symbols_from;
  std::string symbols_file;     // where these are, when not in the file itself
  std::string symbols_missing;  // why there are none, or not all; "" when nothing is missing
  std::string debug_file;       // where inlined functions and lines are from; "" for none
  std::string debug_missing;    // why there are none: what was tried
  friend bool operator==(const ModuleInfo&, const ModuleInfo&) = default;
};
using ModuleInfoRef = std::shared_ptr<const ModuleInfo>;

}  // namespace profd::symbolize
