#include "daemon/unwind/cfi/cfi_reader.h"

#include <elfutils/libdw.h>
#include <libelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "daemon/unwind/cfi/cfi_check.h"
#include "daemon/unwind/cfi/frame_index.h"
#include "daemon/unwind/cfi/frame_walk.h"
#include "daemon/unwind/cfi/interpreter.h"
#include "daemon/unwind/code/code_rows.h"
#include "daemon/unwind/code/code_starts.h"

namespace profd::unwind {
namespace {

// What libdw keeps of one FDE, with its place in a search tree, about.
constexpr std::size_t kFdeBytes = 150;
constexpr std::size_t kMaxFdes = 50'000;

// From the `syscall` of clone to what the new thread does first.
constexpr std::uint64_t kMaxBytesAfterSyscall = 32;

struct Free {
  void operator()(Elf* elf) const { ::elf_end(elf); }
  void operator()(Dwarf_CFI* cfi) const { ::dwarf_cfi_end(cfi); }
};

// Less than that is padding, not worth a look.
constexpr std::uint64_t kLeastGap = 16;

// Entry code is short; what follows it without rules may be anything.
constexpr std::uint64_t kEntryBytes = 256;

profd_unwind_rule EndRule() {
  profd_unwind_rule rule{};
  rule.cfa = PROFD_CFA_END;
  return rule;
}

// A file together with its descriptor.
class OwnedFile : public elf::FileBytes {
 public:
  OwnedFile(UniqueFd fd, std::uint64_t bytes) : FileBytes(fd.get(), bytes), owned_(std::move(fd)) {}

 private:
  UniqueFd owned_;
};

// A copy of memory.
class OwnedMemory : public elf::ByteSource {
 public:
  explicit OwnedMemory(std::span<const std::byte> bytes)
      : ByteSource(bytes.size()), owned_(bytes.begin(), bytes.end()) {}

 private:
  [[nodiscard]] Result<void> ReadInside(std::uint64_t offset, std::span<char> to) const override {
    std::memcpy(to.data(), owned_.data() + offset, to.size());
    return {};
  }

  const std::vector<std::byte> owned_;
};

// FrameBytes brings entries of `.eh_frame` into the image as they are needed.
// Block by block, each once: what has been checked does not change. Of a large file only what is
// requested takes memory. Used by one thread; the image is given each time, as its owner moves.
class FrameBytes {
 public:
  // .eh_frame lies at `offset` of the file; `there`: all of it is in the image already.
  FrameBytes(std::uint64_t offset, std::uint64_t bytes, bool there)
      : offset_(offset), bytes_(bytes), there_(there) {}

  // The FDE at `offset` of .eh_frame, and its CIE. False: it reaches outside, or cannot be read.
  [[nodiscard]] bool Bring(elf::FileImage& image, std::uint64_t offset);
  // In the image by now.
  [[nodiscard]] std::uint64_t brought_bytes() const { return brought_bytes_; }

 private:
  static constexpr std::uint64_t kBlockBytes = 32u << 10;

  [[nodiscard]] bool BringPart(elf::FileImage& image, std::uint64_t offset, std::uint64_t bytes);
  // The whole entry. Returns its second word, which leads from an FDE to its CIE.
  [[nodiscard]] std::optional<std::uint32_t> BringEntry(elf::FileImage& image,
                                                        std::uint64_t offset);

