#include "daemon/store/codec/columns.h"

#include <zstd.h>

#include <memory>
#include <utility>

namespace profd::store {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

Error Corrupt(std::string message) { return Error{ErrorCode::kCorrupt, std::move(message), {}}; }

}  // namespace

// LEB128: 7 bits a byte, lowest first; the high bit says that more bytes follow.
void ColumnWriter::Add(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
  bytes_.push_back(static_cast<char>(value));
}

void ColumnWriter::AddSigned(std::int64_t value) {
  Add((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

std::uint64_t ColumnReader::Next() {
  std::uint64_t value = 0;
  // 64 bits need at most 10 bytes. More would shift beyond the number.
  for (std::size_t i = 0; i < bytes_.size() && i < 10; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes_[i]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes_ = bytes_.subspan(i + 1);
      return value;
    }
  }
  // The reader stays at its end, so that callers need to check ok() only once.
  ok_ = false;
  bytes_ = {};
  return 0;
}

std::int64_t ColumnReader::NextSigned() {
  const std::uint64_t value = Next();
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

Result<std::string> PackColumns(std::span<const ColumnWriter> columns, int level) {
  ColumnWriter lengths;
  for (const auto& column : columns) lengths.Add(column.bytes().size());
  std::string raw = lengths.bytes();
  for (const auto& column : columns) raw += column.bytes();
  if (raw.size() > UnpackedColumns::kMaxBytes)
    return Error{ErrorCode::kExhausted, "a window is larger than the store can keep", {}};

  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), packed.data(), packed.size(), raw.data(), raw.size());
  if (ZSTD_isError(size) != 0)
    return Error{ErrorCode::kInternal, std::string("zstd: ") + ZSTD_getErrorName(size), {}};
  packed.resize(size);
  return packed;
}

Result<UnpackedColumns> UnpackedColumns::From(std::span<const std::byte> packed,
                                              std::size_t columns) {
  // The size comes from the file. It is checked before memory of that size is requested.
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxBytes)
    return Corrupt("a window's columns are not what profd wrote");
  UnpackedColumns unpacked;
  unpacked.bytes_.resize(size);
  const std::size_t got =
      ZSTD_decompress(unpacked.bytes_.data(), unpacked.bytes_.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0)
    return Corrupt(std::string("a window's columns are damaged: ") + ZSTD_getErrorName(got));
  if (got != size) return Corrupt("a window's columns are shorter than their header says");

  ColumnReader lengths(unpacked.bytes_);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < columns; ++i) sizes.push_back(lengths.Next());
  std::size_t at = unpacked.bytes_.size() - lengths.left();
  for (const std::size_t length : sizes) {
    if (!lengths.ok() || length > unpacked.bytes_.size() - at)
      return Corrupt("a window's columns are longer than the window");
    unpacked.ranges_.emplace_back(at, length);
    at += length;
  }
  return unpacked;
}

ColumnReader UnpackedColumns::operator[](std::size_t column) const {
  const auto [offset, length] = ranges_[column];
  return ColumnReader(std::span(bytes_).subspan(offset, length));
}

}  // namespace profd::store
