// Kallsyms: the kernel's own list of its functions, in a form that answers by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::symbolize {

inline constexpr std::string_view kNoKernelSymbol = "no kernel symbol covers this address";

struct KernelSymbol {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;    // past it
  std::string_view name;    // as the kernel has it
  std::string_view module;  // "[kernel]", "[nf_tables]", "[bpf]", ...
};

// Immutable; safe from any thread. The file has no sizes, so a function reaches to the next symbol
// of any kind, at most kMaxFunctionBytes. Of several names at one address this order decides:
// global and weak before local, fewer leading underscores, global before weak, shorter, then
// alphabetical.
class Kallsyms {
 public:
  static constexpr std::uint64_t kMaxFunctionBytes = 1u << 20;

  // `text` is the content of /proc/kallsyms. Invalid lines are left out. kPermissionDenied when all
  // addresses are zero.
  [[nodiscard]] static Result<Kallsyms> Parse(std::string_view text);

  // The views live as long as this.
  [[nodiscard]] std::optional<KernelSymbol> Find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return entries_.capacity() * sizeof(Entry) + names_.capacity();
  }

 private:
  struct Entry {
    std::uint64_t begin = 0;
    std::uint32_t bytes = 0;
    std::uint32_t name = 0;    // into names_
    std::uint16_t module = 0;  // into modules_
  };
  Kallsyms() = default;

  std::vector<Entry> entries_;  // ascending, disjoint
  std::string names_;           // zero-terminated
  std::vector<std::string> modules_;
};

}  // namespace profd::symbolize
