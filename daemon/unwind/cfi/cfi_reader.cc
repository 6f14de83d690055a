#include "daemon/unwind/cfi/cfi_reader.h"

#include <elfutils/libdw.h>
#include <libelf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "daemon/unwind/cfi/cfi_check.h"
#include "daemon/unwind/cfi/frame_bytes.h"
#include "daemon/unwind/cfi/frame_index.h"
#include "daemon/unwind/cfi/frame_rule.h"
#include "daemon/unwind/cfi/interpreter.h"

namespace profd::unwind {
namespace {

// Bytes of instructions executed for one call of ReadRows; a compiler's densest 64 KiB take 1 % of
// it. libdw begins each FDE again for every row.
constexpr std::uint64_t kMaxExecutedBytes = 64u << 20;

// From the `syscall` of clone to what the new thread does first.
constexpr std::uint64_t kMaxBytesAfterSyscall = 32;

struct Free {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
  void operator()(Elf* elf) const { ::elf_end(elf); }
  void operator()(Dwarf_CFI* cfi) const { ::dwarf_cfi_end(cfi); }
};

bool Same(const profd_unwind_rule& a, const profd_unwind_rule& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

void Append(std::uint64_t offset, const profd_unwind_rule& rule, std::vector<Row>& rows) {
  if (!rows.empty() && rows.back().offset == offset) rows.pop_back();
  if (rows.empty() || !Same(rows.back().rule, rule)) rows.push_back({offset, rule});
}

}  // namespace

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
    cfi_.reset(::dwarf_getcfi_elf(elf_.get()));
    if (!cfi_) return Error{ErrorCode::kCorrupt, "libdw cannot read .eh_frame", ""};
    // After libdw has read the headers: what this fetches may bring hidden ones back.
    cpython_ = IsCpython(text_);
    frames_.d_buf = text_.image().data() + index_.frames_offset();
    frames_.d_size = index_.frames_bytes();
    frames_.d_type = ELF_T_BYTE;
    frames_.d_version = EV_CURRENT;
    check_.emplace(reinterpret_cast<const unsigned char*>(text_.image().data()), &frames_);
    return {};
  }

  std::vector<Row> ReadRows(std::uint64_t begin, std::uint64_t end) {
    std::vector<Row> rows;
    Append(begin, kNoRule, rows);
    std::uint64_t budget = kMaxExecutedBytes;
    for (const TextRange& range : text_.text()) {
      const std::uint64_t from = std::max(begin, range.begin);
      const std::uint64_t to = std::min(end, range.end);
      if (from >= to) continue;
      ReadRange(from, to, range.vaddr - range.begin, budget, rows);
      if (to < end) Append(to, kNoRule, rows);
    }
    return rows;
  }

  [[nodiscard]] const ElfText& text() const { return text_; }
  [[nodiscard]] const FrameIndex& index() const { return index_; }
  [[nodiscard]] bool cpython() const { return cpython_; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }
  [[nodiscard]] std::uint64_t bytes() const {
    // The index was made of half as many bytes, which are still there.
    return index_.entries().size() * sizeof(FrameIndex::Entry) * 3 / 2 +
           (index_.walked() ? index_.frames_bytes() : bytes_.brought_bytes());
  }

 private:
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

  // glibc ends the FDE of clone before its `syscall`, as what follows is the new thread's as well.
  // Whoever waits there, for a vfork child, has not moved its stack since.
  bool GoesOnAfterSyscall(std::uint64_t offset, std::uint64_t bytes) {
    constexpr std::array<char, 2> kSyscall{'\x0f', '\x05'};
    if (bytes < kSyscall.size() || bytes > kMaxBytesAfterSyscall) return false;
    const auto code = text_.image().Fetch(offset, kSyscall.size());
    return code && std::equal(code->begin(), code->end(), kSyscall.begin());
  }

  // One FDE's rows within [vaddr, end), vaddrs.
  void ReadFde(std::uint64_t vaddr, std::uint64_t end, std::uint64_t bytes, std::uint64_t bias,
               std::uint64_t& budget, std::vector<Row>& rows) {
    const std::uint64_t begin = vaddr;
    while (vaddr < end) {
      if (budget < bytes) {
        ++damaged_;
        break;
      }
      budget -= bytes;
      Dwarf_Frame* raw = nullptr;
      if (::dwarf_cfi_addrframe(cfi_.get(), vaddr, &raw) != 0) break;
      const std::unique_ptr<Dwarf_Frame, Free> frame(raw);
      Dwarf_Addr row_begin = 0;
      Dwarf_Addr row_end = 0;
      (void)::dwarf_frame_info(frame.get(), &row_begin, &row_end, nullptr);
      if (row_begin > vaddr || row_end <= vaddr) break;
      Append(vaddr - bias, RuleOf(frame.get()), rows);
      vaddr = std::min<std::uint64_t>(row_end, end);
    }
    if (vaddr < end && (vaddr == begin || !GoesOnAfterSyscall(vaddr - bias, end - vaddr)))
      Append(vaddr - bias, kNoRule, rows);
  }

  ElfText text_;
  FrameIndex index_;
  FrameBytes bytes_;
  bool cpython_ = false;
  std::unique_ptr<Elf, Free> elf_;
  std::unique_ptr<Dwarf_CFI, Free> cfi_;
  Elf_Data frames_{};
  std::optional<CfiCheck> check_;
  std::uint64_t damaged_ = 0;
};

CfiReader::CfiReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CfiReader::CfiReader(CfiReader&&) noexcept = default;
CfiReader& CfiReader::operator=(CfiReader&&) noexcept = default;
CfiReader::~CfiReader() = default;

Result<CfiReader> CfiReader::Open(UniqueFd fd, std::uint64_t file_bytes) {
  return Read(ElfText::Open(std::move(fd), file_bytes));
}

Result<CfiReader> CfiReader::FromMemory(std::span<const std::byte> bytes) {
  return Read(ElfText::FromMemory(bytes));
}

Result<CfiReader> CfiReader::Read(Result<ElfText> text) {
  if (!text) return text.error();
  auto index = FrameIndex::Read(*text);
  if (!index) return index.error();
  auto state = std::make_unique<State>(*std::move(text), *std::move(index));
  PROFD_TRY(state->Start());
  return CfiReader(std::move(state));
}

const std::vector<TextRange>& CfiReader::text() const { return state_->text().text(); }
bool CfiReader::small() const { return state_->index().frames_bytes() <= kWholeFileFrameBytes; }
bool CfiReader::cpython() const { return state_->cpython(); }
std::optional<std::uint64_t> CfiReader::entry() const {
  Elf64_Ehdr header;
  const auto& image = state_->text().image();
  if (image.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, image.data(), sizeof header);
  for (const TextRange& range : text())
    if (header.e_entry != 0 && header.e_entry - range.vaddr < range.end - range.begin)
      return header.e_entry - range.vaddr + range.begin;
  return std::nullopt;
}
std::vector<Row> CfiReader::ReadRows(std::uint64_t begin, std::uint64_t end) {
  return state_->ReadRows(begin, end);
}
std::uint64_t CfiReader::damaged() const { return state_->damaged(); }
std::uint64_t CfiReader::bytes() const { return state_->bytes(); }

}  // namespace profd::unwind
