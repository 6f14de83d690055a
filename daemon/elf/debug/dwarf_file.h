// DwarfFile: inlined functions and lines of one file with debug information.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/debug/debug_image.h"
#include "daemon/elf/debug/dwarf_unit.h"
#include "daemon/elf/file/object.h"

namespace profd::elf {

// Open reads the list of units and the code of each. A unit is read when an address in it is first
// requested. Shrink forgets everything beyond the list; it is read again when it is needed. Owned
// by DebugPool; used by one thread at a time.
class DwarfFile {
 public:
  // Owns the descriptors; `alternate` is the dwz file that it shares, or none.
  [[nodiscard]] static Result<std::unique_ptr<DwarfFile>> Open(UniqueFd fd, UniqueFd alternate,
                                                               const DebugLimits& limits = {});
  // Of the sections that Open reads: it takes time in proportion.
  [[nodiscard]] static Result<std::uint64_t> UnpackedBytes(int fd, const DebugLimits& limits);
  // Closes it and gives the descriptors back, to be opened again.
  struct Descriptors {
    UniqueFd fd;
    UniqueFd alternate;
  };
  [[nodiscard]] static Descriptors Close(std::unique_ptr<DwarfFile> file);
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;
  ~DwarfFile();

  // As Object::FindSource.
  [[nodiscard]] std::vector<SourceFrame> Find(std::uint64_t vaddr);
  // Of units and of what libdw was given and, by an estimate, keeps.
  [[nodiscard]] std::size_t bytes() const;
  // Forgets what can be read again. The next Find takes longer.
  void Shrink();
  [[nodiscard]] std::size_t units() const { return units_.size(); }
  // Units read so far, and read again.
  [[nodiscard]] std::size_t units_read() const { return units_read_; }

 private:
  // One file as libdw has it.
  struct Opened {
    ~Opened();
    UniqueFd fd;
    std::unique_ptr<DebugImage> image;  // outlives what follows
    Elf* elf = nullptr;
    Dwarf* dwarf = nullptr;
  };
  struct Code {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t unit = 0;
  };
  // What libdw has of a unit, until it is started again.
  struct LibdwUnit {
    std::uint64_t start = 0;  // of starts_
    Dwarf_Die die{};
    std::uint64_t header_bytes = 0;  // from the unit's begin to its entry
    Dwarf_Files* files = nullptr;
    std::size_t file_count = 0;
    const char* folder = nullptr;
  };
  struct HeldUnit {
    UnitIndex index;
    LibdwUnit libdw;
  };

  using HeldUnits = LruCache<std::uint32_t, HeldUnit>;
  static constexpr std::size_t kHeldUnitBytes = 32u << 20;

  explicit DwarfFile(const DebugLimits& limits) : limits_(limits) {}
  [[nodiscard]] static Result<std::unique_ptr<Opened>> OpenOne(UniqueFd fd,
                                                               const DebugLimits& limits);
  [[nodiscard]] static Result<void> Begin(Opened& opened);
  static void End(Opened& opened);
  [[nodiscard]] Result<void> BeginAll();
  [[nodiscard]] Result<void> ListUnits();
  [[nodiscard]] const Code* CodeAt(std::uint64_t vaddr) const;
  [[nodiscard]] bool OpenUnit(std::uint32_t unit, LibdwUnit& opened) const;
  [[nodiscard]] const HeldUnit* Unit(std::uint32_t unit);
  // Of the entry so far behind the unit's begin.
  [[nodiscard]] static std::string NameOf(const LibdwUnit& unit, std::uint32_t die);
  static void Place(const LibdwUnit& unit, std::uint32_t file, std::uint32_t line,
                    SourceFrame& frame);

  const DebugLimits limits_;
  std::unique_ptr<Opened> alternate_;  // outlives main_
  std::unique_ptr<Opened> main_;
  std::vector<std::uint64_t> units_;                       // offsets of their entries
  std::vector<Code> code_;                                 // ascending
  HeldUnits held_{HeldUnits::kUnbounded, kHeldUnitBytes};  // by unit
  std::size_t libdw_bytes_ = 0;
  std::uint64_t starts_ = 0;  // of libdw
  std::size_t units_read_ = 0;
};

}  // namespace profd::elf
