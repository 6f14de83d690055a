#include "daemon/recording/block.h"

#include <zstd.h>

#include <cstring>
#include <string>

namespace profd::recording {
namespace {

// Adds room for `bytes` and their padding at the end of the block, and returns its address.
std::byte* Extend(RawBlock& block, std::size_t bytes) {
  const std::size_t at = block.bytes.size();
  block.bytes.resize(at + Padded(bytes));
  ++block.records;
  return block.bytes.data() + at;
}

std::byte* Put(std::string_view text, std::byte* to) {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

// Removes `bytes` from the front of `rest`, which must have them.
std::string_view TakeText(std::span<const std::byte>& rest, std::size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), bytes);
  rest = rest.subspan(bytes);
  return text;
}

template <typename Frame>
bool TakeFrame(std::span<const std::byte>& rest, Frame& frame) {
  if (rest.size() < sizeof(frame)) return false;
  std::memcpy(&frame, rest.data(), sizeof(frame));
  rest = rest.subspan(sizeof(frame));
  return true;
}

}  // namespace

void AppendEvent(std::span<const std::byte> event, RawBlock& block) {
  const EventFrame frame{.bytes = static_cast<std::uint32_t>(event.size())};
  std::byte* to = Extend(block, sizeof(frame) + event.size());
  std::memcpy(to, &frame, sizeof(frame));
  if (!event.empty()) std::memcpy(to + sizeof(frame), event.data(), event.size());
}

void AppendEnvironment(std::string_view kind, std::string_view key, std::string_view value,
                       RawBlock& block) {
  const EnvironmentFrame frame{.kind_bytes = static_cast<std::uint32_t>(kind.size()),
                               .key_bytes = static_cast<std::uint32_t>(key.size()),
                               .value_bytes = value.size()};
  std::byte* to = Extend(block, sizeof(frame) + kind.size() + key.size() + value.size());
  std::memcpy(to, &frame, sizeof(frame));
  Put(value, Put(key, Put(kind, to + sizeof(frame))));
}

void BlockCompressor::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void BlockDecompressor::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

BlockCompressor::BlockCompressor(int level) : context_(ZSTD_createCCtx()) {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

std::span<const std::byte> BlockCompressor::Compress(const RawBlock& block, std::uint32_t number) {
  BlockHeader header;
  stored_.resize(sizeof(header) + ZSTD_compressBound(block.bytes.size()));
  // ZSTD_compressBound is always enough, so the call cannot fail because the buffer is too small.
  const std::size_t stored =
      ZSTD_compress2(context_.get(), stored_.data() + sizeof(header),
                     stored_.size() - sizeof(header), block.bytes.data(), block.bytes.size());
  header.kind = block.kind;
  header.number = number;
  header.records = block.records;
  header.raw_bytes = static_cast<std::uint32_t>(block.bytes.size());
  header.stored_bytes = static_cast<std::uint32_t>(stored);
  header.check = HeaderCheck(header);
  std::memcpy(stored_.data(), &header, sizeof(header));
  return std::span(stored_).first(sizeof(header) + stored);
}

BlockDecompressor::BlockDecompressor() : context_(ZSTD_createDCtx()) {}

Result<std::span<const std::byte>> BlockDecompressor::Decompress(
    const BlockHeader& header, std::span<const std::byte> stored) {
  // HeaderFault has limited raw_bytes, so a hostile file cannot make this allocate too much.
  raw_.resize(header.raw_bytes);
  const std::size_t raw =
      ZSTD_decompressDCtx(context_.get(), raw_.data(), raw_.size(), stored.data(), stored.size());
  if (ZSTD_isError(raw))
    return Error{ErrorCode::kCorrupt, std::string("cannot decompress: ") + ZSTD_getErrorName(raw),
                 ""};
  if (raw != raw_.size())
    return Error{
        ErrorCode::kCorrupt,
        "holds " + std::to_string(raw) + " bytes instead of " + std::to_string(raw_.size()), ""};
  return std::span<const std::byte>(raw_);
}

std::string_view HeaderFault(const BlockHeader& header, std::uint32_t number) {
  // In this order, so that a wrong number or length is reported only for a header that is not
  // damaged.
  if (header.magic != kBlockMagic) return "no block begins here";
  if (header.check != HeaderCheck(header)) return "the header of a block is damaged";
  if (header.number != number) return "a block is missing before this one";
  if (header.raw_bytes > kMaxBlockBytes || header.stored_bytes > kMaxStoredBytes)
    return "the block is larger than the format allows";
  if (header.kind < BlockKind::kInfo || header.kind > BlockKind::kFooter)
    return "the block has a kind that this profd does not know";
  return {};
}

bool TakeEvent(std::span<const std::byte>& rest, std::span<const std::byte>& event) {
  EventFrame frame;
  if (!TakeFrame(rest, frame) || rest.size() < Padded(frame.bytes)) return false;
  event = rest.first(frame.bytes);
  rest = rest.subspan(Padded(frame.bytes));
  return true;
}

bool TakeEnvironment(std::span<const std::byte>& rest, EnvironmentView& record) {
  EnvironmentFrame frame;
  if (!TakeFrame(rest, frame)) return false;
  // value_bytes alone, before the sum, which could overflow. The other two have 32 bits.
  if (frame.value_bytes > rest.size()) return false;
  const std::size_t bytes = std::size_t{frame.kind_bytes} + frame.key_bytes + frame.value_bytes;
  if (Padded(bytes) > rest.size()) return false;
  record.kind = TakeText(rest, frame.kind_bytes);
  record.key = TakeText(rest, frame.key_bytes);
  record.value = TakeText(rest, frame.value_bytes);
  rest = rest.subspan(Padded(bytes) - bytes);
  return true;
}

}  // namespace profd::recording
