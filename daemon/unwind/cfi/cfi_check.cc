#include "daemon/unwind/cfi/cfi_check.h"

#include <dwarf.h>

#include <cstring>
#include <string_view>

namespace profd::unwind {
namespace {

constexpr std::uint64_t kMaxInstructionBytes = 1u << 20;

// Bytes of an encoded pointer; 0: of variable or unknown size.
std::uint64_t PointerBytes(std::uint8_t encoding) {
  switch (encoding & 0x07) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
      return 8;
    case DW_EH_PE_udata2:
      return 2;
    case DW_EH_PE_udata4:
      return 4;
    default:
      return 0;
  }
}

// Steps through bytes; once it fails it stays failed.
class Cursor {
 public:
  Cursor(const std::uint8_t* at, const std::uint8_t* end) : at_(at), end_(end) {}

  [[nodiscard]] bool done() const { return failed_ || at_ == end_; }
  [[nodiscard]] bool failed() const { return failed_; }
  void Skip(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) {
      failed_ = true;
    } else {
      at_ += bytes;
    }
  }
  std::uint8_t Byte() {
    const std::uint8_t* byte = at_;
    Skip(1);
    return failed_ ? 0 : *byte;
  }
  // Signed ones are as long.
  std::uint64_t Leb128() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = Byte();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  void Register() {
    if (Leb128() > CfiCheck::kMaxRegister) failed_ = true;
  }
  void Expression() {
    const std::uint64_t bytes = Leb128();
    if (bytes > CfiCheck::kMaxExpressionBytes) failed_ = true;
    Skip(bytes);
  }
  void Fail() { failed_ = true; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool failed_ = false;
};

void StepExtended(Cursor& cursor, std::uint8_t code, std::uint8_t encoding,
                  std::uint64_t& remembered) {
  switch (code) {
    case DW_CFA_nop:
      return;
    case DW_CFA_set_loc:
      return PointerBytes(encoding) == 0 ? cursor.Fail() : cursor.Skip(PointerBytes(encoding));
    case DW_CFA_advance_loc1:
      return cursor.Skip(1);
    case DW_CFA_advance_loc2:
      return cursor.Skip(2);
    case DW_CFA_advance_loc4:
      return cursor.Skip(4);
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
    case DW_CFA_GNU_negative_offset_extended:
      cursor.Register();
      cursor.Leb128();
      return;
    case DW_CFA_register:
      cursor.Register();
      return cursor.Register();
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_register:
      return cursor.Register();
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
      cursor.Leb128();
      return;
    case DW_CFA_def_cfa_expression:
      return cursor.Expression();
    case DW_CFA_expression:
    case DW_CFA_val_expression:
      cursor.Register();
      return cursor.Expression();
    case DW_CFA_remember_state:
      if (++remembered > CfiCheck::kMaxRemembered) cursor.Fail();
      return;
    case DW_CFA_restore_state:
      if (remembered > 0) --remembered;
      return;
    default:
      return cursor.Fail();
  }
}

bool Fit(Cursor cursor, std::uint8_t encoding) {
  std::uint64_t remembered = 0;
  while (!cursor.done()) {
    const std::uint8_t code = cursor.Byte();
    switch (code & 0xc0) {
      case DW_CFA_advance_loc:
      case DW_CFA_restore:
        break;  // the operand is in the byte
      case DW_CFA_offset:
        cursor.Leb128();
        break;
      default:
        StepExtended(cursor, code, encoding, remembered);
    }
  }
  return !cursor.failed();
}

// Without its base. Nothing: of an encoding that linkers do not use.
std::optional<std::uint64_t> ReadPointer(const std::uint8_t* from, std::uint8_t encoding) {
  std::int32_t word = 0;
  std::uint64_t address = 0;
  switch (encoding & ~std::uint8_t{DW_EH_PE_pcrel}) {
    case DW_EH_PE_sdata4:
      std::memcpy(&word, from, sizeof word);
      return static_cast<std::uint64_t>(std::int64_t{word});
    case DW_EH_PE_udata4:
      std::memcpy(&word, from, sizeof word);
      return static_cast<std::uint32_t>(word);
    case DW_EH_PE_absptr:
    case DW_EH_PE_sdata8:
    case DW_EH_PE_udata8:
      std::memcpy(&address, from, sizeof address);
      return address;
    default:
      return std::nullopt;
  }
}

}  // namespace

