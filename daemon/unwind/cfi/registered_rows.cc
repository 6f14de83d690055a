#include "daemon/unwind/cfi/registered_rows.h"

#include <elfutils/libdw.h>
#include <libelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/elf/file/elf_header.h"
#include "daemon/unwind/cfi/cfi_check.h"
#include "daemon/unwind/cfi/frame_walk.h"

namespace profd::unwind {
namespace {

using Piece = FunctionRows::Piece;
using std::string_view_literals::operator""sv;

struct End {
  void operator()(Elf* elf) const { ::elf_end(elf); }
  void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
  void operator()(Dwarf_CFI* cfi) const { ::dwarf_cfi_end(cfi); }
};

enum Section : std::uint16_t { kNull, kFrames, kNames, kSections };

constexpr std::string_view kNameTable = "\0.eh_frame\0.debug_frame\0.names\0"sv;
constexpr std::uint32_t kEhFrameName = 1;
constexpr std::uint32_t kDebugFrameName = 11;
constexpr std::uint32_t kNamesName = 24;
constexpr std::size_t kAlign = alignof(Elf64_Shdr);

Elf64_Shdr SectionAt(std::uint32_t name, std::uint32_t type, std::uint64_t flags,
                     std::uint64_t offset, std::uint64_t bytes) {
  Elf64_Shdr section{};
  section.sh_name = name;
  section.sh_type = type;
  section.sh_flags = flags;
  section.sh_offset = offset;
  section.sh_size = bytes;
  section.sh_addralign = 1;
  return section;
}

// Header, frames, names, section headers.
std::string MakeImage(const elf::RegisteredFrames& frames) {
  std::string image(sizeof(Elf64_Ehdr), '\0');
  const std::size_t names_at = image.size() + frames.bytes.size();
  std::array<Elf64_Shdr, kSections> sections{};
  sections[kFrames] =
      SectionAt(frames.is_debug_frame ? kDebugFrameName : kEhFrameName, SHT_PROGBITS,
                frames.is_debug_frame ? 0 : SHF_ALLOC, image.size(), frames.bytes.size());
  sections[kFrames].sh_addr = frames.is_debug_frame ? 0 : frames.address;
  sections[kNames] = SectionAt(kNamesName, SHT_STRTAB, 0, names_at, kNameTable.size());
  image += frames.bytes;
  image += kNameTable;
  image.resize((image.size() + kAlign - 1) / kAlign * kAlign);
  Elf64_Ehdr header = elf::NewElfHeader(EM_X86_64);
  header.e_shoff = image.size();
  header.e_shnum = kSections;
  header.e_shstrndx = kNames;
  std::memcpy(image.data(), &header, sizeof header);
  image.append(reinterpret_cast<const char*>(sections.data()), sizeof sections);
  return image;
}

// The parts of `piece` that none of `taken` has; `taken` is ascending and disjoint.
void AddFree(Piece piece, const std::vector<Piece>& taken, std::vector<Piece>& free) {
  for (const Piece& other : taken) {
    if (other.range.end <= piece.range.begin) continue;
    if (other.range.begin >= piece.range.end) break;
    if (other.range.begin > piece.range.begin)
      free.push_back({{piece.range.begin, other.range.begin}, piece.rule});
    piece.range.begin = other.range.end;
  }
  if (piece.range.begin < piece.range.end) free.push_back(piece);
}

}  // namespace

class RegisteredRows::State {
 public:
  explicit State(const elf::RegisteredFrames& frames)
      : image_(MakeImage(frames)), is_eh_frame_(!frames.is_debug_frame), address_(frames.address) {
    frames_.d_buf = image_.data() + sizeof(Elf64_Ehdr);
    frames_.d_size = frames.bytes.size();
    frames_.d_type = ELF_T_BYTE;
    frames_.d_version = EV_CURRENT;
  }

