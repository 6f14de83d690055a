// Any bytes as the contents of the blocks of a recording whose headers and checksums are right:
// random bytes would hardly ever come that far.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/fuzz/recording_file.h"

namespace profd::fuzz {
namespace {

// In the input, before the contents of each block.
struct Prefix {
  std::uint16_t kind;
  std::uint16_t bytes;
  std::uint32_t records;
};

std::vector<std::byte> MakeFile(std::span<const std::byte> input) {
  const recording::FileHeader header;
  const auto begin = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> file(begin.begin(), begin.end());
  recording::BlockCompressor compressor(1);
  std::uint32_t number = 0;
  Prefix prefix;
  while (input.size() >= sizeof(prefix)) {
    std::memcpy(&prefix, input.data(), sizeof(prefix));
    input = input.subspan(sizeof(prefix));
    const auto contents = input.first(std::min<std::size_t>(prefix.bytes, input.size()));
    input = input.subspan(contents.size());
    const auto block = compressor.Compress({.kind = static_cast<recording::BlockKind>(prefix.kind),
                                            .records = prefix.records,
                                            .bytes = {contents.begin(), contents.end()}},
                                           number++);
    file.insert(file.end(), block.begin(), block.end());
  }
  return file;
}

}  // namespace
}  // namespace profd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  profd::fuzz::ReadRecording(profd::fuzz::MakeFile(std::as_bytes(std::span(data, size))));
  return 0;
}