  std::uint64_t offset_;
  std::uint64_t bytes_;
  bool there_;
  std::vector<bool> blocks_;  // that are there
  std::uint64_t brought_bytes_ = 0;
};

bool FrameBytes::Bring(elf::FileImage& image, std::uint64_t offset) {
  if (there_) return true;
  const auto to_cie = BringEntry(image, offset);
  if (!to_cie) return false;
  const std::uint64_t from = offset + sizeof(std::uint32_t);  // of that word
  if (*to_cie == 0 || *to_cie > from) return true;            // no FDE: CfiCheck refuses it
  return BringEntry(image, from - *to_cie).has_value();
}

std::optional<std::uint32_t> FrameBytes::BringEntry(elf::FileImage& image, std::uint64_t offset) {
  std::uint32_t words[2] = {};  // NOLINT(modernize-avoid-c-arrays): as they lie in the file
  if (!BringPart(image, offset, sizeof words)) return std::nullopt;
  std::memcpy(words, image.data() + offset_ + offset, sizeof words);
  if (!BringPart(image, offset, sizeof words[0] + std::uint64_t{words[0]})) return std::nullopt;
  return words[1];
}

bool FrameBytes::BringPart(elf::FileImage& image, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > bytes_ || bytes > bytes_ - offset) return false;
  if (blocks_.empty()) blocks_.resize((bytes_ + kBlockBytes - 1) / kBlockBytes);
  const std::uint64_t last = (offset + bytes - 1) / kBlockBytes;
  for (std::uint64_t block = offset / kBlockBytes; block <= last; ++block) {
    if (blocks_[block]) continue;
    const std::uint64_t begin = block * kBlockBytes;
    const std::uint64_t length = std::min(kBlockBytes, bytes_ - begin);
    if (!image.Fetch(offset_ + begin, length)) return false;
    blocks_[block] = true;
    brought_bytes_ += length;
  }
  return true;
}

}  // namespace

void EndAtEntry(std::uint64_t entry, std::uint64_t end, std::vector<Row>& rows) {
  std::vector<Row> with;
  with.reserve(rows.size() + 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t next = i + 1 < rows.size() ? rows[i + 1].offset : end;
    const std::uint64_t from = std::max(rows[i].offset, entry);
    const std::uint64_t to = std::min(next, entry + kEntryBytes);
    if (rows[i].rule.cfa != PROFD_CFA_NONE || from >= to) {
      with.push_back(rows[i]);
      continue;
    }
    if (rows[i].offset < from) with.push_back(rows[i]);
    with.push_back({from, EndRule()});
    if (to < next) with.push_back({to, rows[i].rule});
  }
  rows = std::move(with);
}

class CfiReader::State {
 public:
  State(ElfText text, FrameIndex index)
      : text_(std::move(text)),
        index_(std::move(index)),
        bytes_(index_.frames_offset(), index_.frames_bytes(), index_.walked()) {}

  Result<void> Start() {
    ::elf_version(EV_CURRENT);
    elf_.reset(::elf_memory(text_.image().data(), text_.image().size()));
    if (!elf_) return Error{ErrorCode::kCorrupt, "libelf cannot read the file", ""};
    if (!index_.entries().empty()) PROFD_TRY(BeginCfi());
    cpython_ = IsCpython(text_.file());
    frames_.d_buf = text_.image().data() + index_.frames_offset();
    frames_.d_size = index_.frames_bytes();
    frames_.d_type = ELF_T_BYTE;
    frames_.d_version = EV_CURRENT;
    check_.emplace(reinterpret_cast<const unsigned char*>(text_.image().data()), &frames_);
    return {};
  }

  PartRows ReadRows(std::uint64_t begin, std::uint64_t end, bool requested) {
    PartRows part;
    std::vector<Row>& rows = part.rows;
    Append(begin, kNoRule, rows);
    if (fdes_ > kMaxFdes && !BeginCfi()) return part;
    std::uint64_t budget = kMaxExecutedBytes;
    for (const TextRange& range : text_.text()) {
      const std::uint64_t from = std::max(begin, range.begin);
      const std::uint64_t to = std::min(end, range.end);
      if (from >= to) continue;
      const std::uint64_t bias = range.vaddr - range.begin;
      const std::uint64_t bare = BareBytes({from + bias, to + bias});
      if (bare > kMaxUnrequested && !requested) {
        part = {};
        part.deferred = true;
        return part;
      }
      if (!index_.entries().empty()) ReadRange(from, to, bias, budget, rows);
      if (to < end) Append(to, kNoRule, rows);
      if (bare > 0) FillFromCode({from + bias, to + bias}, range, bare, end, part);
    }
    return part;
  }

