// Disassembler: the instructions of a function, by objdump, where that is installed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::client {

struct Instruction {
  std::uint64_t address = 0;  // as the file has it
  std::uint64_t offset = 0;   // in the file
  std::string text;           // safe
};

// Where objdump is, by `path` ($PATH). kNotFound, and what to do, if it is not there.
[[nodiscard]] Result<std::string> FindObjdump(const std::string& path);

// The function `symbol` of the ELF file `module`, which may be hostile: objdump has a limit of time
// and of output. kNotFound: the file has no such symbol. Main thread.
[[nodiscard]] Result<std::vector<Instruction>> Disassemble(const std::string& objdump,
                                                           const std::string& module,
                                                           const std::string& symbol);

// What `objdump -d -F` has written.
[[nodiscard]] std::vector<Instruction> InstructionsIn(std::string_view output);

}  // namespace profd::client
