#include "daemon/elf/sources/object_reader.h"

#include <span>
#include <string>
#include <utility>

#include "daemon/elf/file/unpack.h"
#include "daemon/elf/symbols/symbol_index.h"

namespace profd::elf {
namespace {

DebugPool::Options PoolOptions(reader::FileOpener& opener, const ObjectSettings& settings) {
  DebugPool::Options options;
  options.bytes = settings.debug_bytes;
  options.limits.elf = settings.elf;
  options.limits.eager_bytes = settings.eager_bytes;
  options.limits.make_temporary = [&opener] {
    auto file = opener.Open({.what = reader::OpenRequest::What::kTemporary});
    return file ? Result<UniqueFd>(std::move(file->fd)) : file.error();
  };
  return options;
}

}  // namespace

ObjectReader::ObjectReader(reader::FileOpener& opener, const ObjectSettings& settings,
                           FunctionFinder* functions)
    : settings_(settings),
      functions_(functions),
      finder_(opener),
      debug_finder_(opener),
      pool_(PoolOptions(opener, settings)) {}

Result<FileStamp> ObjectReader::Find(const ObjectId& id) {
  Result<FoundFile> file = finder_.Open(id);
  if (!file) return file.error();
  const FileStamp stamp = file->stamp;
  found_.Put(stamp, *std::move(file));
  return stamp;
}

Result<FoundFile> ObjectReader::Open(const ObjectId& id, const FileStamp& stamp) {
  FoundFile* const known = found_.Find(stamp);
  Result<FoundFile> file = known != nullptr ? std::move(*known) : finder_.Open(id);
  if (known != nullptr) found_.Erase(stamp);
  if (file && file->stamp != stamp)
    return Error{ErrorCode::kNotFound, "file gone: another one is there now", ""};
  return file;
}

Result<ObjectContents> ObjectReader::Read(const ObjectId& id, const FileStamp& stamp, Given given) {
  Result<FoundFile> file = Open(id, stamp);
  if (!file) return file.error();
  Result<ElfContents> read =
      ReadElfContents(FileBytes(file->fd.get(), file->stamp.bytes), settings_.elf);
  if (!read) return read.error().Wrap("cannot read the file");
  ElfContents contents = std::move(read).value();
  ObjectContents object;
  std::optional<FoundDebugFile> found;
  if (settings_.debug_files) {
    const bool complete =
        (contents.info.symbols_from == SymbolOrigin::kSymtab || contents.large_symtab) &&
        contents.links.has_dwarf;
    object.alone = complete && contents.links.alternate.empty();
    if (!complete) found = FindDebugFile(id, contents, std::move(given.debug_file), given.its_path);
    object.lacks_debug_file = !complete && !found;
    AddDebugSymbols(contents, found ? &*found : nullptr);
  }
  IndexSymbols(*file, found ? &*found : nullptr, settings_.elf, given.index, contents, object);
  if (settings_.debug_files && settings_.inlined) {
    DebugPool::EntryRef entry = DebugEntry(id, *file, contents, found ? &*found : nullptr);
    object.has_source = entry != nullptr;
    if (entry) entries_.Put({stamp, object.alone ? "" : id.path}, std::move(entry));
  }
  object.symbols = MakeSymbols(contents);
  IndexTable(given.index, object);
  object.info = std::move(contents.info);
  return object;
}

Result<std::vector<SourceFrame>> ObjectReader::FindSource(const ObjectId& id,
                                                          const FileStamp& stamp,
                                                          std::uint64_t vaddr) {
  DebugPool::EntryRef* entry = EntryOf(id, stamp);
  if (entry == nullptr) {
    // Another process of the pool had it, or it is long ago.
    const auto contents = Read(id, stamp, {});
    if (!contents) return contents.error();
    entry = EntryOf(id, stamp);
    if (entry == nullptr) return Error{ErrorCode::kNotFound, "its debug information is gone", ""};
  }
  return pool_.Find(*entry, vaddr);
}

Result<std::vector<FunctionExtent>> ObjectReader::FindFunctions(const ObjectId& id,
                                                                const FileStamp& stamp,
                                                                std::uint64_t piece) {
  if (functions_ == nullptr) return std::vector<FunctionExtent>();
  const auto open = [&]() -> Result<UniqueFd> {
    auto file = Open(id, stamp);
    if (!file) return file.error();
    return std::move(file->fd);
  };
  return functions_->Find(stamp, open, piece);
}

DebugPool::EntryRef* ObjectReader::EntryOf(const ObjectId& id, const FileStamp& stamp) {
  DebugPool::EntryRef* const own = entries_.Find({stamp, ""});
  return own != nullptr ? own : entries_.Find({stamp, id.path});
}

std::optional<FoundDebugFile> ObjectReader::FindDebugFile(const ObjectId& id, ElfContents& contents,
                                                          UniqueFd downloaded,
                                                          const std::string& its_path) const {
  const std::string& build_id = contents.info.build_id;
  auto local = debug_finder_.Find(id, build_id, contents.links, settings_.elf);
  if (local) return std::move(local).value();
  contents.info.debug_missing = local.error().message;
  if (!downloaded.valid()) return std::nullopt;
  auto fetched =
      debug_finder_.TakeDownloaded(std::move(downloaded), its_path, build_id, settings_.elf);
  if (fetched) return std::move(fetched).value();
  contents.info.debug_missing += ", " + fetched.error().message;
  return std::nullopt;
}

void ObjectReader::AddDebugSymbols(ElfContents& contents, const FoundDebugFile* found) const {
  ObjectInfo& info = contents.info;
  if (info.symbols_from == SymbolOrigin::kSymtab || contents.large_symtab) return;
  if (found != nullptr && found->contents.large_symtab) return;
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
        UnpackXz(contents.links.minidebug, settings_.elf.minidebug_bytes);
    ElfLimits limits = settings_.elf;
    limits.table_symbols = limits.symbols;  // there is no file to make an index of
    limits.table_string_bytes = limits.string_bytes;
    const Result<ElfContents> more =
        unpacked ? ReadElfContents(MemoryBytes(std::as_bytes(std::span(*unpacked))), limits)
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
}

void ObjectReader::IndexSymbols(const FoundFile& own, const FoundDebugFile* found,
                                const ElfLimits& limits, const UniqueFd& index,
                                ElfContents& contents, ObjectContents& object) {
  ObjectInfo& info = contents.info;
  const bool of_found = !contents.large_symtab && info.symbols_from != SymbolOrigin::kSymtab &&
                        found != nullptr && found->contents.large_symtab;
  if (!contents.large_symtab && !of_found) return;
  object.needs_index = !index.valid();
  if (object.needs_index) return;
  const FileBytes bytes(of_found ? found->fd.get() : own.fd.get(),
                        of_found ? found->stamp.bytes : own.stamp.bytes);
  auto written = WriteSymbolIndex(bytes, contents, limits, index.get());
  if (!written) {
    info.symbols_missing = written.error().message;
    return;
  }
  object.index = *std::move(written);
  info.symbols_from = SymbolOrigin::kSymtab;
  info.symbols_missing.clear();
  if (of_found) info.symbols_file = found->path;
  contents.symbols.clear();
  contents.stubs.clear();
  contents.functions.clear();
}

void ObjectReader::IndexTable(const UniqueFd& index, ObjectContents& object) const {
  const bool is_large = object.symbols.bytes() > settings_.elf.table_bytes;
  if (!is_large || !object.index.empty() || !index.valid()) return;
  auto written = WriteSymbolIndex(object.symbols, settings_.elf, index.get());
  if (!written) return;
  object.index = *std::move(written);
  object.symbols = {};
}

DebugPool::EntryRef ObjectReader::DebugEntry(const ObjectId& id, FoundFile& file,
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
    auto searched = debug_finder_.FindAlternate(id, path, links, settings_.elf);
    // Without it some names are missing, lines and places are not.
    info.debug_missing = searched ? "" : "alternate file: " + searched.error().message;
    if (searched) alternate = *std::move(searched);
  } else {
    info.debug_missing.clear();
  }
  info.debug_file = own ? std::string(kOwnDebugInfo) : path;
  UniqueFd fd = std::move(own ? file.fd : found->fd);
  return pool_.Add(own ? file.stamp : found->stamp, std::move(fd), std::move(alternate));
}

}  // namespace profd::elf
