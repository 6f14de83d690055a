#include "daemon/symbolize/live/host_symbolizer.h"

#include <memory>
#include <string_view>
#include <utility>

#include "daemon/elf/sources/vdso.h"
#include "daemon/symbolize/names/clean_text.h"
#include "daemon/symbolize/names/demangle.h"

namespace profd::symbolize {
namespace {

// Why memory that no file backs has no names; "" for a file.
std::string_view ReasonWithoutFile(const process::Module& module) {
  if (module.path == "[vsyscall]") return "no symbols in this page of the kernel's";
  if (module.path.empty() || module.path.starts_with('['))
    return "anonymous memory: code made at run time?";
  return module.inode == 0 ? "not a file" : "";
}

}  // namespace

ModuleInfoRef HostSymbolizer::RegisteredInfo() {
  ModuleInfo info;
  info.symbols_from = kRegisteredOrigin;
  return std::make_shared<const ModuleInfo>(std::move(info));
}

void HostSymbolizer::Resolve(const process::AddressFrame& address, Detail detail,
                             std::vector<Frame>& frames) {
  if (address.kernel) return ResolveKernel(address, frames.emplace_back());
  if (address.module && address.module->path == elf::kVdsoPath)
    return elf_.Resolve(address, detail, frames);
  const std::string_view reason =
      address.module ? ReasonWithoutFile(*address.module) : "no mapping held this address";
  // Some run times map their code from a memory file, to have it writable elsewhere.
  if (jit_ != nullptr && address.module && address.module->path.starts_with("/memfd:")) {
    Frame frame;
    frame.module = CleanText(address.module->path);
    frame.offset = address.file_offset;
    if (ResolveJit(address, frame)) return frames.push_back(std::move(frame));
  }
  if (reason.empty()) return elf_.Resolve(address, detail, frames);
  Frame& frame = frames.emplace_back();
  frame.reason = reason;
  frame.offset = address.address;
  if (address.module) {
    frame.module = CleanText(address.module->path);
    frame.offset = address.file_offset;
    if (jit_ != nullptr) ResolveJit(address, frame);
  }
}

bool HostSymbolizer::ResolveJit(const process::AddressFrame& address, Frame& frame) {
  const Result<JitSymbol> symbol =
      jit_->Find(address.module->first_pid, address.address - (address.return_address ? 1 : 0));
  if (!symbol) {
    frame.reason = CleanText(frame.reason + " (" + symbol.error().message + ")");
    return false;
  }
  if (symbol->by_place) {
    frame.name = CleanText(symbol->name);
    frame.reason = CleanText(frame.reason + " (" + std::string(symbol->reason) + ")");
    return true;
  }
  frame.kind = FrameKind::kJit;
  DemangledName demangled = Demangle(symbol->name);
  frame.name = std::move(demangled.name);
  frame.full_name = std::move(demangled.full_name);
  frame.symbol = CleanText(symbol->name);
  if (frame.symbol == frame.name) frame.symbol.clear();
  if (symbol->registered) frame.origin = registered_;
  frame.reason.clear();
  return true;
}

void HostSymbolizer::ResolveKernel(const process::AddressFrame& address, Frame& frame) {
  frame.kind = FrameKind::kKernel;
  frame.module = "[kernel]";
  frame.offset = address.address;
  const Result<KernelSymbol> symbol =
      kernel_.Find(address.address - (address.return_address ? 1 : 0));
  if (!symbol) {
    frame.reason = CleanText(symbol.error().message);
    return;
  }
  DemangledName demangled = Demangle(symbol->name);
  frame.name = std::move(demangled.name);
  frame.full_name = std::move(demangled.full_name);
  frame.module = CleanText(symbol->module);
}

}  // namespace profd::symbolize
