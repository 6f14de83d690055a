#include "client/system/disassembler.h"

#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <optional>

#include "client/system/command_child.h"
#include "client/system/program_output.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

constexpr ProgramLimits kLimits{.max_bytes = 16u << 20, .cpu_time = std::chrono::seconds(60)};

// The number that a text begins with, which is taken from it.
std::optional<std::uint64_t> TakeHex(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

Result<std::string> FindObjdump(const std::string& path) {
  const std::string objdump = FindProgram("objdump", path);
  if (!objdump.empty()) return objdump;
  return Error{ErrorCode::kNotFound, "cannot show instructions: objdump is not installed",
               "apt install binutils"};
}

std::vector<Instruction> InstructionsIn(std::string_view output) {
  constexpr std::string_view kOffset = "(File Offset: 0x";
  std::vector<Instruction> instructions;
  std::uint64_t shift = 0;  // from an address to its offset
  while (!output.empty()) {
    std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::optional<std::uint64_t> address = TakeHex(line);
    if (!address) continue;
    if (line.starts_with(" <")) {  // "0000000000001139 <main> (File Offset: 0x1139):"
      const std::size_t at = line.rfind(kOffset);
      if (at == std::string_view::npos) continue;
      std::string_view number = line.substr(at + kOffset.size());
      if (const auto offset = TakeHex(number)) shift = *offset - *address;
    } else if (line.starts_with(":\t")) {  // "1139:\tpush   %rbp"
      line.remove_prefix(2);
      // Behind what it jumps to.
      if (const std::size_t at = line.rfind(kOffset); at != std::string_view::npos)
        line = line.substr(0, line.find_last_not_of(' ', at - (at == 0 ? 0 : 1)) + 1);
      instructions.push_back({*address, *address + shift, SafeText(line)});
    }
  }
  return instructions;
}

Result<std::vector<Instruction>> Disassemble(const std::string& objdump, const std::string& module,
                                             const std::string& symbol) {
  struct stat status {};
  if (::stat(module.c_str(), &status) != 0)
    return ErrorFromErrno(errno, "cannot read " + SafeText(module));
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kUnsupported, SafeText(module) + " is no regular file", ""};
  const auto output = RunProgram(
      objdump, {"-d", "-F", "--no-show-raw-insn", "--disassemble=" + symbol, "--", module}, "",
      kLimits);
  if (!output) return output.error();
  std::vector<Instruction> instructions = InstructionsIn(*output);
  if (instructions.empty())
    return Error{ErrorCode::kNotFound,
                 "objdump finds no function " + SafeText(symbol) + " in " + SafeText(module),
                 "its symbols are in another file, or the file was changed since"};
  return instructions;
}

}  // namespace profd::client
