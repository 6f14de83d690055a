#include "daemon/unwind/cfi/code_functions.h"

#include <utility>

namespace profd::unwind {

Result<std::vector<elf::FunctionExtent>> CodeFunctions::Find(
    const elf::FileStamp& stamp, const std::function<Result<UniqueFd>()>& open,
    std::uint64_t piece) {
  CfiReader* reader = files_.Find(stamp);
  if (reader == nullptr) {
    auto fd = open();
    if (!fd) return fd.error();
    auto opened = CfiReader::Open(*std::move(fd), stamp.bytes);
    if (!opened) return opened.error();
    reader = &files_.Put(stamp, *std::move(opened));
  }
  std::vector<elf::FunctionExtent> functions;
  for (const CodeRange& range : reader->FindFunctions(piece, piece + kPieceBytes))
    functions.push_back({range.begin, range.end});
  return functions;
}

}  // namespace profd::unwind