  std::vector<CodeRange> FindFunctions(std::uint64_t begin, std::uint64_t end) {
    std::vector<CodeRange> functions;
    for (const TextRange& range : text_.text()) {
      const std::uint64_t from = std::max(begin, range.vaddr);
      const std::uint64_t to = std::min(end, range.vaddr + (range.end - range.begin));
      if (from >= to || BareBytes({from, to}) == 0) continue;
      const auto found = FindCode({from, to}, range);
      functions.insert(functions.end(), found.functions.begin(), found.functions.end());
    }
    return functions;
  }

  [[nodiscard]] const ElfText& text() const { return text_; }
  [[nodiscard]] const FrameIndex& index() const { return index_; }
  [[nodiscard]] bool cpython() const { return cpython_; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }
  [[nodiscard]] std::uint64_t bytes() const {
    // The index was made of half as many bytes, which are still there.
    return index_.entries().size() * sizeof(FrameIndex::Entry) * 3 / 2 + fdes_ * kFdeBytes +
           (index_.walked() ? index_.frames_bytes() : bytes_.brought_bytes()) +
           (code_rows_ ? code_rows_->bytes() : 0);
  }

 private:
  // libdw keeps each FDE that it has been asked for.
  Result<void> BeginCfi() {
    cfi_.reset(::dwarf_getcfi_elf(elf_.get()));
    if (!cfi_) return Error{ErrorCode::kCorrupt, "libdw cannot read .eh_frame", ""};
    fdes_ = 0;
    return {};
  }

  // [from, to) of the file lies at vaddr `from + bias`.
  void ReadRange(std::uint64_t from, std::uint64_t to, std::uint64_t bias, std::uint64_t& budget,
                 std::vector<Row>& rows) {
    const std::uint64_t end = to + bias;
    auto [entry, past] = index_.Overlapping(from + bias, end);
    Append(from, kNoRule, rows);
    for (; entry < past; ++entry) {
      const FrameIndex::Entry& fde = index_.entries()[entry];
      const std::uint64_t next =
          entry + 1 < past ? std::min(end, index_.entries()[entry + 1].begin) : end;
      const std::uint64_t begin = std::max(fde.begin, from + bias);
      if (begin >= next) continue;
      const auto bytes = bytes_.Bring(text_.image(), fde.offset) ? check_->Fde(fde.offset)
                                                                 : std::optional<std::uint64_t>();
      if (!bytes) {
        ++damaged_;
        Append(begin - bias, kNoRule, rows);
        continue;
      }
      ReadFde(begin, next, *bytes, bias, budget, rows);
    }
  }

  // Code in sections that say so; all text of a file whose sections cannot be read.
  const std::vector<CodeRange>& CodeSections() {
    if (!code_.empty()) return code_;
    if (text_.file().ReadSections())
      for (const elf::ElfSection& section : text_.file().sections())
        if ((section.flags & SHF_EXECINSTR) != 0 && section.bytes > 0)
          code_.push_back({section.vaddr, section.vaddr_end()});
    if (code_.empty())
      for (const TextRange& range : text_.text())
        code_.push_back({range.vaddr, range.vaddr + (range.end - range.begin)});
    std::ranges::sort(code_, {}, &CodeRange::begin);
    return code_;
  }

  // Code of `range` that no FDE covers, ascending.
  std::vector<CodeRange> Uncovered(const CodeRange& range) {
    std::vector<CodeRange> gaps;
    const auto add = [&](std::uint64_t begin, std::uint64_t end) {
      for (const CodeRange& code : CodeSections())
        if (std::max(begin, code.begin) < std::min(end, code.end))
          gaps.push_back({std::max(begin, code.begin), std::min(end, code.end)});
    };
    std::uint64_t covered_to = range.begin;
    auto [entry, past] = index_.Overlapping(range.begin, range.end);
    for (; entry < past; ++entry) {
      const FrameIndex::Entry& fde = index_.entries()[entry];
      if (fde.begin > covered_to) add(covered_to, fde.begin);
      const auto code = bytes_.Bring(text_.image(), fde.offset)
                            ? check_->CodeOf(fde.offset, index_.frames_vaddr())
                            : std::nullopt;
      // What it covers is not known: up to the next one, then.
      const std::uint64_t next = entry + 1 < past ? index_.entries()[entry + 1].begin : range.end;
      covered_to = std::max(covered_to, code ? code->end : next);
    }
    if (covered_to < range.end) add(covered_to, range.end);
    return gaps;
  }