CfiCheck::Cie CfiCheck::ReadCie(std::uint64_t offset) const {
  Cie cie;
  Dwarf_Off next = 0;
  Dwarf_CFI_Entry entry;
  if (offset >= frames_->d_size ||
      dwarf_next_cfi(ident_, frames_, is_eh_frame_, offset, &next, &entry) != 0 ||
      !dwarf_cfi_cie_p(&entry))
    return cie;
  const auto& raw = entry.cie;
  const std::string_view augmentation = raw.augmentation;
  cie.sized_augmentation = augmentation.starts_with('z');
  if (!cie.sized_augmentation && !augmentation.empty()) return cie;
  Cursor data(raw.augmentation_data, cie.sized_augmentation
                                         ? raw.augmentation_data + raw.augmentation_data_size
                                         : raw.augmentation_data);
  for (const char letter : augmentation.substr(cie.sized_augmentation ? 1 : 0)) {
    if (letter == 'R') {
      cie.pointer_encoding = data.Byte();
    } else if (letter == 'P') {
      const std::uint64_t bytes = PointerBytes(data.Byte());
      if (bytes == 0) return cie;
      data.Skip(bytes);
    } else if (letter == 'L') {
      data.Skip(1);
    } else if (letter != 'S') {
      return cie;
    }
  }
  if (data.failed() || raw.return_address_register > kMaxRegister ||
      PointerBytes(cie.pointer_encoding) == 0)
    return cie;
  cie.bytes = static_cast<std::uint64_t>(raw.initial_instructions_end - raw.initial_instructions);
  cie.fit =
      cie.bytes <= kMaxInstructionBytes &&
      Fit(Cursor(raw.initial_instructions, raw.initial_instructions_end), cie.pointer_encoding);
  return cie;
}

const CfiCheck::Cie& CfiCheck::CieAt(std::uint64_t offset) {
  const auto [found, added] = cies_.try_emplace(offset);
  if (added) found->second = ReadCie(offset);
  return found->second;
}

std::optional<std::uint64_t> CfiCheck::Fde(std::uint64_t offset) {
  Dwarf_Off next = 0;
  Dwarf_CFI_Entry entry;
  if (offset >= frames_->d_size ||
      dwarf_next_cfi(ident_, frames_, is_eh_frame_, offset, &next, &entry) != 0 ||
      dwarf_cfi_cie_p(&entry))
    return std::nullopt;
  const Cie& cie = CieAt(entry.fde.CIE_pointer);
  if (!cie.fit) return std::nullopt;
  Cursor cursor(entry.fde.start, entry.fde.end);
  cursor.Skip(2 * PointerBytes(cie.pointer_encoding));
  if (cie.sized_augmentation) cursor.Skip(cursor.Leb128());
  const auto bytes = static_cast<std::uint64_t>(entry.fde.end - entry.fde.start);
  if (cursor.failed() || bytes > kMaxInstructionBytes || !Fit(cursor, cie.pointer_encoding))
    return std::nullopt;
  return bytes + cie.bytes;
}

std::optional<CodeRange> CfiCheck::CodeOf(std::uint64_t offset, std::uint64_t frames_vaddr) {
  Dwarf_Off next = 0;
  Dwarf_CFI_Entry entry;
  if (!Fde(offset) || dwarf_next_cfi(ident_, frames_, is_eh_frame_, offset, &next, &entry) != 0)
    return std::nullopt;
  const std::uint8_t encoding = CieAt(entry.fde.CIE_pointer).pointer_encoding;
  const auto at =
      static_cast<std::uint64_t>(entry.fde.start - static_cast<std::uint8_t*>(frames_->d_buf));
  const std::uint64_t base = (encoding & 0x70) == DW_EH_PE_pcrel ? frames_vaddr + at : 0;
  const std::uint64_t bytes = PointerBytes(encoding);
  if (static_cast<std::uint64_t>(entry.fde.end - entry.fde.start) < 2 * bytes) return std::nullopt;
  const auto begin = ReadPointer(entry.fde.start, encoding);
  // A length, so no number below zero.
  const auto length = ReadPointer(entry.fde.start + bytes, encoding);
  if (!begin || !length) return std::nullopt;
  const std::uint64_t mask = bytes == sizeof(std::uint32_t) ? 0xffffffff : ~std::uint64_t{0};
  return CodeRange{base + *begin, base + *begin + (*length & mask)};
}

}  // namespace profd::unwind
