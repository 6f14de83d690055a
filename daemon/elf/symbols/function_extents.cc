#include "daemon/elf/symbols/function_extents.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "daemon/elf/file/byte_window.h"

namespace profd::elf {
namespace {

constexpr std::uint64_t kMaxFrameBytes = 256u << 20;
constexpr std::size_t kMaxCies = 1u << 18;
constexpr std::size_t kMaxCieBytes = 256;  // of one, as far as it is read
constexpr std::uint32_t kLongEntry = 0xffffffff;
constexpr std::size_t kWord = sizeof(std::uint32_t);

// How a pointer is written: DW_EH_PE_*.
constexpr std::uint8_t kFormat = 0x0f;
constexpr std::uint8_t kSigned = 0x08;
constexpr std::uint8_t kPcRelative = 0x10;
constexpr std::uint8_t kBase = 0xf0;

std::size_t BytesOf(std::uint8_t encoding) {
  switch (encoding & (kFormat & ~kSigned)) {
    case 0:  // an address
    case 4:
      return 8;
    case 2:
      return 2;
    case 3:
      return 4;
    default:  // of variable length: no compiler writes these here
      return 0;
  }
}

template <typename T>
T ValueAt(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Without its base. `bytes` holds it.
std::uint64_t PointerAt(std::string_view bytes, std::size_t offset, std::uint8_t encoding) {
  const bool is_signed = (encoding & kSigned) != 0;
  switch (BytesOf(encoding)) {
    case 2:
      return is_signed ? static_cast<std::uint64_t>(ValueAt<std::int16_t>(bytes, offset))
                       : ValueAt<std::uint16_t>(bytes, offset);
    case 4:
      return is_signed ? static_cast<std::uint64_t>(ValueAt<std::int32_t>(bytes, offset))
                       : ValueAt<std::uint32_t>(bytes, offset);
    default:
      return ValueAt<std::uint64_t>(bytes, offset);
  }
}

// Reads the fields of a CIE one after the other; behind its end they are 0.
class CieFields {
 public:
  explicit CieFields(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  void SkipLeb() {
    while ((Byte() & 0x80) != 0) {
    }
  }
  void Skip(std::size_t bytes) { rest_.remove_prefix(std::min(bytes, rest_.size())); }
  std::string_view Text() {
    const std::string_view text = rest_.substr(0, rest_.find('\0'));
    Skip(text.size() + 1);
    return text;
  }

 private:
  std::string_view rest_;
};

// How its FDEs write addresses. `cie` begins behind its id.
std::optional<std::uint8_t> AddressEncoding(std::string_view cie) {
  CieFields fields(cie);
  const std::uint8_t version = fields.Byte();
  const std::string_view augmentation = fields.Text();
  if (version == 4) fields.Skip(2);  // sizes of addresses and segments
  fields.SkipLeb();                  // alignment of code
  fields.SkipLeb();                  // and of data
  if (version == 1)
    fields.Skip(1);  // the register of return addresses
  else
    fields.SkipLeb();
  if (augmentation.empty()) return std::uint8_t{0};
  if (augmentation.front() != 'z') return std::nullopt;
  fields.SkipLeb();
  for (const char letter : augmentation.substr(1)) {
    if (letter == 'R') return fields.Byte();
    if (letter == 'P') {
      const std::size_t bytes = BytesOf(fields.Byte());
      if (bytes == 0) return std::nullopt;
      fields.Skip(bytes);
    } else if (letter == 'L') {
      fields.Skip(1);
    } else if (letter != 'S' && letter != 'B') {
      return std::nullopt;
    }
  }
  return std::uint8_t{0};
}

struct Frames {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
  std::uint64_t vaddr = 0;
  bool ends_at_zero = false;  // its length is not known
};

// By the section headers, or else by .eh_frame_hdr.
std::optional<Frames> FindFrames(const ElfFile& file) {
  if (!file.sections().empty()) {
    const ElfSection* section = file.FindSection(".eh_frame");
    if (section == nullptr || section->compressed()) return std::nullopt;
    return Frames{section->offset, section->bytes, section->vaddr};
  }
  const ElfSegment* header = file.FindSegment(PT_GNU_EH_FRAME);
  constexpr std::uint8_t kPcRelativeSigned4 = kPcRelative | 0x0b;
  if (header == nullptr || header->file_bytes < 2 * kWord) return std::nullopt;
  const auto bytes = file.source().Copy(header->file_offset, 2 * kWord);
  if (!bytes || ValueAt<std::uint8_t>(*bytes, 1) != kPcRelativeSigned4) return std::nullopt;
  const std::uint64_t vaddr =
      header->vaddr + kWord + static_cast<std::uint64_t>(ValueAt<std::int32_t>(*bytes, kWord));
  const auto part = file.PartAt(vaddr);
  if (!part) return std::nullopt;
  return Frames{part->offset, part->bytes, vaddr, true};
}

// As many as there are, in the order of the file.
std::vector<FunctionExtent> Walk(const ByteSource& source, const Frames& frames, std::size_t most) {
  std::vector<FunctionExtent> found;
  std::unordered_map<std::uint64_t, std::uint8_t> encodings;  // of CIEs, by their places
  ByteWindow window(source);
  const std::uint64_t bytes = std::min(frames.bytes, kMaxFrameBytes);
  for (std::uint64_t at = 0; at + 2 * kWord <= bytes && found.size() < most;) {
    const std::string_view head = window.At(frames.offset + at, 2 * kWord);
    if (head.size() < 2 * kWord) break;
    const auto length = ValueAt<std::uint32_t>(head, 0);
    const auto cie_back = ValueAt<std::uint32_t>(head, kWord);
    if (length == 0 && !frames.ends_at_zero) {  // the end of what one input file had
      at += kWord;
      continue;
    }
    if (length < kWord || length == kLongEntry || length > bytes - at - kWord) break;
    const std::uint64_t body = at + 2 * kWord;  // behind length and id
    const std::size_t body_bytes = length - kWord;
    if (cie_back == 0) {
      const auto encoding =
          AddressEncoding(window.At(frames.offset + body, std::min(body_bytes, kMaxCieBytes)));
      if (encoding && encodings.size() < kMaxCies) encodings[at] = *encoding;
    } else if (const auto cie = encodings.find(at + kWord - cie_back); cie != encodings.end()) {
      const std::uint8_t encoding = cie->second;
      const std::uint8_t base = encoding & kBase;
      const std::size_t pointer = BytesOf(encoding);
      const std::string_view fields = window.At(frames.offset + body, 2 * pointer);
      if (pointer != 0 && (base == 0 || base == kPcRelative) && 2 * pointer <= body_bytes &&
          fields.size() == 2 * pointer) {
        std::uint64_t begin = PointerAt(fields, 0, encoding);
        if (base == kPcRelative) begin += frames.vaddr + body;
        const std::uint64_t size =
            PointerAt(fields, pointer, encoding & static_cast<std::uint8_t>(~kSigned));
        if (size != 0 && size <= ~begin) found.push_back({begin, begin + size});
      }
    }
    at += kWord + length;
  }
  return found;
}

}  // namespace

std::vector<FunctionExtent> ReadFunctionExtents(const ElfFile& file) {
  if (!file.header().is_64 || file.header().big_endian) return {};
  const auto frames = FindFrames(file);
  if (!frames || !file.source().Holds(frames->offset, frames->bytes)) return {};
  auto functions = Walk(file.source(), *frames, 2 * file.limits().symbols);
  std::ranges::sort(functions, {}, &FunctionExtent::begin);
  // Where damaged ones overlap, the one that begins last has the addresses.
  std::size_t kept = 0;
  for (const FunctionExtent& function : functions) {
    if (kept > 0 && functions[kept - 1].begin == function.begin) continue;
    if (kept > 0) functions[kept - 1].end = std::min(functions[kept - 1].end, function.begin);
    functions[kept++] = function;
  }
  functions.resize(kept);
  functions.shrink_to_fit();
  return functions;
}

const FunctionExtent* FunctionAt(std::span<const FunctionExtent> functions, std::uint64_t vaddr) {
  const auto after = std::ranges::upper_bound(functions, vaddr, {}, &FunctionExtent::begin);
  if (after == functions.begin() || vaddr >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

}  // namespace profd::elf