  // What the file has of the program's memory there.
  Result<std::string> ReadAt(std::uint64_t address, std::uint64_t bytes) {
    const auto part = text_.file().PartAt(address);
    if (!part) return Error{ErrorCode::kNotFound, "not in the file", ""};
    return text_.file().source().Copy(part->offset, std::min(part->bytes, bytes));
  }

  // Bytes of code in `range` without unwind information, padding left out.
  std::uint64_t BareBytes(const CodeRange& range) {
    std::uint64_t bare = 0;
    for (const CodeRange& gap : Uncovered(range)) {
      if (gap.end - gap.begin < kLeastGap) continue;
      const auto bytes = ReadAt(gap.begin, gap.end - gap.begin);
      if (!bytes) continue;
      const auto* code = reinterpret_cast<const std::uint8_t*>(bytes->data());
      bare += bytes->size() - PaddingBytes({code, bytes->size()}, gap.begin);
    }
    return bare;
  }

  // What the code of `range`, addresses in `text`, says where it has no unwind information.
  CodeRows::Found FindCode(const CodeRange& range, const TextRange& text) {
    if (!code_rows_) {
      const auto& entries = index_.entries();
      code_rows_.emplace(
          [this](std::uint64_t address, std::uint64_t bytes) { return ReadAt(address, bytes); },
          CodeStarts::Read(text_.file(), [&](std::uint64_t address) {
            return std::ranges::binary_search(entries, address, {}, &FrameIndex::Entry::begin);
          }));
    }
    const std::uint64_t before = std::min(range.begin - text.vaddr, CodeRows::kBefore);
    const std::uint64_t text_end = text.vaddr + (text.end - text.begin);
    const auto gaps = Uncovered(
        {range.begin - before, range.end + std::min(text_end - range.end, CodeRows::kBehind)});
    return code_rows_->Find(range, gaps);
  }

  // Rules from code where `range`, addresses in `text`, has none. The rows end at offset `end`.
  void FillFromCode(const CodeRange& range, const TextRange& text, std::uint64_t bare,
                    std::uint64_t end, PartRows& part) {
    const std::uint64_t bias = text.vaddr - text.begin;
    std::uint64_t filled = 0;
    std::vector<Row> rows;
    const auto [pieces, refused, functions] = FindCode(range, text);
    for (std::size_t i = 0; i < refused.size(); ++i) part.refused[i] += refused[i];
    auto next = pieces.begin();
    for (std::size_t i = 0; i < part.rows.size(); ++i) {
      const Row& row = part.rows[i];
      const std::uint64_t row_end = i + 1 < part.rows.size() ? part.rows[i + 1].offset : end;
      Append(row.offset, row.rule, rows);
      for (; next != pieces.end() && next->range.begin - bias < row_end; ++next) {
        const std::uint64_t from = next->range.begin - bias;
        const std::uint64_t to = std::min(next->range.end - bias, row_end);
        if (row.rule.cfa != PROFD_CFA_NONE || from < row.offset) continue;
        Append(from, next->rule, rows);
        if (to < row_end) Append(to, kNoRule, rows);
        filled += to - from;
      }
    }
    part.rows = std::move(rows);
    part.code_bytes += std::min(filled, bare);
    part.bare_bytes += bare - std::min(filled, bare);
  }

