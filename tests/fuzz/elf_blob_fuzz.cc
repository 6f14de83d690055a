// Any bytes as what a recording keeps of an ELF file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/elf/sources/object_blob.h"
#include "daemon/elf/sources/replay_object_source.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profd;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<elf::ObjectBlob> blob = elf::DecodeObjectBlob(bytes);
  if (!blob) return 0;
  const Result<elf::ObjectBlob> again = elf::DecodeObjectBlob(elf::EncodeObjectBlob(*blob));
  fuzz::Require(again.ok() && again->info == blob->info, "what was decoded can be written");
  fuzz::Require(again->symbols.size() == blob->symbols.size(), "all of it");

  elf::ObjectId id;
  id.path = "/file";
  elf::ReplayObjectSource source;
  fuzz::Require(source.AddBlob(id.Key(), bytes).ok(), "what was decoded can be replayed");
  const Result<elf::ObjectRef> object = source.Load(id);
  fuzz::Require(object.ok() != blob->failure.has_value(), "failures are replayed as such");
  if (!object) return 0;
  for (const elf::RecordedSymbol& symbol : blob->symbols) {
    const auto found = (*object)->FindSymbol(symbol.begin);
    fuzz::Require(found.has_value() && found->begin == symbol.begin, "every symbol is found");
  }
  return 0;
}
