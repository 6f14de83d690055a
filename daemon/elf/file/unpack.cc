#include "daemon/elf/file/unpack.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace profd::elf {
namespace {

constexpr std::size_t kPiece = 256u << 10;

Error Corrupt(const std::string& message) { return Error{ErrorCode::kCorrupt, message, ""}; }

// The packed bytes of a section, a piece at a time.
class Pieces {
 public:
  Pieces(const ByteSource& source, const DebugSection& section)
      : source_(source), offset_(section.offset), left_(section.bytes), buffer_(kPiece, '\0') {}

  // "" at the end.
  Result<std::string_view> Next() {
    const std::size_t wanted = std::min<std::uint64_t>(left_, buffer_.size());
    PROFD_TRY(source_.Read(offset_, std::span(buffer_).first(wanted)));
    offset_ += wanted;
    left_ -= wanted;
    return std::string_view(buffer_).substr(0, wanted);
  }

 private:
  const ByteSource& source_;
  std::uint64_t offset_;
  std::uint64_t left_;
  std::string buffer_;
};

Result<void> Inflate(Pieces& pieces, std::uint64_t expected, const PieceSink& sink) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return Error{ErrorCode::kExhausted, "no memory for zlib", ""};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, ::inflateEnd);
  std::vector<char> out(kPiece);
  std::uint64_t total = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const Result<std::string_view> piece = pieces.Next();
    if (!piece) return piece.error();
    if (piece->empty()) return Corrupt("compressed data end too early");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece->data()));
    stream.avail_in = static_cast<uInt>(piece->size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      status = ::inflate(&stream, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return Corrupt("damaged compressed data");
      const std::size_t made = out.size() - stream.avail_out;
      total += made;
      if (total > expected) return Corrupt("more compressed data than it claims");
      if (made > 0) PROFD_TRY(sink(std::string_view(out.data(), made)));
    } while (status != Z_STREAM_END && stream.avail_out == 0);
  }
  if (total != expected) return Corrupt("less compressed data than it claims");
  return {};
}

Result<void> UnZstd(Pieces& pieces, std::uint64_t expected, const PieceSink& sink) {
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                             ZSTD_freeDStream);
  if (!stream) return Error{ErrorCode::kExhausted, "no memory for zstd", ""};
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, 27);
  std::vector<char> out(kPiece);
  std::uint64_t total = 0;
  while (total < expected) {
    const Result<std::string_view> piece = pieces.Next();
    if (!piece) return piece.error();
    if (piece->empty()) return Corrupt("compressed data end too early");
    ZSTD_inBuffer in{piece->data(), piece->size(), 0};
    for (bool more = true; more;) {
      ZSTD_outBuffer made{out.data(), out.size(), 0};
      const std::size_t before = in.pos;
      if (ZSTD_isError(ZSTD_decompressStream(stream.get(), &made, &in)) != 0)
        return Corrupt("damaged compressed data");
      total += made.pos;
      if (total > expected) return Corrupt("more compressed data than it claims");
      if (made.pos > 0) PROFD_TRY(sink(std::string_view(out.data(), made.pos)));
      more = made.pos == made.size || (in.pos < in.size && in.pos != before);
    }
  }
  return {};
}

}  // namespace

Result<void> UnpackSection(const ByteSource& source, const DebugSection& section,
                           const PieceSink& sink) {
  Pieces pieces(source, section);
  if (section.packing == Packing::kZlib) return Inflate(pieces, section.unpacked, sink);
  if (section.packing == Packing::kZstd) return UnZstd(pieces, section.unpacked, sink);
  for (;;) {
    const Result<std::string_view> piece = pieces.Next();
    if (!piece) return piece.error();
    if (piece->empty()) return {};
    PROFD_TRY(sink(*piece));
  }
}

Result<std::string> UnpackXz(std::string_view packed, std::uint64_t max_bytes) {
  constexpr std::uint64_t kMemory = 128u << 20;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&stream, kMemory, 0) != LZMA_OK)
    return Error{ErrorCode::kExhausted, "no memory for xz", ""};
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&stream, ::lzma_end);
  std::string unpacked;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::vector<char> out(kPiece);
  for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream.avail_out = out.size();
    status = ::lzma_code(&stream, LZMA_FINISH);
    if (status != LZMA_OK && status != LZMA_STREAM_END) return Corrupt("damaged xz data");
    unpacked.append(out.data(), out.size() - stream.avail_out);
    if (unpacked.size() > max_bytes)
      return BeyondBound("unpacked bytes", unpacked.size(), max_bytes);
  }
  return unpacked;
}

}  // namespace profd::elf
