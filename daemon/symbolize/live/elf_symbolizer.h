// ElfSymbolizer: names for addresses in mapped files and in the vdso.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/base/lru_cache.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::symbolize {

// Holds the objects of the modules that were used last, so that an address has a name after its
// process and its file are gone; bounded by memory and by their number. A module whose object
// cannot be loaded is kept with the reason, and not tried again before the source improves, if it
// may do so. Used by the symbolizer thread.
class ElfSymbolizer : public Symbolizer {
 public:
  static constexpr std::size_t kModuleBytes = 1'024;  // beside the object, about

  struct Options {
    std::size_t held_bytes = 64u << 20;
    // Where processes come and go, a file is a module again whenever the first of them has died.
    std::size_t held_modules = 4'096;
  };

  explicit ElfSymbolizer(elf::ObjectSource& source) : ElfSymbolizer(source, Options{}) {}
  ElfSymbolizer(elf::ObjectSource& source, Options options)
      : source_(source),
        options_(options),
        held_(options.held_modules, Modules::kUnbounded,
              [this](const process::Module* /*module*/, const Held& held) { Release(held); }) {}

  // `address.module` must be set.
  void Resolve(const process::AddressFrame& address, Detail detail,
               std::vector<Frame>& frames) override;
  [[nodiscard]] std::uint64_t improvements() const override { return source_.improvements(); }
  // Discards objects until what the memory budget requests is free, those used longest ago first.
  void GiveUp();
  [[nodiscard]] budget::MemoryAccount& memory() { return memory_; }
  // Memory in the objects held now; any thread may read it.
  [[nodiscard]] std::size_t bytes() const { return bytes_.value(); }

 private:
  struct Held {
    process::ModuleRef module;
    elf::ObjectRef object;  // null: `failure` says why
    std::string failure;
    bool later = false;  // it may be loaded then
    ModuleInfoRef info;
  };
  using Modules = LruCache<const process::Module*, Held>;
  struct Users {
    std::size_t modules = 0;  // that hold an object
    std::size_t bytes = 0;    // as counted for it: it may have grown since
  };

  // Replaces frames[first], which has module and offset, by what the debug information says.
  static void AddSource(const elf::Object& object, std::uint64_t vaddr, std::size_t first,
                        std::vector<Frame>& frames);
  const Held& Hold(const process::ModuleRef& module);
  [[nodiscard]] std::size_t HeldBytes() const {
    return bytes_.value() + held_.size() * kModuleBytes;
  }
  // Its module holds the object no longer.
  void Release(const Held& held);
  // Those that lack debug information, or were not there yet, are loaded again.
  void ForgetIncomplete();

  elf::ObjectSource& source_;
  const Options options_;
  Modules held_;  // bounded by memory in Hold, since modules share objects
  std::unordered_map<const elf::Object*, Users> users_;
  std::uint64_t improvements_ = 0;  // of source_, when the objects were loaded
  Counter bytes_;
  budget::MemoryAccount memory_{"symbol tables"};
};

}  // namespace profd::symbolize
