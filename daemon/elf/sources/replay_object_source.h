// ReplayObjectSource: objects from the blobs of a recording; the files are not needed.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "daemon/elf/file/object_source.h"

namespace profd::elf {

// For every address that was looked up while recording, it has the answer of that time. Addresses
// that were not looked up may have a name in the file and none here. Used by one thread.
class ReplayObjectSource : public ObjectSource {
 public:
  // One blob of kind kObjectBlobKind. Blobs of one key add up, in the order of the recording.
  [[nodiscard]] Result<void> AddBlob(std::string_view key, std::string_view bytes);
  [[nodiscard]] Result<ObjectRef> Load(const ObjectId& id) override;

 private:
  class Replayed;
  std::map<std::string, std::shared_ptr<Replayed>, std::less<>> files_;
};

}  // namespace profd::elf