  // glibc ends the FDE of clone before its `syscall`, because the new thread runs the code that
  // follows, too. A parent that waits there for its vfork child has not moved its stack since.
  bool GoesOnAfterSyscall(std::uint64_t offset, std::uint64_t bytes) {
    constexpr std::array<char, 2> kSyscall{'\x0f', '\x05'};
    if (bytes < kSyscall.size() || bytes > kMaxBytesAfterSyscall) return false;
    const auto code = text_.image().Fetch(offset, kSyscall.size());
    return code && std::equal(code->begin(), code->end(), kSyscall.begin());
  }

  // One FDE's rows within [vaddr, end), vaddrs.
  void ReadFde(std::uint64_t vaddr, std::uint64_t end, std::uint64_t bytes, std::uint64_t bias,
               std::uint64_t& budget, std::vector<Row>& rows) {
    ++fdes_;
    const std::uint64_t reached =
        WalkFde(cfi_.get(), vaddr, end, bytes, budget,
                [&](std::uint64_t from, std::uint64_t /*to*/, const profd_unwind_rule& rule) {
                  ++fdes_;
                  Append(from - bias, rule, rows);
                });
    if (reached == end) return;
    if (budget < bytes) ++damaged_;
    if (reached == vaddr || !GoesOnAfterSyscall(reached - bias, end - reached))
      Append(reached - bias, kNoRule, rows);
  }

  ElfText text_;
  FrameIndex index_;
  FrameBytes bytes_;
  bool cpython_ = false;
  std::unique_ptr<Elf, Free> elf_;
  std::unique_ptr<Dwarf_CFI, Free> cfi_;
  std::size_t fdes_ = 0;  // that libdw has looked up since; at least as many as it keeps
  Elf_Data frames_{};
  std::optional<CfiCheck> check_;
  std::uint64_t damaged_ = 0;
  std::vector<CodeRange> code_;        // empty: not requested yet
  std::optional<CodeRows> code_rows_;  // once code without unwind information was requested
};

CfiReader::CfiReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CfiReader::CfiReader(CfiReader&&) noexcept = default;
CfiReader& CfiReader::operator=(CfiReader&&) noexcept = default;
CfiReader::~CfiReader() = default;

Result<CfiReader> CfiReader::Open(UniqueFd fd, std::uint64_t file_bytes) {
  return Read(ElfText::Read(std::make_unique<OwnedFile>(std::move(fd), file_bytes)));
}

Result<CfiReader> CfiReader::FromMemory(std::span<const std::byte> bytes) {
  return Read(ElfText::Read(std::make_unique<OwnedMemory>(bytes)));
}

Result<CfiReader> CfiReader::Read(Result<ElfText> text) {
  if (!text) return text.error();
  auto index = FrameIndex::Read(*text);
  const bool none = !index && index.error().code == ErrorCode::kNotFound;
  if (!index && !none) return index.error();
  auto state =
      std::make_unique<State>(*std::move(text), none ? FrameIndex::Empty() : *std::move(index));
  PROFD_TRY(state->Start());
  return CfiReader(std::move(state));
}

const std::vector<TextRange>& CfiReader::text() const { return state_->text().text(); }
bool CfiReader::small() const { return state_->index().frames_bytes() <= kWholeFileFrameBytes; }
bool CfiReader::cpython() const { return state_->cpython(); }
std::optional<std::uint64_t> CfiReader::entry() const {
  const std::uint64_t entry = state_->text().file().header().entry;
  for (const TextRange& range : text())
    if (entry != 0 && entry - range.vaddr < range.end - range.begin)
      return entry - range.vaddr + range.begin;
  return std::nullopt;
}
PartRows CfiReader::ReadRows(std::uint64_t begin, std::uint64_t end, bool requested) {
  return state_->ReadRows(begin, end, requested);
}
std::vector<CodeRange> CfiReader::FindFunctions(std::uint64_t begin, std::uint64_t end) {
  return state_->FindFunctions(begin, end);
}
std::string CfiReader::build_id() const { return state_->text().file().BuildId(); }
std::uint64_t CfiReader::damaged() const { return state_->damaged(); }
std::uint64_t CfiReader::bytes() const { return state_->bytes(); }

}  // namespace profd::unwind
