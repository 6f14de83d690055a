// CodeFunctions: the functions of files that only their machine code shows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/elf/sources/function_finder.h"
#include "daemon/unwind/cfi/cfi_reader.h"

namespace profd::unwind {

// Keeps the file open that was read last. Owned by the parser of symbols, in a reader process.
class CodeFunctions : public elf::FunctionFinder {
 public:
  [[nodiscard]] Result<std::vector<elf::FunctionExtent>> Find(
      const elf::FileStamp& stamp, const std::function<Result<UniqueFd>()>& open,
      std::uint64_t piece) override;

 private:
  static constexpr std::size_t kMaxFiles = 1;  // a large library takes 20 MB

  LruCache<elf::FileStamp, CfiReader> files_{kMaxFiles};
};

}  // namespace profd::unwind
