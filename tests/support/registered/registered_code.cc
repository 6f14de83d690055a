#include "tests/support/registered/registered_code.h"

#include <elf.h>

#include <cstring>
#include <span>

#include "daemon/elf/file/elf_header.h"

namespace profd::test {

struct DebuggerDescriptor {
  std::uint32_t version = 1;
  std::uint32_t action = 0;
  const DebuggerEntry* relevant = nullptr;
  const DebuggerEntry* first = nullptr;
};

}  // namespace profd::test

// The name by which debuggers find it.
extern "C" {
profd::test::DebuggerDescriptor __jit_debug_descriptor;  // NOLINT(bugprone-reserved-identifier)
}

namespace profd::test {
namespace {

enum Section : std::uint16_t { kNull, kText, kFrames, kRelocations, kSymbols, kStrings, kSections };

template <typename T>
void AppendPlain(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Offset of what was appended, at a multiple of 8.
std::size_t AppendAligned(std::string& bytes, std::string_view what) {
  bytes.resize((bytes.size() + 7) / 8 * 8);
  bytes += what;
  return bytes.size() - what.size();
}

}  // namespace

DebuggerEntry& DebuggerList::Add(const std::string& object) {
  return Add(object.data(), object.size());
}

DebuggerEntry& DebuggerList::Add(const void* object, std::uint64_t bytes) {
  DebuggerEntry& entry = entries_.emplace_back();
  entry = {__jit_debug_descriptor.first, nullptr, object, bytes};
  Point(&entry, &entry);
  return entry;
}

void DebuggerList::RemoveFirst() {
  const DebuggerEntry* first = __jit_debug_descriptor.first;
  Point(first->next, first);
}

void DebuggerList::Point(const DebuggerEntry* first, const DebuggerEntry* relevant) {
  __jit_debug_descriptor.first = first;
  __jit_debug_descriptor.relevant = relevant;
}

std::string MakeRegistered(const RegisteredPlan& plan) {
  std::string names(1, '\0');
  const auto name = [&](const std::string& text) {
    names += text + '\0';
    return static_cast<std::uint32_t>(names.size() - text.size() - 1);
  };
  std::string symbols(sizeof(Elf64_Sym), '\0');
  const auto symbol = [&](std::uint32_t text, unsigned info, std::uint64_t offset,
                          std::uint64_t size) {
    Elf64_Sym made{};
    made.st_name = text;
    made.st_info = static_cast<unsigned char>(info);
    made.st_shndx = kText;
    made.st_value = offset + (plan.relocatable ? 0 : plan.code);
    made.st_size = size;
    AppendPlain(symbols, made);
  };
  symbol(0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), 0, 0);  // number 1: the code
  for (const RegisteredFunction& function : plan.functions)
    symbol(name(function.name), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), function.offset,
           function.size);
  std::string relocations;
  for (const std::uint64_t offset : plan.relocated)
    AppendPlain(relocations, Elf64_Rela{offset, ELF64_R_INFO(1, R_X86_64_PC32), 0});

  std::string object(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> sections(kSections);
  const auto section = [&](Section number, const std::string& text, std::uint32_t type,
                           std::uint64_t flags, std::uint64_t address, std::uint64_t bytes) {
    sections[number].sh_name = name(text);
    sections[number].sh_type = type;
    sections[number].sh_flags = flags;
    sections[number].sh_addr = address;
    sections[number].sh_size = bytes;
    sections[number].sh_addralign = 1;
  };
  section(kText, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, plan.code, plan.code_bytes);
  if (!plan.frames.empty())
    section(kFrames, plan.frames_name, SHT_PROGBITS, SHF_ALLOC, plan.frames_address,
            plan.frames.size());
  if (plan.relocatable && !relocations.empty())
    section(kRelocations, ".rela" + plan.frames_name, SHT_RELA, 0, 0, relocations.size());
  section(kSymbols, ".symtab", SHT_SYMTAB, 0, 0, symbols.size());
  section(kStrings, ".strtab", SHT_STRTAB, 0, 0, 0);
  sections[kStrings].sh_size = names.size();
  sections[kFrames].sh_offset = AppendAligned(object, plan.frames);
  sections[kRelocations].sh_offset = AppendAligned(object, relocations);
  sections[kSymbols].sh_offset = AppendAligned(object, symbols);
  sections[kStrings].sh_offset = AppendAligned(object, names);
  sections[kRelocations].sh_link = kSymbols;
  sections[kRelocations].sh_info = kFrames;
  sections[kRelocations].sh_entsize = sizeof(Elf64_Rela);
  sections[kSymbols].sh_link = kStrings;
  sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  const std::size_t sections_at = AppendAligned(
      object,
      {reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr)});

  Elf64_Ehdr header = elf::NewElfHeader(EM_X86_64);
  if (plan.relocatable) header.e_type = ET_REL;
  header.e_shoff = sections_at;
  header.e_shnum = kSections;
  header.e_shstrndx = kStrings;
  std::memcpy(object.data(), &header, sizeof header);
  return object;
}

std::string MakeFrames(std::uint64_t code_bytes, const std::string& instructions) {
  constexpr char kCie[] =
      "\x14\0\0\0"
      "\0\0\0\0"
      "\1zR\0"
      "\1\x78\x10\1\x1b"
      "\x0c\7\x8"
      "\x90\1"
      "\0";  // CFA rsp+8; the return address at CFA-8
  std::string frames(kCie, sizeof kCie);
  const std::size_t padded = (13 + instructions.size() + 3) / 4 * 4;
  AppendPlain(frames, static_cast<std::uint32_t>(padded));
  AppendPlain(frames, std::uint32_t{28});  // back to the CIE
  AppendPlain(frames, std::uint32_t{0});   // the begin of the code
  AppendPlain(frames, static_cast<std::uint32_t>(code_bytes));
  frames += '\0';  // no augmentation
  frames += instructions;
  frames.resize(28 + padded);
  return frames;
}

}  // namespace profd::test
