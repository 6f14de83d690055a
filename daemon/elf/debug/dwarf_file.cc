#include "daemon/elf/debug/dwarf_file.h"

#include <dwarf.h>
#include <libelf.h>

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/debug_sections.h"

namespace profd::elf {
namespace {

// What libdw keeps of a unit is freed with everything else alone: it is started again beyond this.
constexpr std::size_t kLibdwBytes = 32u << 20;
constexpr std::size_t kMaxUnits = 1u << 20;
constexpr std::size_t kMaxCode = 4u << 20;
constexpr std::size_t kMaxInlined = 64;

Error Damaged(const std::string& what) {
  const char* cause = dwarf_errmsg(-1);
  return Error{ErrorCode::kCorrupt, what + ": " + (cause == nullptr ? "damaged" : cause), ""};
}

Result<DebugSections> SectionsOf(int fd, const DebugLimits& limits) {
  const auto file = FileBytes::Of(fd);
  if (!file) return file.error();
  return FindDebugSections(*file, limits.elf);
}

}  // namespace

DwarfFile::Opened::~Opened() { End(*this); }

DwarfFile::~DwarfFile() = default;

Result<std::unique_ptr<DwarfFile>> DwarfFile::Open(UniqueFd fd, UniqueFd alternate,
                                                   const DebugLimits& limits) {
  std::unique_ptr<DwarfFile> file(new DwarfFile(limits));
  if (alternate.valid()) {
    auto opened = OpenOne(std::move(alternate), limits);
    if (!opened) return opened.error().Wrap("alternate debug file");
    file->alternate_ = std::move(opened).value();
  }
  auto opened = OpenOne(std::move(fd), limits);
  if (!opened) return opened.error();
  file->main_ = std::move(opened).value();
  PROFD_TRY(file->BeginAll());
  PROFD_TRY(file->ListUnits());
  return file;
}

DwarfFile::Descriptors DwarfFile::Close(std::unique_ptr<DwarfFile> file) {
  Descriptors descriptors;
  for (const auto& [opened, fd] : {std::pair{file->main_.get(), &descriptors.fd},
                                   std::pair{file->alternate_.get(), &descriptors.alternate}}) {
    if (opened == nullptr) continue;
    End(*opened);
    opened->image.reset();
    *fd = std::move(opened->fd);
  }
  return descriptors;
}

Result<std::uint64_t> DwarfFile::UnpackedBytes(int fd, const DebugLimits& limits) {
  const auto file = SectionsOf(fd, limits);
  if (!file) return file.error();
  std::uint64_t bytes = 0;
  for (const DebugSection& section : file->sections)
    bytes += std::min(section.unpacked, limits.max_bytes);
  return bytes;
}

Result<std::unique_ptr<DwarfFile::Opened>> DwarfFile::OpenOne(UniqueFd fd,
                                                              const DebugLimits& limits) {
  auto opened = std::make_unique<Opened>();
  opened->fd = std::move(fd);
  const auto file = FileBytes::Of(opened->fd.get());
  if (!file) return file.error();
  auto sections = FindDebugSections(*file, limits.elf);
  if (!sections) return sections.error();
  auto image = DebugImage::Create(*file, std::move(sections).value(), limits);
  if (!image) return image.error();
  opened->image = std::move(image).value();
  return opened;
}

Result<void> DwarfFile::Begin(Opened& opened) {
  elf_version(EV_CURRENT);
  opened.elf = elf_memory(opened.image->data(), opened.image->size());
  if (opened.elf == nullptr) return Error{ErrorCode::kInternal, "libelf refuses our headers", ""};
  opened.dwarf = dwarf_begin_elf(opened.elf, DWARF_C_READ, nullptr);
  if (opened.dwarf == nullptr) return Damaged("debug information");
  return {};
}

void DwarfFile::End(Opened& opened) {
  if (opened.dwarf != nullptr) dwarf_end(std::exchange(opened.dwarf, nullptr));
  if (opened.elf != nullptr) elf_end(std::exchange(opened.elf, nullptr));
}

Result<void> DwarfFile::BeginAll() {
  if (main_->dwarf != nullptr) return {};
  libdw_bytes_ = 0;
  ++starts_;
  PROFD_TRY(Begin(*main_));
  if (alternate_) {
    PROFD_TRY(Begin(*alternate_));
    dwarf_setalt(main_->dwarf, alternate_->dwarf);
  }
  return {};
}

Result<void> DwarfFile::ListUnits() {
  Dwarf_CU* unit = nullptr;
  std::uint8_t type = 0;
  Dwarf_Die die;
  Dwarf_Off last = 0;
  int status = 0;
  while ((status = dwarf_get_units(main_->dwarf, unit, &unit, nullptr, &type, &die, nullptr)) ==
         0) {
    const Dwarf_Off offset = dwarf_dieoffset(&die);
    if (offset <= last || units_.size() >= kMaxUnits) break;
    last = offset;
    if (type == DW_UT_type || dwarf_tag(&die) != DW_TAG_compile_unit) continue;
    const auto number = static_cast<std::uint32_t>(units_.size());
    units_.push_back(offset);
    Dwarf_Addr base = 0;
    Code code{0, 0, number};
    std::ptrdiff_t at = 0;
    while ((at = dwarf_ranges(&die, at, &base, &code.begin, &code.end)) > 0) {
      if (code.begin != 0 && code.begin < code.end && code_.size() < kMaxCode)
        code_.push_back(code);
    }
  }
  if (units_.empty() && status < 0) return Damaged("units");
  std::ranges::sort(code_, {}, &Code::begin);
  code_.shrink_to_fit();
  return {};
}

const DwarfFile::Code* DwarfFile::CodeAt(std::uint64_t vaddr) const {
  auto after = std::ranges::upper_bound(code_, vaddr, {}, &Code::begin);
  // They hardly ever overlap.
  for (int tries = 8; after != code_.begin() && tries > 0; --tries) {
    --after;
    if (vaddr < after->end) return &*after;
  }
  return nullptr;
}

std::vector<SourceFrame> DwarfFile::Find(std::uint64_t vaddr) {
  std::vector<SourceFrame> frames;
  const Code* code = CodeAt(vaddr);
  if (code == nullptr) return frames;
  if (libdw_bytes_ > kLibdwBytes) {
    End(*main_);
    if (alternate_) End(*alternate_);
  }
  if (!BeginAll()) return frames;
  const HeldUnit* held = Unit(code->unit);
  if (held == nullptr) return frames;

  const LineRow* row = held->index.LineAt(vaddr);
  std::uint32_t scope = held->index.ScopeAt(vaddr);
  if (row == nullptr && scope == CodeScope::kNone) return frames;
  frames.emplace_back();
  if (row != nullptr) Place(held->libdw, row->file, row->line, frames.back());
  while (scope != CodeScope::kNone && frames.size() < kMaxInlined) {
    const CodeScope& here = held->index.scope(scope);
    frames.back().name = NameOf(held->libdw, here.die);
    scope = here.parent;
    if (scope == CodeScope::kNone) break;
    frames.emplace_back();
    Place(held->libdw, here.call_file, here.call_line, frames.back());
  }
  return frames;
}

void DwarfFile::Place(const LibdwUnit& unit, std::uint32_t file, std::uint32_t line,
                      SourceFrame& frame) {
  const char* name = unit.files != nullptr && file < unit.file_count
                         ? dwarf_filesrc(unit.files, file, nullptr, nullptr)
                         : nullptr;
  frame.line = line;
  if (name == nullptr) return;
  // A build folder that is relative itself is one that was made unrecognisable.
  if (name[0] != '/' && unit.folder != nullptr && unit.folder[0] == '/')
    frame.file = std::string(unit.folder) + "/";
  frame.file += name;
}

std::string DwarfFile::NameOf(const LibdwUnit& unit, std::uint32_t die_offset) {
  // As dwarf_offdie makes it, which searches for the unit each time.
  Dwarf_Die die = unit.die;
  die.addr = static_cast<char*>(unit.die.addr) + die_offset - unit.header_bytes;
  die.abbrev = nullptr;
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    if (dwarf_attr_integrate(&die, name, &attribute) == nullptr) continue;
    if (const char* text = dwarf_formstring(&attribute); text != nullptr) return text;
  }
  return "";
}

