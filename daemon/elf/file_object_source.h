// FileObjectSource: objects from the files of this machine, while processes map them.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "daemon/base/counter.h"
#include "daemon/base/proc_fs.h"
#include "daemon/elf/elf_headers.h"
#include "daemon/elf/file_finder.h"
#include "daemon/elf/object_source.h"

namespace profd::elf {

// Owned by the composition root, used by the symbolizer thread; any thread may read the counters.
// A file is opened anew at every Load, so that a replaced or rewritten one is noticed, but read
// only when nobody holds its object any more: all processes that map a file, also in containers,
// share its object. What is kept, and for how long, is its users' choice. Reading may wait for the
// disk.
class FileObjectSource : public ObjectSource {
 public:
  struct Counters {
    Counter loads;       // calls of Load
    Counter files_read;  // those that read symbols from a file
    Counter failures;    // those without an answer
  };

  explicit FileObjectSource(ProcFs proc, ElfLimits limits = {})
      : finder_(std::move(proc)), limits_(limits) {}

  [[nodiscard]] Result<ObjectRef> Load(const ObjectId& id) override;
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  Result<ObjectRef> LoadFile(const ObjectId& id);
  Result<ObjectRef> LoadVdso(const ObjectId& id);

  const FileFinder finder_;
  const ElfLimits limits_;
  std::unordered_map<FileStamp, std::weak_ptr<const Object>> held_;
  std::size_t sweep_at_ = 64;  // when `held_` grows to this, those nobody holds are forgotten
  ObjectRef vdso_;
  Counters counters_;
};

}  // namespace profd::elf
