// Blocks: compressed pieces of a recording, each with its own checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/recording/recording_format.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace profd::recording {

// Records on their way into a block.
struct RawBlock {
  BlockKind kind = BlockKind::kEvents;
  std::uint32_t records = 0;
  std::vector<std::byte> bytes;
};

void AppendEvent(std::span<const std::byte> event, RawBlock& block);
void AppendEnvironment(std::string_view kind, std::string_view key, std::string_view value,
                       RawBlock& block);

// Makes the bytes of a block: header and compressed contents. Used by one thread.
class BlockCompressor {
 public:
  explicit BlockCompressor(int level);
  // Valid until the next call.
  [[nodiscard]] std::span<const std::byte> Compress(const RawBlock& block, std::uint32_t number);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::vector<std::byte> stored_;
};

// Used by one thread.
class BlockDecompressor {
 public:
  BlockDecompressor();
  // `header` is sound. kCorrupt when the contents are not what it says, or damaged. Valid until the
  // next call; starts at an address that is a multiple of 8.
  [[nodiscard]] Result<std::span<const std::byte>> Decompress(const BlockHeader& header,
                                                              std::span<const std::byte> stored);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::vector<std::byte> raw_;
};

// What is wrong with a header that should be that of block `number`; "" when it is sound.
[[nodiscard]] std::string_view FaultOf(const BlockHeader& header, std::uint32_t number);

// The next record of a block, taken off the front of `rest`; false when it is not whole.
[[nodiscard]] bool TakeEvent(std::span<const std::byte>& rest, std::span<const std::byte>& event);
struct EnvironmentView {
  std::string_view kind;
  std::string_view key;
  std::string_view value;
};
[[nodiscard]] bool TakeEnvironment(std::span<const std::byte>& rest, EnvironmentView& record);

}  // namespace profd::recording
