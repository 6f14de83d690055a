#include "daemon/elf/sources/vdso.h"

#include <optional>
#include <string>

#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/symbols/elf_reader.h"

namespace profd::elf {

Result<std::span<const std::byte>> OwnVdsoBytes() {
  const auto maps = ProcFs().Read("self/maps");
  if (!maps) return maps.error();
  std::optional<MapsLine> vdso;
  ParseMaps(*maps, [&](MapsLine&& line) {
    if (line.path == kVdsoPath) vdso = std::move(line);
  });
  if (!vdso) return Error{ErrorCode::kNotFound, "this kernel maps no vdso", ""};
  const auto* start =
      reinterpret_cast<const std::byte*>(vdso->start);  // NOLINT(performance-no-int-to-ptr)
  return std::span(start, vdso->end - vdso->start);
}

Result<ObjectRef> ReadOwnVdso() {
  const auto bytes = OwnVdsoBytes();
  if (!bytes) return bytes.error();
  return ReadElf(MemoryBytes(*bytes));
}

}  // namespace profd::elf
