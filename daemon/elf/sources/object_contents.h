// ObjectContents: what one ELF file says of its code, and how that travels between processes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/object.h"
#include "daemon/elf/symbols/function_extents.h"
#include "daemon/elf/symbols/symbol_index.h"
#include "daemon/elf/symbols/symbol_table.h"

namespace profd::elf {

// One file, with symbols of its own or of its debug file.
struct ObjectContents {
  ObjectInfo info;
  SymbolTable symbols;
  std::vector<IndexBlock> index;  // in their place, of a large file
  bool needs_index = false;       // it is large, and there was no file for an index
  bool has_source = false;        // FindSource has answers
  bool lacks_debug_file = false;  // one was searched, and there is none
  bool alone = true;              // all is of the file itself: no other was needed
};

[[nodiscard]] std::string PackContents(const ObjectContents& contents);
// kCorrupt: the bytes make no sense. They may be a hostile file's.
[[nodiscard]] Result<ObjectContents> UnpackContents(std::string_view bytes);

// The same for the functions at one address. Of more than kMaxSourceFrames nothing is unpacked.
inline constexpr std::size_t kMaxSourceFrames = 256;
[[nodiscard]] std::string PackFrames(const std::vector<SourceFrame>& frames);
[[nodiscard]] Result<std::vector<SourceFrame>> UnpackFrames(std::string_view bytes);

// And for those that reach into a piece, as FunctionFinder has them.
[[nodiscard]] std::string PackFunctions(const std::vector<FunctionExtent>& functions);
[[nodiscard]] Result<std::vector<FunctionExtent>> UnpackFunctions(std::string_view bytes);

}  // namespace profd::elf
