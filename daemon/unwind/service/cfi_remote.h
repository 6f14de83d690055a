// CfiParser, CfiClient: unwind rules of a mapped file, read in a reader process.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "daemon/base/result.h"
#include "daemon/elf/file/file_finder.h"
#include "daemon/elf/registered/registered_list.h"
#include "daemon/elf/sources/vdso.h"
#include "daemon/reader/answer_cache.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/unwind/cfi/cfi_reader.h"

namespace profd::unwind {

// One mapping of a file. Pid 0: the vdso, which every process has.
struct FileMapping {
  std::uint32_t pid = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// An executable mapping of a file, as /proc/PID/maps names the file.
struct MappedFile {
  FileMapping mapping;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
};

// What the daemon keeps of a file while it loads its tables. No part of the file is open or in
// memory here.
struct FrameFile {
  FileMapping mapping;  // where it was found
  elf::FileStamp stamp;
  std::uint64_t opened_ns = 0;  // CLOCK_MONOTONIC
  profd_file_key key{};         // the one that the kernel will most likely have for it
  // The mapping is of another file system than the file: inode numbers differ, where overlayfs
  // makes up its own.
  bool overlay = false;
  // Without tables the rest is empty, and this says why.
  std::string missing;
  std::string build_id;  // lower-case hex; "" for none
  std::vector<TextRange> text;
  bool small = false;    // to be read whole
  bool cpython = false;  // it holds a CPython interpreter
  bool memory = false;   // no file: code made at run time
  [[nodiscard]] bool has_tables() const { return missing.empty(); }
};

// Whether this is the file that the kernel means by `key`. Devices may differ, as on overlayfs and
// btrfs, where stat shows another one than the mapping has, and on overlayfs inode numbers, too;
// generations cannot be seen everywhere.
[[nodiscard]] bool Fits(const FrameFile& file, const profd_file_key& key);

struct FrameRows {
  PartRows part;              // of one chunk
  std::uint64_t damaged = 0;  // FDEs that were left out
};

// Rows of a chunk of memory, and of which contents: bytes, and what is registered for its code.
struct MemoryChunk {
  PartRows part;
  std::uint64_t registered_bytes = 0;  // that have rules by registered unwind information
  std::uint64_t hash = 0;
};

// The key that the programs have for a mapping without a file.
[[nodiscard]] bool IsMemory(const profd_file_key& key);
// What there is to know of such a mapping. kNotFound: the key does not describe it.
[[nodiscard]] Result<FrameFile> MemoryFile(const FileMapping& mapping, const profd_file_key& key);

// Runs in a reader process. Keeps the files that were used last, each once and within bounds, so
// that chunks of a large file come one by one.
class CfiParser : public reader::Parser {
 public:
  [[nodiscard]] Result<std::string> Answer(std::string_view request,
                                           reader::ParserContext context) override;
  // Memory of the files that are open, by an estimate.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  static constexpr std::size_t kMaxOpen = 4;
  static constexpr std::uint64_t kMaxOpenBytes = 16u << 20;
  struct OpenFile {
    FrameFile file;
    std::optional<CfiReader> reader;  // none: it has no tables
  };

  [[nodiscard]] Result<std::string> AnswerFor(std::string_view request, reader::FileOpener& opener);
  // Of the chunk of memory that begins so many bytes behind the mapping's begin.
  [[nodiscard]] Result<std::string> AnswerMemory(const FileMapping& mapping, std::uint64_t begin,
                                                 bool with_rows, reader::FileOpener& opener);
  // Closes those that were used longest ago, but not the last one.
  void KeepBounds();
  [[nodiscard]] Result<OpenFile*> Open(const FileMapping& mapping, reader::FileOpener& opener);
  // Null: no file with this stamp is open.
  [[nodiscard]] OpenFile* Known(const elf::FileStamp& stamp);
  [[nodiscard]] Result<OpenFile*> Find(const FrameFile& wanted, reader::FileOpener& opener);

  const Result<std::span<const std::byte>> vdso_ = elf::OwnVdsoBytes();
  std::vector<std::unique_ptr<OpenFile>> open_;  // used last at the back
  elf::RegisteredLists registered_;
};

// The daemon's side. What comes back is checked: a hostile file may have taken the parser over.
// Used by one thread.
class CfiClient {
 public:
  // The pool's role makes CfiParsers. `cache`: rows that an earlier profd has read; null: there are
  // none. Both outlive this.
  explicit CfiClient(reader::Readers& readers, reader::AnswerCache* cache = nullptr)
      : readers_(readers), cache_(cache) {}

  // kNotFound: the process or the mapping is gone. kUnavailable: not read yet, or it cannot be read
  // for now.
  [[nodiscard]] Result<std::vector<MappedFile>> FindMapped(std::uint32_t pid,
                                                           std::chrono::milliseconds patience);
  [[nodiscard]] Result<FrameFile> Open(const FileMapping& mapping,
                                       std::chrono::milliseconds patience);
  // The file behind a mapping, of which nothing is read.
  [[nodiscard]] Result<elf::FileStamp> Stamp(const FileMapping& mapping,
                                             std::chrono::milliseconds patience);
  // Rows of the chunks that begin at these file offsets, in one request; at most kMaxChunks.
  // `requested`: by a program.
  static constexpr std::size_t kMaxChunks = 16;
  [[nodiscard]] Result<std::vector<FrameRows>> ReadChunks(const FrameFile& file,
                                                          std::span<const std::uint64_t> begins,
                                                          bool requested,
                                                          std::chrono::milliseconds patience);
  // Of memory, the chunk that begins so many bytes behind the mapping's begin. kNotFound: the
  // process or the mapping is gone.
  [[nodiscard]] Result<MemoryChunk> ReadMemory(const FileMapping& mapping, std::uint64_t begin,
                                               std::chrono::milliseconds patience);
  // The hash of its contents alone.
  [[nodiscard]] Result<std::uint64_t> HashMemory(const FileMapping& mapping, std::uint64_t begin,
                                                 std::chrono::milliseconds patience);
  // The file's own symbols, as elf::PackContents packs them; not checked.
  [[nodiscard]] Result<std::string> ReadSymbols(const FrameFile& file,
                                                std::chrono::milliseconds patience);

 private:
  [[nodiscard]] Result<std::vector<FrameRows>> RequestChunks(const FrameFile& file,
                                                             std::span<const std::uint64_t> begins,
                                                             bool requested,
                                                             std::chrono::milliseconds patience);
  // None: they are not known.
  [[nodiscard]] std::optional<FrameRows> FindChunk(const FrameFile& file, std::uint64_t begin,
                                                   bool requested);
  void KeepChunk(const FrameFile& file, std::uint64_t begin, bool requested, const FrameRows& rows);

  reader::Readers& readers_;
  reader::AnswerCache* const cache_;
};

}  // namespace profd::unwind
