// ObjectBlob: what is known of a file, as bytes of a recording. Layout in daemon/elf/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/elf/file/object.h"

namespace profd::elf {

// Kind under which recordings keep these blobs; the key is ObjectId::Key().
inline constexpr std::string_view kObjectBlobKind = "elf";

struct RecordedSymbol {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
};

struct RecordedSource {
  std::uint64_t vaddr = 0;
  std::vector<SourceFrame> frames;
};

// One blob is a whole answer; several of one key add up (symbols that were requested later).
struct ObjectBlob {
  std::optional<Error> failure;  // Load failed with this; the rest is empty
  ObjectInfo info;
  std::vector<RecordedSymbol> symbols;  // the ones that look-ups found
  std::vector<RecordedSource> sources;  // of the addresses that had any
};

[[nodiscard]] std::string EncodeObjectBlob(const ObjectBlob& blob);
// kCorrupt for any bytes that EncodeObjectBlob did not make; never allocates more than they need.
[[nodiscard]] Result<ObjectBlob> DecodeObjectBlob(std::string_view bytes);

}  // namespace profd::elf
