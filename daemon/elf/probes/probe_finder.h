// Finds places in a file at which a program can be attached: functions and static probes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/elf_file.h"

namespace profd::elf {

// Offsets in the file, as the kernel takes them for a uprobe.
struct ProbePlace {
  std::uint64_t offset = 0;
  std::uint64_t semaphore = 0;  // of a static probe: counts who has it attached; 0: there is none
};

// Where each of these functions begins, by .dynsym or else .symtab; nothing: the file has no such
// function in a part of it that is executable. After ReadSections.
[[nodiscard]] std::vector<std::optional<ProbePlace>> FindFunctions(
    const ElfFile& file, std::span<const std::string> names);

// The kernel attaches to no vector instruction (VEX, EVEX). If a function begins with some that
// write no general register: the first instruction behind them, at which its arguments are still in
// their registers; else `offset`. Only for functions that do not jump back to their begin.
[[nodiscard]] std::uint64_t BehindVectors(const ElfFile& file, std::uint64_t offset);

// The places of a static probe, as its notes (.note.stapsdt) have them; at most kMaxProbePlaces.
// After ReadSections.
inline constexpr std::size_t kMaxProbePlaces = 16;
[[nodiscard]] std::vector<ProbePlace> FindStaticProbe(const ElfFile& file,
                                                      std::string_view provider,
                                                      std::string_view name);

}  // namespace profd::elf
