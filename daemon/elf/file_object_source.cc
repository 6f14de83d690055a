#include "daemon/elf/file_object_source.h"

#include <utility>

#include "daemon/elf/elf_reader.h"
#include "daemon/elf/vdso.h"

namespace profd::elf {

Result<ObjectRef> FileObjectSource::Load(const ObjectId& id) {
  counters_.loads.Add();
  Result<ObjectRef> object = id.path == kVdsoPath ? LoadVdso(id) : LoadFile(id);
  if (!object) counters_.failures.Add();
  return object;
}

Result<ObjectRef> FileObjectSource::LoadFile(const ObjectId& id) {
  const Result<FoundFile> file = finder_.Open(id);
  if (!file) return file.error();
  std::weak_ptr<const Object>& held = held_[file->stamp];
  if (ObjectRef object = held.lock()) return object;
  counters_.files_read.Add();
  Result<ObjectRef> object = ReadElf(file->fd.get(), file->stamp.bytes, limits_);
  if (!object) return object.error().Wrap("cannot read the file");
  held = *object;
  if (held_.size() >= sweep_at_) {
    std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * held_.size() + 64;
  }
  return object;
}

Result<ObjectRef> FileObjectSource::LoadVdso(const ObjectId& id) {
  constexpr std::uint64_t kEndOf32Bit = 1ull << 32;
  if (id.map_end != 0 && id.map_end <= kEndOf32Bit)
    return Error{ErrorCode::kUnsupported, "the vdso of a 32-bit process", ""};
  if (!vdso_) {
    Result<ObjectRef> object = ReadOwnVdso();
    if (!object) return object.error().Wrap("cannot read the vdso");
    vdso_ = std::move(object).value();
  }
  return vdso_;
}

}  // namespace profd::elf
