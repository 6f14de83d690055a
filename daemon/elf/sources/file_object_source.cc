#include "daemon/elf/sources/file_object_source.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "daemon/elf/file/unpack.h"
#include "daemon/elf/sources/vdso.h"

namespace profd::elf {
namespace {

class ObjectWithSource : public Object {
 public:
  // `pool` must outlive it.
  ObjectWithSource(ObjectRef symbols, DebugPool& pool, DebugPool::EntryRef entry)
      : symbols_(std::move(symbols)), pool_(pool), entry_(std::move(entry)) {}

  [[nodiscard]] const ObjectInfo& info() const override { return symbols_->info(); }
  [[nodiscard]] std::optional<SymbolRange> FindSymbol(std::uint64_t vaddr) const override {
    return symbols_->FindSymbol(vaddr);
  }
  [[nodiscard]] std::vector<SourceFrame> FindSource(std::uint64_t vaddr) const override {
    return pool_.Find(entry_, vaddr);
  }
  [[nodiscard]] std::size_t bytes() const override { return symbols_->bytes(); }

 private:
  const ObjectRef symbols_;
  DebugPool& pool_;
  const DebugPool::EntryRef entry_;
};

}  // namespace

Result<ObjectRef> FileObjectSource::Load(const ObjectId& id) {
  counters_.loads.Add();
  Result<ObjectRef> object = id.path == kVdsoPath ? LoadVdso(id) : LoadFile(id);
  if (!object) counters_.failures.Add();
  return object;
}

bool FileObjectSource::Fits(std::uint64_t file_bytes) const {
  // Symbols and their names, as they are read and in the object; most of a file is neither.
  constexpr std::uint64_t kSymbolBytes = 48;
  const std::uint64_t most = limits_.symbols * kSymbolBytes + 2 * limits_.string_bytes;
  return memory_ == nullptr || memory_->TakeRoom(std::min(file_bytes / 2, most));
}

Result<ObjectRef> FileObjectSource::LoadFile(const ObjectId& id) {
  Result<FoundFile> file = finder_.Open(id);
  if (!file) return file.error();
  std::weak_ptr<const Object>& held = held_[file->stamp];
  if (ObjectRef object = held.lock()) return object;
  if (!Fits(file->stamp.bytes))
    return Error{ErrorCode::kExhausted, "no room to read its symbols below profd's memory cap",
                 "raise memory.cap"};
  counters_.files_read.Add();
  Result<ElfContents> read = ReadElfContents(FileBytes(file->fd.get(), file->stamp.bytes), limits_);
  if (!read) return read.error().Wrap("cannot read the file");
  ElfContents contents = std::move(read).value();
  DebugPool::EntryRef entry;
  if (debug_finder_) {
    const bool complete =
        contents.info.symbols_from == SymbolOrigin::kSymtab && contents.links.has_dwarf;
    std::optional<FoundDebugFile> found;
    if (!complete) found = FindDebugFile(id, contents);
    AddDebugSymbols(contents, found ? &*found : nullptr);
    if (pool_) entry = DebugEntry(id, *file, contents, found ? &*found : nullptr);
  }
  ObjectRef object = MakeObject(std::move(contents));
  if (entry) object = std::make_shared<ObjectWithSource>(std::move(object), *pool_, entry);
  held = object;
  if (held_.size() >= sweep_at_) {
    std::erase_if(held_, [](const auto& one) { return one.second.expired(); });
    sweep_at_ = 2 * held_.size() + 64;
  }
  return object;
}

std::optional<FoundDebugFile> FileObjectSource::FindDebugFile(const ObjectId& id,
                                                              ElfContents& contents) const {
  const std::string& build_id = contents.info.build_id;
  auto local = debug_finder_->Find(id, build_id, contents.links, limits_);
  if (local) return std::move(local).value();
  contents.info.debug_missing = local.error().message;
  if (!download_ || build_id.empty()) return std::nullopt;
  const DebugDownload::Answer answer = download_->Ask(build_id);
  if (!answer.path.empty()) {
    auto fetched = debug_finder_->TakeDownloaded(answer.path, build_id, limits_);
    if (fetched) return std::move(fetched).value();
    contents.info.debug_missing += ", " + fetched.error().message;
  } else {
    contents.info.debug_missing += ", " + answer.why;
  }
  return std::nullopt;
}

void FileObjectSource::AddDebugSymbols(ElfContents& contents, const FoundDebugFile* found) const {
  ObjectInfo& info = contents.info;
  if (info.symbols_from == SymbolOrigin::kSymtab) return;
  if (found != nullptr && found->contents.info.symbols_from == SymbolOrigin::kSymtab) {
    contents.symbols.clear();
    AddSymbols(contents, found->contents.symbols, found->contents.names);
    info.symbols_from = SymbolOrigin::kSymtab;
    info.symbols_missing.clear();
    info.symbols_file = found->path;
    return;
  }
  if (!contents.links.minidebug.empty()) {
    const Result<std::string> unpacked =
        UnpackXz(contents.links.minidebug, limits_.minidebug_bytes);
    const Result<ElfContents> more =
        unpacked ? ReadElfContents(MemoryBytes(std::as_bytes(std::span(*unpacked))), limits_)
                 : unpacked.error();
    if (more && !more->symbols.empty()) {
      AddSymbols(contents, more->symbols, more->names);
      info.symbols_from = SymbolOrigin::kSymtab;
      info.symbols_missing.clear();
      info.symbols_file = ".gnu_debugdata";
      return;
    }
    if (!more) info.debug_missing += ", .gnu_debugdata: " + more.error().message;
  }
  if (!info.symbols_missing.empty() && !info.debug_missing.empty())
    info.symbols_missing += " (tried " + info.debug_missing + ")";
}

DebugPool::EntryRef FileObjectSource::DebugEntry(const ObjectId& id, FoundFile& file,
                                                 ElfContents& contents, FoundDebugFile* found) {
  ObjectInfo& info = contents.info;
  const bool own = contents.links.has_dwarf;
  if (!own && (found == nullptr || !found->contents.links.has_dwarf)) {
    if (found != nullptr) info.debug_missing = found->path + ": symbols only";
    return nullptr;
  }
  const std::string& path = own ? id.path : found->path;
  const DebugLinks& links = own ? contents.links : found->contents.links;
  UniqueFd alternate;
  if (!links.alternate.empty()) {
    auto searched = debug_finder_->FindAlternate(id, path, links, limits_);
    // Without it some names are missing, lines and places are not.
    info.debug_missing = searched ? "" : "alternate file: " + searched.error().message;
    if (searched) alternate = *std::move(searched);
  } else {
    info.debug_missing.clear();
  }
  info.debug_file = path;
  UniqueFd fd = std::move(own ? file.fd : found->fd);
  return pool_->Add(own ? file.stamp : found->stamp, std::move(fd), std::move(alternate));
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
