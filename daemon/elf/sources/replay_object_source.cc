#include "daemon/elf/sources/replay_object_source.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/elf/sources/object_blob.h"

namespace profd::elf {

class ReplayObjectSource::Replayed : public Object {
 public:
  void Add(ObjectBlob blob) {
    if (blob.failure) {
      if (!loaded_) failure_ = std::move(blob.failure);
      return;
    }
    failure_.reset();
    if (!std::exchange(loaded_, true)) info_ = std::move(blob.info);
    for (RecordedSymbol& symbol : blob.symbols)
      symbols_.try_emplace(symbol.begin, Symbol{symbol.end, std::move(symbol.name)});
    for (const RecordedSource& source : blob.sources)
      sources_.try_emplace(source.vaddr, source.frames);
  }

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] const ObjectInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<SymbolRange> FindSymbol(std::uint64_t vaddr) const override {
    const auto after = symbols_.upper_bound(vaddr);
    if (after == symbols_.begin()) return std::nullopt;
    const auto& [begin, symbol] = *std::prev(after);
    if (vaddr >= symbol.end) return std::nullopt;
    return SymbolRange{begin, symbol.end, symbol.name};
  }
  [[nodiscard]] std::vector<SourceFrame> FindSource(std::uint64_t vaddr) const override {
    const auto found = sources_.find(vaddr);
    return found == sources_.end() ? std::vector<SourceFrame>() : found->second;
  }
  [[nodiscard]] std::size_t bytes() const override {
    return sizeof(*this);  // of one's own; the symbols stay with the source in any case
  }

 private:
  struct Symbol {
    std::uint64_t end = 0;
    std::string name;
  };
  bool loaded_ = false;
  std::optional<Error> failure_;
  ObjectInfo info_;
  std::map<std::uint64_t, Symbol> symbols_;
  std::map<std::uint64_t, std::vector<SourceFrame>> sources_;
};

Result<void> ReplayObjectSource::AddBlob(std::string_view key, std::string_view bytes) {
  Result<ObjectBlob> blob = DecodeObjectBlob(bytes);
  if (!blob) return blob.error().Wrap(key);
  auto [entry, added] = files_.try_emplace(std::string(key));
  if (added) entry->second = std::make_shared<Replayed>();
  entry->second->Add(std::move(blob).value());
  return {};
}

Result<ObjectRef> ReplayObjectSource::Load(const ObjectId& id) {
  const auto found = files_.find(id.Key());
  if (found == files_.end())
    return Error{ErrorCode::kNotFound, "the recording does not hold this file", ""};
  if (found->second->failure()) return *found->second->failure();
  return ObjectRef(found->second);
}

}  // namespace profd::elf
