// Objects and modules made by hand.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/elf/file/object_source.h"
#include "daemon/elf/symbols/table_object.h"
#include "daemon/process/sample.h"

namespace profd::symbolize::testing {

// An ObjectSource over a table of paths, which counts the requests.
class TableSource : public elf::ObjectSource {
 public:
  Result<elf::ObjectRef> Load(const elf::ObjectId& id) override {
    ++loads;
    const auto found = objects.find(id.path);
    if (found == objects.end()) return Error{ErrorCode::kNotFound, "file gone: " + id.path, ""};
    return found->second;
  }
  std::map<std::string, elf::ObjectRef> objects;
  int loads = 0;
};

struct Function {
  std::string name;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
};

// One executable segment: file offset 0x1000 lies at vaddr 0x401000.
inline elf::ObjectRef MakeObject(const std::vector<Function>& functions,
                                 const std::string& symbols_missing = "") {
  std::vector<elf::RawSymbol> symbols;
  std::string pool(1, '\0');
  for (const Function& function : functions) {
    elf::RawSymbol symbol;
    symbol.start = function.start;
    symbol.size = function.size;
    symbol.name = static_cast<std::uint32_t>(pool.size());
    symbols.push_back(symbol);
    pool += function.name + '\0';
  }
  elf::ObjectInfo info;
  info.segments = {{0x1000, 0x401000, 0x10000, true}};
  info.symbols_from = elf::SymbolOrigin::kSymtab;
  info.symbols_missing = symbols_missing;
  return std::make_shared<elf::TableObject>(std::move(info), elf::SymbolTable(symbols, pool));
}

inline process::ModuleRef MakeModule(const std::string& path, std::uint64_t inode = 7) {
  auto module = std::make_shared<process::Module>();
  module->path = path;
  module->inode = inode;
  return module;
}

inline process::AddressFrame UserAddress(process::ModuleRef module, std::uint64_t file_offset,
                                         bool return_address = false) {
  process::AddressFrame frame;
  frame.return_address = return_address;
  frame.address = 0x7f0000000000 + file_offset;
  frame.module = std::move(module);
  frame.file_offset = file_offset;
  return frame;
}

inline process::AddressFrame KernelAddress(std::uint64_t address, bool return_address = true) {
  process::AddressFrame frame;
  frame.kernel = true;
  frame.return_address = return_address;
  frame.address = address;
  frame.file_offset = address;
  return frame;
}

}  // namespace profd::symbolize::testing
