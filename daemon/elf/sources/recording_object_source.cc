#include "daemon/elf/sources/recording_object_source.h"

#include <utility>

namespace profd::elf {
namespace {

class RecordingObject : public Object {
 public:
  RecordingObject(ObjectRef inner, std::shared_ptr<RecordingObjectSource::Learnt> learnt)
      : inner_(std::move(inner)), learnt_(std::move(learnt)) {}

  [[nodiscard]] const ObjectInfo& info() const override { return inner_->info(); }
  [[nodiscard]] std::optional<SymbolRange> FindSymbol(std::uint64_t vaddr) const override {
    const std::optional<SymbolRange> symbol = inner_->FindSymbol(vaddr);
    if (symbol) learnt_->Add(*symbol);
    return symbol;
  }
  [[nodiscard]] std::vector<SourceFrame> FindSource(std::uint64_t vaddr) const override {
    std::vector<SourceFrame> frames = inner_->FindSource(vaddr);
    if (!frames.empty()) learnt_->Add(vaddr, frames);
    return frames;
  }
  [[nodiscard]] std::size_t bytes() const override { return sizeof(*this) + inner_->bytes(); }

 private:
  const ObjectRef inner_;
  const std::shared_ptr<RecordingObjectSource::Learnt> learnt_;
};

}  // namespace

void RecordingObjectSource::Learnt::Add(const SymbolRange& symbol) {
  // Two contents of one file may overlap; the first answer stands, so that a replay has one.
  const auto after = seen.upper_bound(symbol.begin);
  if (after != seen.begin() && std::prev(after)->second > symbol.begin) return;
  if (after != seen.end() && after->first < symbol.end) return;
  seen.emplace_hint(after, symbol.begin, symbol.end);
  unsent.symbols.push_back({symbol.begin, symbol.end, std::string(symbol.name)});
  changed = true;
}

void RecordingObjectSource::Learnt::Add(std::uint64_t vaddr,
                                        const std::vector<SourceFrame>& frames) {
  if (!requested.insert(vaddr).second) return;
  unsent.sources.push_back({vaddr, frames});
  changed = true;
}

Result<ObjectRef> RecordingObjectSource::Load(const ObjectId& id) {
  Result<ObjectRef> object = inner_.Load(id);
  auto [entry, added] = files_.try_emplace(id.Key());
  std::shared_ptr<Learnt>& learnt = entry->second;
  if (added) learnt = std::make_shared<Learnt>();
  if (!object) {
    if (added) learnt->unsent.failure = object.error();
    return object;
  }
  // A file that could be had only later answers with that; its addresses before had no name.
  if (added || learnt->unsent.failure) {
    learnt->unsent.failure.reset();
    learnt->unsent.info = (*object)->info();
    learnt->changed = true;
  }
  return ObjectRef(std::make_shared<RecordingObject>(std::move(object).value(), learnt));
}

void RecordingObjectSource::Flush() {
  for (auto& [key, learnt] : files_) {
    if (!std::exchange(learnt->changed, false)) continue;
    sink_(kObjectBlobKind, key, EncodeObjectBlob(learnt->unsent));
    learnt->unsent.symbols.clear();
    learnt->unsent.sources.clear();
  }
}

}  // namespace profd::elf
