#include "daemon/python/code/code_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "bpf/shared/python_layout.h"
#include "daemon/python/code/text_decoder.h"

namespace profd::python {
namespace {

Error Gone() { return Error{ErrorCode::kNotFound, "a code object cannot be read", ""}; }
Error Stale() { return Error{ErrorCode::kCorrupt, "another code object is there", ""}; }

template <typename T>
T FieldAt(const std::string& header, std::size_t offset) {
  T field;
  std::memcpy(&field, header.data() + offset, sizeof field);
  return field;
}

constexpr std::uint64_t kFoldedBytes = PROFD_PYTHON_TEXT_WORDS * sizeof(std::uint64_t);

std::span<std::byte> BytesOf(std::string& text) {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

}  // namespace

bool CodeReader::ReadHeader(std::uint64_t code, std::string* header) const {
  header->resize(layout_.CodeHeaderBytes());
  return memory_.Read(code, BytesOf(*header));
}

std::optional<std::uint32_t> CodeReader::ValidatorOf(const std::string& header) const {
  const profd_python_process& process = layout_.process;
  if (process.code_version != 0)
    if (const auto version = FieldAt<std::uint32_t>(header, process.code_version); version != 0)
      return version;
  std::uint64_t hash = 0;
  const auto name = FieldAt<std::uint64_t>(header, process.code_name);
  if (!memory_.Get(name + process.string_hash, &hash)) return std::nullopt;
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < process.code_words; ++i)
    sum = profd_python_fold(sum, FieldAt<std::uint64_t>(header, process.code_constant + 8u * i));
  sum = profd_python_fold(sum, hash);
  for (const std::uint16_t field : {process.code_file, process.code_qualname})
    if (field != 0 && !FoldText(FieldAt<std::uint64_t>(header, field), &sum)) return std::nullopt;
  if (process.code_lines != 0 &&
      !FoldLines(FieldAt<std::uint64_t>(header, process.code_lines), &sum))
    return std::nullopt;
  return profd_python_folded(sum);
}

bool CodeReader::FoldBytes(std::uint64_t address, std::uint64_t bytes, std::uint64_t* sum) const {
  std::array<std::uint64_t, PROFD_PYTHON_TEXT_WORDS> words{};
  if (!memory_.Read(address, std::as_writable_bytes(std::span(words)).first(bytes))) return false;
  for (const std::uint64_t word : words) *sum = profd_python_fold(*sum, word);
  return true;
}

bool CodeReader::FoldText(std::uint64_t string, std::uint64_t* sum) const {
  std::array<std::uint64_t, PROFD_PYTHON_TEXT_HEAD_WORDS> head;
  if (!memory_.Get(string + PROFD_PYTHON_TEXT_HEAD, &head)) return false;
  const auto state = static_cast<std::uint32_t>(head.back());
  const std::uint64_t bytes = head.front() * PROFD_PYTHON_TEXT_KIND(state);
  const std::uint64_t kept = std::min(bytes, kFoldedBytes);
  *sum = profd_python_fold(*sum, bytes << 3 | PROFD_PYTHON_TEXT_KIND(state));
  return FoldBytes(string + PROFD_PYTHON_TEXT_BEGIN(state) + bytes - kept, kept, sum);
}

bool CodeReader::FoldLines(std::uint64_t lines, std::uint64_t* sum) const {
  std::uint64_t bytes = 0;
  if (!memory_.Get(lines + PROFD_PYTHON_BYTES_LENGTH, &bytes)) return false;
  *sum = profd_python_fold(*sum, bytes);
  return FoldBytes(lines + PROFD_PYTHON_BYTES_BEGIN, std::min(bytes, kFoldedBytes), sum);
}

std::optional<std::uint32_t> CodeReader::Validate(std::uint64_t code) {
  std::string header;
  if (!ReadHeader(code, &header)) return std::nullopt;
  return ValidatorOf(header);
}

Result<CodeText> CodeReader::Read(std::uint64_t code, std::uint32_t validator) {
  std::string header;
  if (!ReadHeader(code, &header)) return Gone();
  const auto before = ValidatorOf(header);
  if (!before) return Gone();
  if (*before != validator || !types_.Is(code, TypeNames::kCode)) return Stale();

  CodeText text;
  text.first_line = FieldAt<std::int32_t>(header, layout_.code_first_line);
  auto name = ReadString(FieldAt<std::uint64_t>(header, layout_.process.code_name), kMaxNameBytes);
  auto file = ReadString(FieldAt<std::uint64_t>(header, layout_.code_file), kMaxFileBytes);
  auto lines = ReadBytes(FieldAt<std::uint64_t>(header, layout_.code_lines), kMaxLinesBytes);
  if (!name) return name.error();
  if (!file) return file.error();
  if (!lines) return lines.error();
  text.name = *std::move(name);
  text.file = *std::move(file);
  text.lines = *std::move(lines);
  if (layout_.code_qualname != 0) {
    auto qualname =
        ReadString(FieldAt<std::uint64_t>(header, layout_.code_qualname), kMaxNameBytes);
    if (!qualname) return qualname.error();
    text.qualname = *std::move(qualname);
  }

  // Its memory may have been given to another one meanwhile.
  std::string again;
  if (!ReadHeader(code, &again)) return Gone();
  const auto after = ValidatorOf(again);
  if (after != validator) return Stale();
  for (const std::size_t field : {std::size_t{layout_.process.code_name},
                                  std::size_t{layout_.code_file}, std::size_t{layout_.code_lines}})
    if (FieldAt<std::uint64_t>(again, field) != FieldAt<std::uint64_t>(header, field))
      return Stale();
  return text;
}

Result<std::string> CodeReader::ReadString(std::uint64_t address, std::size_t max_bytes) {
  struct {
    std::uint64_t length;
    std::uint64_t hash;
    std::uint32_t state;
  } head;
  if (!types_.Is(address, TypeNames::kStr)) return Stale();
  if (!memory_.Get(address + kObjectLength, &head)) return Gone();
  const auto form = ParseStringState(head.state);
  if (!form) return Stale();
  const std::uint64_t data = address + (form->ascii ? layout_.ascii_bytes : layout_.compact_bytes);
  const std::uint64_t count = std::min<std::uint64_t>(head.length, max_bytes);
  std::string characters(count * form->bytes_each, '\0');
  if (!memory_.Read(data, BytesOf(characters))) return Gone();
  return ToUtf8(characters, form->bytes_each, max_bytes);
}

Result<std::string> CodeReader::ReadBytes(std::uint64_t address, std::size_t max_bytes) {
  std::uint64_t length = 0;
  if (!types_.Is(address, TypeNames::kBytes)) return Stale();
  if (!memory_.Get(address + kObjectLength, &length)) return Gone();
  std::string bytes(std::min<std::uint64_t>(length, max_bytes), '\0');
  if (!memory_.Read(address + kBytesData, BytesOf(bytes))) return Gone();
  return bytes;
}

}  // namespace profd::python
