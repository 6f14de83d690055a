// LibdwOracle: rows held against what libdw says of the same addresses.
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/unwind/cfi/cfi_reader.h"

namespace profd::unwind {

// libdw, used directly on a file that it opened itself, by its section headers.
class LibdwOracle {
 public:
  explicit LibdwOracle(int fd);
  // `bytes` must outlive it.
  explicit LibdwOracle(std::span<const std::byte> bytes);
  LibdwOracle(const LibdwOracle&) = delete;
  LibdwOracle& operator=(const LibdwOracle&) = delete;
  ~LibdwOracle();
  [[nodiscard]] Dwarf_CFI* cfi() const { return cfi_; }

 private:
  Elf* elf_;
  Dwarf_CFI* cfi_;
};

struct Tally {
  std::size_t requested = 0;
  std::size_t known = 0;
  std::size_t inexpressible = 0;      // libdw knows a rule, ours is none
  std::size_t lost = 0;               // registers that libdw knows and the rule does not
  std::size_t from_code = 0;          // libdw knows nothing: the rule is made from code
  std::vector<std::uint64_t> beyond;  // other addresses with a rule of which libdw knows nothing
};

// Holds the rule against the operations that libdw gives for the address; a rule that says less
// than libdw is right only where it says nothing. Fails fatally where they differ.
void Compare(Dwarf_CFI* cfi, std::uint64_t vaddr, const profd_unwind_rule& rule, Tally& tally);

// The effective rule at a file offset.
[[nodiscard]] const profd_unwind_rule& RuleAt(const std::vector<Row>& rows, std::uint64_t offset);

}  // namespace profd::unwind
