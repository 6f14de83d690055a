// HostSymbolizer: names for any address of this host, or the reason why there is none.
#pragma once

#include <vector>

#include "daemon/symbolize/elf_symbolizer.h"
#include "daemon/symbolize/kernel_symbols.h"
#include "daemon/symbolize/symbolizer.h"

namespace profd::symbolize {

// Sends kernel addresses to the kernel's symbols, those in files and in the vdso to ELF, and says
// of the rest what it is. Used by the symbolizer thread, with everything it refers to.
class HostSymbolizer : public Symbolizer {
 public:
  HostSymbolizer(KernelSymbols& kernel, elf::ObjectSource& objects)
      : kernel_(kernel), elf_(objects) {}

  void Resolve(const process::AddressFrame& address, std::vector<Frame>& frames) override;
  [[nodiscard]] const ElfSymbolizer& elf() const { return elf_; }

 private:
  void ResolveKernel(const process::AddressFrame& address, Frame& frame);

  KernelSymbols& kernel_;
  ElfSymbolizer elf_;
};

}  // namespace profd::symbolize
