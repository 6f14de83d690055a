// CfiCheck: whether libdw may interpret an entry of `.eh_frame` or `.debug_frame`.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "daemon/unwind/code/row.h"

namespace profd::unwind {

// libdw allocates memory by the register number that an instruction names (up to 2 GiB) and for
// every remembered state. CfiCheck refuses entries of hostile files before libdw sees them. It
// steps over instructions and executes none. Owned by a reader of a file; used by one thread.
class CfiCheck {
 public:
  static constexpr std::uint64_t kMaxRegister = 255;
  static constexpr std::uint64_t kMaxRemembered = 64;
  static constexpr std::uint64_t kMaxExpressionBytes = 256;

  // `frames` is .eh_frame, or .debug_frame, and must outlive this.
  CfiCheck(const unsigned char* ident, Elf_Data* frames, bool is_eh_frame = true)
      : ident_(ident), frames_(frames), is_eh_frame_(is_eh_frame) {}

  // Bytes of instructions that libdw executes for the FDE at `offset`, those of its CIE included.
  // Nothing when there is no FDE, or when it is out of bounds.
  [[nodiscard]] std::optional<std::uint64_t> Fde(std::uint64_t offset);
  // The code of such an FDE, when .eh_frame lies at `frames_vaddr`. Nothing when its address has an
  // encoding that linkers do not use.
  [[nodiscard]] std::optional<CodeRange> CodeOf(std::uint64_t offset, std::uint64_t frames_vaddr);

 private:
  struct Cie {
    bool fit = false;
    bool sized_augmentation = false;
    std::uint8_t pointer_encoding = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] const Cie& CieAt(std::uint64_t offset);
  [[nodiscard]] Cie ReadCie(std::uint64_t offset) const;

  const unsigned char* ident_;
  Elf_Data* frames_;
  bool is_eh_frame_;
  std::unordered_map<std::uint64_t, Cie> cies_;
};

}  // namespace profd::unwind
