#include "daemon/elf/debug/debug_image.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/files.h"
#include "daemon/elf/file/elf_header.h"
#include "daemon/elf/file/unpack.h"

namespace profd::elf {
namespace {

constexpr std::size_t kStride = PagedMemory::kStride;

std::uint64_t RoundUp(std::uint64_t bytes) { return (bytes + kStride - 1) / kStride * kStride; }

}  // namespace

Result<std::unique_ptr<DebugImage>> DebugImage::Create(const FileBytes& source, DebugSections file,
                                                       const DebugLimits& limits) {
  const bool has_info =
      std::ranges::find(file.sections, ".debug_info", &DebugSection::name) != file.sections.end();
  if (!has_info) return Error{ErrorCode::kNotFound, "no debug information in it", ""};
  if (file.big_endian)
    return Error{ErrorCode::kUnsupported, "debug information in big-endian order", ""};
  // The first stride holds the headers.
  std::unique_ptr<DebugImage> image(new DebugImage());
  std::uint64_t end = kStride;
  std::uint64_t total = 0;
  for (const DebugSection& section : file.sections) {
    if (section.unpacked > limits.max_bytes - total)
      return BeyondBound("bytes of debug information", total + section.unpacked, limits.max_bytes);
    total += section.unpacked;
    image->places_.push_back(end);
    end = RoundUp(end + section.unpacked + 1);  // at least one zero byte
  }
  if (total <= limits.eager_bytes) {
    PROFD_TRY(image->memory_.MapPlain(end));
    PROFD_TRY(image->FillEagerly(source, file));
  } else {
    PROFD_TRY(image->MapLazily(source, file, end, limits));
  }
  image->WriteHeaders(file);
  return image;
}

Result<void> DebugImage::FillEagerly(const ByteSource& source, const DebugSections& file) {
  for (std::size_t i = 0; i < file.sections.size(); ++i) {
    char* place = data() + places_[i];
    std::uint64_t left = file.sections[i].unpacked;
    const auto take = [&](std::string_view piece) -> Result<void> {
      if (piece.size() > left) return Error{ErrorCode::kCorrupt, "more data than claimed", ""};
      std::memcpy(place, piece.data(), piece.size());
      place += piece.size();
      left -= piece.size();
      return {};
    };
    if (auto filled = UnpackSection(source, file.sections[i], take); !filled)
      return filled.error().Wrap(file.sections[i].name);
  }
  return {};
}

Result<void> DebugImage::MapLazily(const FileBytes& source, const DebugSections& file,
                                   std::size_t bytes, const DebugLimits& limits) {
  std::vector<PagedMemory::Part> parts;
  for (std::size_t i = 0; i < file.sections.size(); ++i) {
    const DebugSection& section = file.sections[i];
    if (section.packing == Packing::kNone) {
      parts.push_back({places_[i], section.bytes, source.fd(), section.offset});
      continue;
    }
    const std::uint64_t start = unpacked_bytes_;
    if (auto unpacked = UnpackToFile(source, section, limits); !unpacked)
      return unpacked.error().Wrap(section.name);
    parts.push_back({places_[i], section.unpacked, unpacked_.get(), start});
  }
  return memory_.MapPaged(bytes, std::move(parts));
}

Result<void> DebugImage::UnpackToFile(const ByteSource& source, const DebugSection& section,
                                      const DebugLimits& limits) {
  if (!unpacked_.valid()) {
    if (!limits.make_temporary)
      return Error{ErrorCode::kInternal, "no temporary file to unpack it to", ""};
    auto file = limits.make_temporary();
    if (!file) return file.error();
    unpacked_ = *std::move(file);
  }
  PROFD_TRY(UnpackSection(source, section, [this](std::string_view piece) -> Result<void> {
    const int error = WriteAll(unpacked_.get(), piece);
    if (error != 0) return ErrorFromErrno(error, "cannot write a temporary file");
    return {};
  }));
  unpacked_bytes_ += section.unpacked;
  return {};
}

void DebugImage::WriteHeaders(const DebugSections& file) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(file.sections.size() + 2);
  for (std::size_t i = 0; i < file.sections.size(); ++i) {
    Elf64_Shdr& header = headers[i + 1];
    header.sh_name = static_cast<Elf64_Word>(names.size());
    names += file.sections[i].name + '\0';
    header.sh_type = SHT_PROGBITS;
    header.sh_offset = places_[i];
    header.sh_size = file.sections[i].unpacked;
    header.sh_addralign = 1;
  }
  Elf64_Shdr& strings = headers.back();
  strings.sh_name = static_cast<Elf64_Word>(names.size());
  names += ".shstrtab";
  names += '\0';
  strings.sh_type = SHT_STRTAB;
  strings.sh_size = names.size();
  strings.sh_addralign = 1;
  const std::size_t headers_at = sizeof(Elf64_Ehdr);
  const std::size_t headers_bytes = headers.size() * sizeof(Elf64_Shdr);
  strings.sh_offset = headers_at + headers_bytes;

  Elf64_Ehdr header = NewElfHeader(file.machine);
  header.e_shoff = headers_at;
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  std::memcpy(data(), &header, sizeof header);
  std::memcpy(data() + headers_at, headers.data(), headers_bytes);
  std::memcpy(data() + strings.sh_offset, names.data(), names.size());
}

}  // namespace profd::elf