  Result<void> Start() {
    PROFD_TRY(ListFdes());
    ::elf_version(EV_CURRENT);
    elf_.reset(::elf_memory(image_.data(), image_.size()));
    if (elf_ && is_eh_frame_) {
      own_cfi_.reset(::dwarf_getcfi_elf(elf_.get()));
      cfi_ = own_cfi_.get();
    } else if (elf_) {
      dwarf_.reset(::dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
      if (dwarf_) cfi_ = ::dwarf_getcfi(dwarf_.get());
    }
    if (cfi_ == nullptr) return Error{ErrorCode::kCorrupt, "libdw cannot read it", ""};
    return {};
  }

  std::vector<Piece> Find(const CodeRange& part) {
    std::vector<Piece> pieces;
    std::uint64_t budget = kMaxExecutedBytes;
    for (const Fde& fde : fdes_) {
      // Where two describe the same code, the one that begins first has it.
      const std::uint64_t covered = pieces.empty() ? 0 : pieces.back().range.end;
      const CodeRange code{std::max({part.begin, fde.code.begin, covered}),
                           std::min(part.end, fde.code.end)};
      if (code.begin >= code.end) continue;
      const std::uint64_t reached =
          WalkFde(cfi_, code.begin, code.end, fde.bytes, budget,
                  [&](std::uint64_t begin, std::uint64_t end, const profd_unwind_rule& rule) {
                    pieces.push_back({{begin, end}, rule});
                  });
      if (reached < code.end) pieces.push_back({{reached, code.end}, kNoRule});
    }
    return pieces;
  }

 private:
  struct Fde {
    CodeRange code;
    std::uint64_t bytes = 0;  // of its instructions
  };

  Result<void> ListFdes() {
    const auto* ident = reinterpret_cast<const unsigned char*>(image_.data());
    CfiCheck check(ident, &frames_, is_eh_frame_);
    constexpr auto kEnd = static_cast<Dwarf_Off>(-1);
    Dwarf_Off next = 0;
    for (Dwarf_Off at = 0; at != kEnd && at < frames_.d_size; at = next) {
      Dwarf_CFI_Entry entry;
      const int result = ::dwarf_next_cfi(ident, &frames_, is_eh_frame_, at, &next, &entry);
      if (result > 0) break;  // a length of zero
      if (result < 0 || next <= at) return Error{ErrorCode::kCorrupt, "damaged", ""};
      if (dwarf_cfi_cie_p(&entry)) continue;
      const auto bytes = check.Fde(at);
      const auto code = check.CodeOf(at, address_);
      if (!bytes || !code) return Error{ErrorCode::kCorrupt, "an FDE is damaged", ""};
      if (fdes_.size() == kMaxFdes) return elf::BeyondBound("FDEs", fdes_.size() + 1, kMaxFdes);
      fdes_.push_back({*code, *bytes});
    }
    std::ranges::stable_sort(fdes_, {}, [](const Fde& fde) { return fde.code.begin; });
    return {};
  }

  std::string image_;
  const bool is_eh_frame_;
  const std::uint64_t address_;
  Elf_Data frames_{};  // in the image
  std::vector<Fde> fdes_;
  std::unique_ptr<Elf, End> elf_;
  std::unique_ptr<Dwarf, End> dwarf_;
  std::unique_ptr<Dwarf_CFI, End> own_cfi_;
  Dwarf_CFI* cfi_ = nullptr;  // own_cfi_, or the one that dwarf_ owns
};

RegisteredRows::RegisteredRows(std::unique_ptr<State> state) : state_(std::move(state)) {}
RegisteredRows::RegisteredRows(RegisteredRows&&) noexcept = default;
RegisteredRows& RegisteredRows::operator=(RegisteredRows&&) noexcept = default;
RegisteredRows::~RegisteredRows() = default;

Result<RegisteredRows> RegisteredRows::Make(const elf::RegisteredFrames& frames) {
  auto state = std::make_unique<State>(frames);
  PROFD_TRY(state->Start());
  return RegisteredRows(std::move(state));
}

std::vector<Piece> RegisteredRows::Find(const CodeRange& part) { return state_->Find(part); }

std::vector<Piece> FindRegistered(const elf::RegisteredList& list, int memory,
                                  const CodeRange& part) {
  std::vector<Piece> pieces;
  std::size_t from = 0;
  for (std::size_t read = 0; read < kMaxObjectsOfPart; ++read) {
    const elf::RegisteredEntry* entry = list.FindIn(part.begin, part.end, from);
    if (entry == nullptr) break;
    const auto object =
        elf::RegisteredObject::Open(memory, entry->place.address, entry->place.bytes);
    if (!object || object->place() != entry->place) continue;
    const auto frames = object->ReadFrames();
    if (!frames) continue;
    auto rows = RegisteredRows::Make(*frames);
    if (!rows) continue;
    std::vector<Piece> found;
    for (const elf::FunctionExtent& code : object->code()) {
      const CodeRange both{std::max(part.begin, code.begin), std::min(part.end, code.end)};
      if (both.begin >= both.end) continue;
      for (const Piece& piece : rows->Find(both)) AddFree(piece, pieces, found);
    }
    pieces.insert(pieces.end(), found.begin(), found.end());
    std::ranges::sort(pieces, {}, [](const Piece& one) { return one.range.begin; });
  }
  return pieces;
}

}  // namespace profd::unwind
