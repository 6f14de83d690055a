// FunctionFinder: where functions without a symbol and without unwind information are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/elf/symbols/function_extents.h"

namespace profd::elf {

// Implemented by what reads machine code. Lives in a reader process, which alone uses it.
class FunctionFinder {
 public:
  // One answer is about a piece of so many bytes of the object's addresses, aligned.
  static constexpr std::uint64_t kPieceBytes = 64u << 10;
  [[nodiscard]] static constexpr std::uint64_t PieceOf(std::uint64_t vaddr) {
    return vaddr / kPieceBytes * kPieceBytes;
  }

  virtual ~FunctionFinder() = default;
  // Functions that reach into the piece that begins at `piece`, ascending and disjoint. `open`
  // opens the file, if it is not known yet.
  [[nodiscard]] virtual Result<std::vector<FunctionExtent>> Find(
      const FileStamp& stamp, const std::function<Result<UniqueFd>()>& open,
      std::uint64_t piece) = 0;
};

}  // namespace profd::elf
