#include "daemon/symbolize/live/elf_symbolizer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/elf/symbols/virtual_functions.h"
#include "daemon/symbolize/names/clean_text.h"
#include "daemon/symbolize/names/demangle.h"

namespace profd::symbolize {
namespace {

// How elf calls symbols that the file itself has packed.
constexpr std::string_view kMiniDebugInfo = ".gnu_debugdata";

elf::ObjectId IdOf(const process::Module& module) {
  return elf::ObjectId{module.path,    module.device_major, module.device_minor,
                       module.inode,   module.first_pid,    module.map_start,
                       module.map_end, module.mapped_ns};
}

std::string_view OriginName(const elf::ObjectInfo& info) {
  if (info.symbols_file == kMiniDebugInfo) return kMiniDebugInfo;
  switch (info.symbols_from) {
    case elf::SymbolOrigin::kSymtab:
      return ".symtab";
    case elf::SymbolOrigin::kDynsym:
      return ".dynsym";
    case elf::SymbolOrigin::kNone:
      break;
  }
  return "";
}

ModuleInfoRef InfoOf(const process::Module& module, const elf::ObjectInfo& info) {
  auto known = std::make_shared<ModuleInfo>();
  known->path = CleanText(module.path);
  known->build_id = info.build_id;
  known->symbols_from = OriginName(info);
  if (info.symbols_file != kMiniDebugInfo) known->symbols_file = CleanText(info.symbols_file);
  known->symbols_missing = CleanText(info.symbols_missing);
  known->debug_file =
      info.debug_file == elf::kOwnDebugInfo ? known->path : CleanText(info.debug_file);
  known->debug_missing = CleanText(info.debug_missing);
  return known;
}

// Of a file that could not be read.
ModuleInfoRef InfoOf(const process::Module& module, const std::string& failure) {
  auto known = std::make_shared<ModuleInfo>();
  known->path = CleanText(module.path);
  known->symbols_missing = failure;
  return known;
}

std::string_view WhyNotCovered(const elf::ObjectInfo& info) {
  if (info.symbols_missing.empty()) return "no symbol covers this address";
  return info.symbols_missing;
}

// "onnxruntime::Conv<float>::(virtual 2)"; "" when the type's name is none.
std::string VirtualName(std::string_view type, std::string_view place) {
  constexpr std::string_view kOfType = "typeinfo name for ";
  const std::string name = Demangle(type).name;
  return name.starts_with(kOfType) ? name.substr(kOfType.size()) + CleanText(place) : "";
}

void SetName(Frame& frame, std::string_view symbol) {
  if (const std::size_t place = symbol.find(elf::kVirtualPlace); place != std::string_view::npos) {
    const std::size_t bases = std::min(symbol.find(elf::kVirtualBase, place), symbol.size());
    frame.name = VirtualName(symbol.substr(0, place), symbol.substr(place, bases - place));
    if (bases < symbol.size() && !frame.name.empty()) frame.symbol = CleanText(symbol);
    return;
  }
  DemangledName demangled = Demangle(symbol);
  frame.name = std::move(demangled.name);
  frame.full_name = std::move(demangled.full_name);
  frame.symbol = CleanText(symbol);
  if (frame.symbol == frame.name) frame.symbol.clear();
}

// Of a function without a symbol, which is one function all the same: "libz.so.1.2.13!fn_4a00". No
// two functions of a file have the same.
std::string NameByPlace(std::string_view module, std::uint64_t begin) {
  constexpr std::size_t kBase = 2;  // "0x"
  return std::string(BaseName(module)) + "!fn_" + HexNumber(begin).substr(kBase);
}

}  // namespace

void ElfSymbolizer::Resolve(const process::AddressFrame& address, Detail detail,
                            std::vector<Frame>& frames) {
  const std::size_t first = frames.size();
  Frame& frame = frames.emplace_back();
  frame.module = CleanText(address.module->path);
  frame.offset = address.file_offset;
  const Held& held = Hold(address.module);
  frame.origin = held.info;
  if (!held.object) {
    frame.reason = held.failure;
    return;
  }
  const elf::ObjectInfo& info = held.object->info();
  // A call may be the last instruction of its function: its return address belongs to the next.
  const std::uint64_t file_offset =
      address.file_offset - (address.return_address && address.file_offset > 0 ? 1 : 0);
  const std::optional<std::uint64_t> vaddr = elf::VaddrOf(info.segments, file_offset);
  if (!vaddr) {
    frame.reason = "outside of what the file loads";
    return;
  }
  const std::optional<elf::SymbolRange> symbol = held.object->FindSymbol(*vaddr);
  if (symbol) SetName(frame, symbol->name);
  if (detail == Detail::kSource) AddSource(*held.object, *vaddr, first, frames);
  Frame& function = frames.back();
  if (!function.name.empty()) return;
  function.reason = CleanText(WhyNotCovered(info));
  if (symbol) function.name = NameByPlace(function.module, symbol->begin);
}

void ElfSymbolizer::AddSource(const elf::Object& object, std::uint64_t vaddr, std::size_t first,
                              std::vector<Frame>& frames) {
  const std::vector<elf::SourceFrame> sources = object.FindSource(vaddr);
  if (sources.empty()) return;
  // The outermost has the name that the symbols give it, with or without debug information.
  const Frame function = std::move(frames[first]);
  frames.resize(first);
  for (const elf::SourceFrame& source : sources) {
    const bool outermost = &source == &sources.back();
    Frame& frame = frames.emplace_back();
    if (outermost) {
      frame = function;
    } else {
      frame.inlined = true;
      frame.module = function.module;
      frame.offset = function.offset;
      frame.origin = function.origin;
    }
    if (frame.name.empty()) SetName(frame, source.name);
    if (frame.name.empty() && !outermost) frame.reason = "the debug information has no name for it";
    frame.file = CleanText(source.file);
    frame.line = source.line;
  }
}

const ElfSymbolizer::Held& ElfSymbolizer::Hold(const process::ModuleRef& module) {
  if (const std::uint64_t now = source_.improvements(); now != improvements_) {
    improvements_ = now;
    ForgetIncomplete();
  }
  if (const Held* known = held_.Find(module.get()); known != nullptr) return *known;
  Result<elf::ObjectRef> object = source_.Load(IdOf(*module));
  Held held;
  held.module = module;
  if (object) {
    held.object = std::move(object).value();
    held.info = InfoOf(*module, held.object->info());
    Users& users = users_[held.object.get()];
    if (++users.modules == 1) bytes_.Add(users.bytes = held.object->bytes());
  } else {
    const Error& error = object.error();
    held.later = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kExhausted;
    held.failure = CleanText(error.message + (error.hint.empty() ? "" : ": " + error.hint));
    held.info = InfoOf(*module, held.failure);
  }
  const Held& kept = held_.Put(module.get(), std::move(held));
  while (held_.size() > 1 && HeldBytes() > options_.held_bytes) held_.DiscardOldest();
  memory_.Set(HeldBytes());
  return kept;
}

void ElfSymbolizer::GiveUp() {
  const std::uint64_t requested = memory_.TakeReclaimRequest();
  if (requested == 0) return;
  const std::size_t keep = HeldBytes() - std::min<std::size_t>(requested, HeldBytes());
  while (HeldBytes() > keep && held_.DiscardOldest()) {
  }
  memory_.Set(HeldBytes());
}

void ElfSymbolizer::Release(const Held& held) {
  const auto user = users_.find(held.object.get());
  if (user == users_.end() || --user->second.modules > 0) return;
  bytes_.Set(bytes_.value() - user->second.bytes);
  users_.erase(user);
}

void ElfSymbolizer::ForgetIncomplete() {
  held_.EraseIf([this](const process::Module* /*module*/, const Held& held) {
    // What is not there at all stays so: files do not come back.
    if (!held.object ? !held.later : !held.object->info().debug_file.empty()) return false;
    Release(held);
    return true;
  });
}

}  // namespace profd::symbolize
