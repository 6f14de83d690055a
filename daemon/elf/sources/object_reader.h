// ObjectReader: what the ELF files that processes map, and their debug files, say of their code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/elf/debug/debug_finder.h"
#include "daemon/elf/debug/debug_pool.h"
#include "daemon/elf/file/file_finder.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/elf/sources/function_finder.h"
#include "daemon/elf/sources/object_contents.h"
#include "daemon/elf/symbols/elf_reader.h"
#include "daemon/reader/opener.h"

namespace profd::elf {

// Plain: it travels with each request.
struct ObjectSettings {
  ElfLimits elf;
  bool debug_files = false;               // names come from separate debug files, too
  bool inlined = false;                   // inlined functions and lines too, not only symbols
  std::uint64_t debug_bytes = 96u << 20;  // of debug information that is open
  std::uint64_t eager_bytes = DebugLimits{}.eager_bytes;
};

// Contents of a file are shared by all who map it. What a file has by itself is the same under all
// its paths; then the path is "". What was found in files beside it, or tried there, depends on the
// path, which its other users may not know.
struct ContentsKey {
  FileStamp stamp;
  std::string path;
  friend bool operator==(const ContentsKey&, const ContentsKey&) = default;
};
struct ContentsHash {
  std::size_t operator()(const ContentsKey& key) const {
    return std::hash<FileStamp>()(key.stamp) ^ std::hash<std::string>()(key.path);
  }
};

// Runs in a reader process, which may wait for the disk. Keeps the files open that were used last,
// so that their debug information is opened once. Used by one thread.
class ObjectReader {
 public:
  // The opener and `functions`, which may be null, outlive this.
  ObjectReader(reader::FileOpener& opener, const ObjectSettings& settings,
               FunctionFinder* functions);

  // Which file it is, now. The error lists what was tried.
  [[nodiscard]] Result<FileStamp> Find(const ObjectId& id);
  // What the daemon may give to it.
  struct Given {
    UniqueFd debug_file;  // that was downloaded
    std::string its_path;
    UniqueFd index;  // a file for the symbols, if there are too many for the memory
  };
  [[nodiscard]] Result<ObjectContents> Read(const ObjectId& id, const FileStamp& stamp,
                                            Given given);
  // As Object::FindSource. Reads the file again, if that was long ago.
  [[nodiscard]] Result<std::vector<SourceFrame>> FindSource(const ObjectId& id,
                                                            const FileStamp& stamp,
                                                            std::uint64_t vaddr);
  // As FunctionFinder::Find.
  [[nodiscard]] Result<std::vector<FunctionExtent>> FindFunctions(const ObjectId& id,
                                                                  const FileStamp& stamp,
                                                                  std::uint64_t piece);

 private:
  static constexpr std::size_t kMaxFound = 8;
  static constexpr std::size_t kMaxEntries = 256;

  [[nodiscard]] Result<FoundFile> Open(const ObjectId& id, const FileStamp& stamp);
  // Null: it is not open.
  [[nodiscard]] DebugPool::EntryRef* EntryOf(const ObjectId& id, const FileStamp& stamp);
  // Nothing: contents.info.debug_missing says what was tried.
  [[nodiscard]] std::optional<FoundDebugFile> FindDebugFile(const ObjectId& id,
                                                            ElfContents& contents,
                                                            UniqueFd downloaded,
                                                            const std::string& its_path) const;
  // Symbols of a separate file, or packed ones, in the place of `contents`' own.
  void AddDebugSymbols(ElfContents& contents, const FoundDebugFile* found) const;
  // Into the index, if one of the files has too many. Else the contents say what is missing.
  static void IndexSymbols(const FoundFile& own, const FoundDebugFile* found,
                           const ElfLimits& limits, const UniqueFd& index, ElfContents& contents,
                           ObjectContents& object);
  // The same with a table that is large.
  void IndexTable(const UniqueFd& index, ObjectContents& object) const;
  [[nodiscard]] DebugPool::EntryRef DebugEntry(const ObjectId& id, FoundFile& file,
                                               ElfContents& contents, FoundDebugFile* found);

  const ObjectSettings settings_;
  FunctionFinder* const functions_;
  const FileFinder finder_;
  const DebugFinder debug_finder_;
  DebugPool pool_;
  LruCache<FileStamp, FoundFile> found_{kMaxFound};  // open, and not read yet
  LruCache<ContentsKey, DebugPool::EntryRef, ContentsHash> entries_{kMaxEntries};
};

}  // namespace profd::elf