bool DwarfFile::OpenUnit(std::uint32_t unit, LibdwUnit& opened) const {
  opened = {};
  if (dwarf_offdie(main_->dwarf, units_[unit], &opened.die) == nullptr) return false;
  opened.header_bytes = dwarf_cuoffset(&opened.die);
  if (dwarf_getsrcfiles(&opened.die, &opened.files, &opened.file_count) != 0)
    opened.files = nullptr;
  Dwarf_Attribute folder;
  opened.folder = dwarf_formstring(dwarf_attr(&opened.die, DW_AT_comp_dir, &folder));
  opened.start = starts_;
  return true;
}

const DwarfFile::HeldUnit* DwarfFile::Unit(std::uint32_t unit) {
  if (HeldUnit* held = held_.Find(unit); held != nullptr)
    return held->libdw.start == starts_ || OpenUnit(unit, held->libdw) ? held : nullptr;
  Dwarf_Die die;
  if (dwarf_offdie(main_->dwarf, units_[unit], &die) == nullptr) return nullptr;
  ++units_read_;
  HeldUnit read{UnitIndex::Build(die), {}};
  if (!OpenUnit(unit, read.libdw)) return nullptr;
  const std::size_t bytes = read.index.bytes();
  libdw_bytes_ += 3 * bytes;
  return &held_.Put(unit, std::move(read), bytes);
}

std::size_t DwarfFile::bytes() const {
  std::size_t bytes = sizeof(*this) + held_.cost() + libdw_bytes_ + main_->image->resident() +
                      units_.capacity() * sizeof(std::uint64_t) + code_.capacity() * sizeof(Code);
  if (alternate_) bytes += alternate_->image->resident();
  return bytes;
}

void DwarfFile::Shrink() {
  End(*main_);
  main_->image->Drop();
  if (alternate_) {
    End(*alternate_);
    alternate_->image->Drop();
  }
  held_.Clear();
  libdw_bytes_ = 0;
}

}  // namespace profd::elf
