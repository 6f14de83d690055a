// Block: a compressed piece of a recording with its own checksum, and the records in it.
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

// The records of a block before compression.
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
  explicit BlockCompressor(int level);  // of zstd
  // The result is valid until the next call.
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
  // `header` must be valid (HeaderFault). kCorrupt: the contents are damaged or do not agree with
  // it. The result is valid until the next call, and begins at a multiple of 8, as events need it.
  [[nodiscard]] Result<std::span<const std::byte>> Decompress(const BlockHeader& header,
                                                              std::span<const std::byte> stored);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::vector<std::byte> raw_;
};

// Says why a header is not a valid header of block `number`; "": it is valid.
[[nodiscard]] std::string_view HeaderFault(const BlockHeader& header, std::uint32_t number);

// Removes the next record of a block from the front of `rest`. False: the record is cut.
[[nodiscard]] bool TakeEvent(std::span<const std::byte>& rest, std::span<const std::byte>& event);
struct EnvironmentView {
  std::string_view kind;
  std::string_view key;
  std::string_view value;
};
[[nodiscard]] bool TakeEnvironment(std::span<const std::byte>& rest, EnvironmentView& record);

}  // namespace profd::recording
