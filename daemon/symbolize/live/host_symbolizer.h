// HostSymbolizer: names for any address of this host, or the reason why there is none.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/symbolize/live/elf_symbolizer.h"
#include "daemon/symbolize/live/jit_symbols.h"
#include "daemon/symbolize/live/kernel_symbols.h"
#include "daemon/symbolize/names/module_info.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::symbolize {

// It passes kernel addresses to KernelSymbols, and addresses in files and in the vdso to
// ElfSymbolizer. Other addresses get a reason instead of a name. Used by the symbolizer thread,
// with everything it refers to.
class HostSymbolizer : public Symbolizer {
 public:
  // ModuleInfo::symbols_from of names that a program registered by GDB's JIT interface.
  static constexpr std::string_view kRegisteredOrigin = "gdb jit";

  // `jit`: null when code made at run time is not to be named.
  HostSymbolizer(KernelSymbols& kernel, elf::ObjectSource& objects, JitSymbols* jit = nullptr,
                 ElfSymbolizer::Options elf = {})
      : kernel_(kernel), elf_(objects, elf), jit_(jit), registered_(RegisteredInfo()) {}

  void Resolve(const process::AddressFrame& address, Detail detail,
               std::vector<Frame>& frames) override;
  void Prepare() override { kernel_.Prepare(); }
  [[nodiscard]] std::uint64_t improvements() const override { return elf_.improvements(); }
  [[nodiscard]] const ElfSymbolizer& elf() const { return elf_; }
  [[nodiscard]] ElfSymbolizer& elf() { return elf_; }

 private:
  [[nodiscard]] static ModuleInfoRef RegisteredInfo();
  void ResolveKernel(const process::AddressFrame& address, Frame& frame);

  // False when it is not named; then the frame says why, and where a name is made of the place.
  bool ResolveJit(const process::AddressFrame& address, Frame& frame);

  KernelSymbols& kernel_;
  ElfSymbolizer elf_;
  JitSymbols* const jit_;
  const ModuleInfoRef registered_;  // origin of names that programs registered
};

}  // namespace profd::symbolize
