#include "daemon/elf/sources/object_blob.h"

#include <algorithm>
#include <concepts>
#include <span>
#include <utility>

namespace profd::elf {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kWithoutSources = 1;  // version of recordings before there were any

class Writer {
 public:
  template <std::unsigned_integral T>
  void Number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_ += static_cast<char>((std::uint64_t{value} >> (8 * i)) & 0xff);
  }
  void Text(std::string_view text) {
    Number(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  [[nodiscard]] std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads until the bytes are used up; then everything is zero and ok() false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  T Number() {
    std::uint64_t value = 0;
    const std::string_view bytes = Take(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return static_cast<T>(value);
  }
  std::string Text() {
    const auto size = Number<std::uint32_t>();
    return std::string(Take(size));
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  std::string_view Take(std::size_t size) {
    if (!ok_ || size > rest_.size()) return ok_ = false, std::string_view();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::string EncodeObjectBlob(const ObjectBlob& blob) {
  Writer writer;
  writer.Number(kVersion);
  writer.Number(static_cast<std::uint8_t>(blob.failure.has_value()));
  if (blob.failure) {
    writer.Number(static_cast<std::uint8_t>(blob.failure->code));
    writer.Text(blob.failure->message);
    return writer.Take();
  }
  writer.Text(blob.info.build_id);
  writer.Number(static_cast<std::uint8_t>(blob.info.symbols_from));
  writer.Text(blob.info.symbols_missing);
  writer.Number(static_cast<std::uint32_t>(blob.info.segments.size()));
  for (const LoadSegment& segment : blob.info.segments) {
    writer.Number(segment.file_offset);
    writer.Number(segment.vaddr);
    writer.Number(segment.file_bytes);
    writer.Number(static_cast<std::uint8_t>(segment.executable));
  }
  writer.Number(static_cast<std::uint32_t>(blob.symbols.size()));
  for (const RecordedSymbol& symbol : blob.symbols) {
    writer.Number(symbol.begin);
    writer.Number(symbol.end);
    writer.Text(symbol.name);
  }
  writer.Text(blob.info.symbols_file);
  writer.Text(blob.info.debug_file);
  writer.Text(blob.info.debug_missing);
  writer.Number(static_cast<std::uint32_t>(blob.sources.size()));
  for (const RecordedSource& source : blob.sources) {
    writer.Number(source.vaddr);
    writer.Number(static_cast<std::uint8_t>(std::min<std::size_t>(source.frames.size(), 255)));
    for (const SourceFrame& frame :
         std::span(source.frames).first(std::min<std::size_t>(source.frames.size(), 255))) {
      writer.Text(frame.name);
      writer.Text(frame.file);
      writer.Number(frame.line);
    }
  }
  return writer.Take();
}

Result<ObjectBlob> DecodeObjectBlob(std::string_view bytes) {
  const Error corrupt{ErrorCode::kCorrupt, "damaged record of an ELF file", ""};
  Reader reader(bytes);
  const auto version = reader.Number<std::uint8_t>();
  if (version != kVersion && version != kWithoutSources) return corrupt;
  const auto failed = reader.Number<std::uint8_t>();
  ObjectBlob blob;
  if (failed == 1) {
    const auto code = reader.Number<std::uint8_t>();
    std::string message = reader.Text();
    if (!reader.AtEnd() || code > static_cast<std::uint8_t>(ErrorCode::kInternal)) return corrupt;
    blob.failure = Error{static_cast<ErrorCode>(code), std::move(message), ""};
    return blob;
  }
  blob.info.build_id = reader.Text();
  const auto origin = reader.Number<std::uint8_t>();
  if (failed != 0 || origin > static_cast<std::uint8_t>(SymbolOrigin::kDynsym)) return corrupt;
  blob.info.symbols_from = static_cast<SymbolOrigin>(origin);
  blob.info.symbols_missing = reader.Text();
  const auto segments = reader.Number<std::uint32_t>();
  for (std::uint32_t i = 0; i < segments && reader.ok(); ++i) {
    LoadSegment& segment = blob.info.segments.emplace_back();
    segment.file_offset = reader.Number<std::uint64_t>();
    segment.vaddr = reader.Number<std::uint64_t>();
    segment.file_bytes = reader.Number<std::uint64_t>();
    segment.executable = reader.Number<std::uint8_t>() != 0;
  }
  const auto symbols = reader.Number<std::uint32_t>();
  for (std::uint32_t i = 0; i < symbols && reader.ok(); ++i) {
    RecordedSymbol& symbol = blob.symbols.emplace_back();
    symbol.begin = reader.Number<std::uint64_t>();
    symbol.end = reader.Number<std::uint64_t>();
    symbol.name = reader.Text();
    if (symbol.begin >= symbol.end) return corrupt;
  }
  if (version == kVersion) {
    blob.info.symbols_file = reader.Text();
    blob.info.debug_file = reader.Text();
    blob.info.debug_missing = reader.Text();
    const auto sources = reader.Number<std::uint32_t>();
    for (std::uint32_t i = 0; i < sources && reader.ok(); ++i) {
      RecordedSource& source = blob.sources.emplace_back();
      source.vaddr = reader.Number<std::uint64_t>();
      const auto frames = reader.Number<std::uint8_t>();
      for (std::uint8_t k = 0; k < frames && reader.ok(); ++k) {
        SourceFrame& frame = source.frames.emplace_back();
        frame.name = reader.Text();
        frame.file = reader.Text();
        frame.line = reader.Number<std::uint32_t>();
      }
    }
  }
  if (!reader.AtEnd()) return corrupt;
  return blob;
}

}  // namespace profd::elf
