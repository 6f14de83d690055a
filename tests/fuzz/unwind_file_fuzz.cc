// Any bytes as an ELF file with `.eh_frame`: rows of all of its text, in order.
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/unwind/cfi/cfi_reader.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto reader = profd::unwind::CfiReader::FromMemory(std::as_bytes(std::span(data, size)));
  if (!reader) return 0;
  for (const auto& range : reader->text()) {
    const auto rows = reader->ReadRows(range.begin, range.end).rows;
    profd::fuzz::Require(rows.front().offset == range.begin, "rows begin with the part");
    for (std::size_t i = 1; i < rows.size(); ++i)
      profd::fuzz::Require(rows[i - 1].offset < rows[i].offset, "rows are in order");
  }
  return 0;
}
