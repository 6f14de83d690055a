// RecordingObjectSource: passes objects on and keeps what was learnt from them for a recording.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/elf/file/object_source.h"
#include "daemon/elf/sources/object_blob.h"

namespace profd::elf {

// A decorator of the live source. It remembers for each file how Load ended and the symbols that
// look-ups found; Flush hands over what is new. The first answer of a file counts: if the same
// path, device and inode hold another file later, its symbols are added to those of the first. Used
// by the symbolizer thread.
class RecordingObjectSource : public ObjectSource {
 public:
  // kind, key, bytes; as recordings take it.
  using Sink = std::function<void(std::string_view, std::string_view, std::string_view)>;

  RecordingObjectSource(ObjectSource& inner, Sink sink) : inner_(inner), sink_(std::move(sink)) {}

  [[nodiscard]] Result<ObjectRef> Load(const ObjectId& id) override;
  [[nodiscard]] std::uint64_t improvements() const override { return inner_.improvements(); }
  // Hands over one blob for each file that has something new since the last time.
  void Flush();

  // What is known of one file; shared with the objects handed out.
  struct Learnt {
    ObjectBlob unsent;
    bool changed = true;
    std::map<std::uint64_t, std::uint64_t> seen;  // begin -> end of all symbols found so far
    std::set<std::uint64_t> requested;            // addresses whose source was found
    void Add(const SymbolRange& symbol);
    void Add(std::uint64_t vaddr, const std::vector<SourceFrame>& frames);
  };

 private:
  ObjectSource& inner_;
  const Sink sink_;
  std::map<std::string, std::shared_ptr<Learnt>> files_;
};

}  // namespace profd::elf
