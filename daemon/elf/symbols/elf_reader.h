// ReadElf: one ELF file -> what profd keeps of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/file/object.h"
#include "daemon/elf/symbols/function_extents.h"
#include "daemon/elf/symbols/symbol_table.h"
#include "daemon/elf/symbols/virtual_functions.h"

namespace profd::elf {

// Where a file says that more is to be found about it.
struct DebugLinks {
  bool has_dwarf = false;  // .debug_info is in this file
  std::string debuglink;   // name of its debug file; "" for none
  std::uint32_t debuglink_crc = 0;
  std::string alternate;           // path of the dwz file its debug information shares; "" for none
  std::string alternate_build_id;  // lower-case hex
  std::string minidebug;           // .gnu_debugdata: an ELF file of symbols alone, xz
};

struct ElfContents {
  ObjectInfo info;
  std::vector<RawSymbol> symbols;                  // of the table that info.symbols_from names
  std::vector<RawSymbol> stubs;                    // of the procedure linkage table: "name@plt"
  std::string names;                               // both index into it
  std::vector<FunctionExtent> functions;           // by .eh_frame, with or without symbols
  std::vector<VirtualFunction> virtual_functions;  // of a file without .symtab
  bool large_symtab = false;  // beyond the limits: WriteSymbolIndex makes an index of it
  DebugLinks links;
};

// Of a program or shared library; or of any file, such as dwz's, which are relocatable.
enum class ElfKind : std::uint8_t { kLoadable, kAny };

// The contents of a file are as hostile as its owner. Any class and byte order. Fails when this is
// no ELF file of this kind, or a damaged one; a file without symbols gives contents with the
// reason. Reads headers, notes, links, stubs, one symbol table and its names, and
// of loadable files .eh_frame, nothing else.
[[nodiscard]] Result<ElfContents> ReadElfContents(const ByteSource& source,
                                                  const ElfLimits& limits = {},
                                                  ElfKind kind = ElfKind::kLoadable);
// What `symbol` says of code; nothing: it names none. `name_bytes`: of all names.
[[nodiscard]] std::optional<RawSymbol> ToRawSymbol(const ElfFile& file, const ElfSymbol& symbol,
                                                   std::size_t name_bytes);
// The symbols of both, with `more`'s names.
void AddSymbols(ElfContents& contents, const std::vector<RawSymbol>& more,
                const std::string& names);
// Takes the symbols, those of its stubs, and functions without any.
[[nodiscard]] SymbolTable MakeSymbols(ElfContents& contents);
// An object that needs the file no more.
[[nodiscard]] ObjectRef MakeObject(ElfContents contents);

// ReadElfContents and MakeObject.
[[nodiscard]] Result<ObjectRef> ReadElf(const ByteSource& source, const ElfLimits& limits = {});

}  // namespace profd::elf
