// DirectObjects: an ObjectClient whose requests are answered in the calling process.
#pragma once

#include <memory>
#include <utility>

#include "daemon/elf/sources/object_remote.h"
#include "tests/support/direct_reader.h"

namespace profd::test {

// A base is made before those that follow it.
class DirectObjects : private DirectReaders, public elf::ObjectClient {
 public:
  explicit DirectObjects(ProcFs proc = ProcFs(), const elf::ObjectSettings& settings = {},
                         budget::Shares* downloads = nullptr, elf::KeptSymbols* kept = nullptr,
                         std::unique_ptr<elf::FunctionFinder> functions = nullptr,
                         reader::AnswerCache* cache = nullptr)
      : DirectReaders(std::make_unique<elf::ObjectParser>(std::move(functions)), std::move(proc)),
        ObjectClient(static_cast<DirectReaders&>(*this), settings, downloads, nullptr, kept,
                     cache) {}
};

// Names from separate debug files, with inlined functions and lines.
inline elf::ObjectSettings WithDebugFiles() {
  elf::ObjectSettings settings;
  settings.debug_files = true;
  settings.inlined = true;
  return settings;
}

}  // namespace profd::test
