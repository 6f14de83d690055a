// CfiCheck: whether libdw may be let loose on an entry of `.eh_frame`.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace profd::unwind {

// libdw makes room for whatever register number an instruction names (up to 2 GiB), and for every
// remembered state; a hostile file must not get that far. Steps over instructions, means none.
// Used by one thread.
class CfiCheck {
 public:
  static constexpr std::uint64_t kMaxRegister = 255;
  static constexpr std::uint64_t kMaxRemembered = 64;
  static constexpr std::uint64_t kMaxExpressionBytes = 256;

  // `frames` is .eh_frame and must outlive this.
  CfiCheck(const unsigned char* ident, Elf_Data* frames) : ident_(ident), frames_(frames) {}

  // Bytes of instructions that libdw executes for the FDE at `offset`, its CIE's included; nothing
  // when it is none, or one that is out of bounds.
  [[nodiscard]] std::optional<std::uint64_t> Fde(std::uint64_t offset);
  // Where the code of such an FDE begins, when .eh_frame lies at `frames_vaddr`; nothing when that
  // is written in a way that linkers do not use.
  [[nodiscard]] std::optional<std::uint64_t> CodeOf(std::uint64_t offset,
                                                    std::uint64_t frames_vaddr);

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
  std::unordered_map<std::uint64_t, Cie> cies_;
};

}  // namespace profd::unwind
