// RegisteredObject: an ELF object that a process has in its memory and has registered for
// debuggers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/registered/process_bytes.h"
#include "daemon/elf/symbols/function_extents.h"
#include "daemon/elf/symbols/symbol_table.h"

namespace profd::elf {

// Where it lies in the process, and a hash of its headers: another object at this place has another
// one.
struct RegisteredPlace {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stamp = 0;
  friend bool operator==(const RegisteredPlace&, const RegisteredPlace&) = default;
};

// Its unwind information, with relocations applied. Addresses are the process's.
struct RegisteredFrames {
  std::string bytes;
  std::uint64_t address = 0;    // of its first byte
  bool is_debug_frame = false;  // .debug_frame; else .eh_frame
};

// Of a relocatable object, as LLVM has it, the headers of sections say where these were loaded, and
// values of symbols count from there. Of others all addresses are in the object. Reads the headers
// when it is opened, and the rest when it is requested. In a reader process; used by one thread.
class RegisteredObject {
 public:
  static constexpr std::uint64_t kMaxBytes = 1ull << 30;
  static constexpr std::uint64_t kMaxSections = 16'384;
  static constexpr std::uint64_t kMaxSymbols = 65'536;
  static constexpr std::uint64_t kMaxNameBytes = 16u << 20;
  static constexpr std::uint64_t kMaxFrameBytes = 4u << 20;
  static constexpr std::size_t kMaxRanges = 1'024;  // of code

  // `memory`: /proc/PID/mem, which outlives this. An error: no 64-bit x86 object, too large, or
  // damaged.
  [[nodiscard]] static Result<RegisteredObject> Open(int memory, std::uint64_t address,
                                                     std::uint64_t bytes);

  [[nodiscard]] const RegisteredPlace& place() const { return place_; }
  // Its sections of code, ascending and disjoint.
  [[nodiscard]] const std::vector<FunctionExtent>& code() const { return code_; }
  // By .symtab.
  [[nodiscard]] SymbolTable ReadSymbols() const;
  // kNotFound: it has none.
  [[nodiscard]] Result<RegisteredFrames> ReadFrames() const;

 private:
  RegisteredObject(std::unique_ptr<ProcessBytes> bytes, ElfFile file)
      : bytes_(std::move(bytes)), file_(std::move(file)) {}
  void FindCode();
  // The process's address of what `symbol` names.
  [[nodiscard]] std::uint64_t AddressOf(const ElfSymbol& symbol) const;
  void Relocate(const ElfSection& section, RegisteredFrames& frames) const;

  std::unique_ptr<ProcessBytes> bytes_;
  ElfFile file_;  // reads from bytes_
  RegisteredPlace place_;
  std::vector<FunctionExtent> code_;
};

}  // namespace profd::elf
