// ObjectCache: what files say of their code, on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/lru_cache.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/elf/sources/object_contents.h"
#include "daemon/elf/sources/object_reader.h"
#include "daemon/elf/symbols/function_extents.h"
#include "daemon/reader/answer_cache.h"

namespace profd::elf {

// Of an answer about the contents of a file. `more`: what else it depends on. The contents are
// known by the file's stamp, not by its build id, which the maker of a file chooses: a user could
// give names to the programs of others.
[[nodiscard]] reader::AnswerKey AnswerKeyFor(std::string_view kind, const FileStamp& stamp,
                                             std::string_view more);

// Job: saves ObjectClient the requests that an earlier profd has made. Contents are kept if nothing
// is missing: a debug file that is not there may be installed later. So are places in the source,
// by pieces of the file's addresses, and functions without a symbol. Belongs to an ObjectClient and
// is used by its thread.
class ObjectCache {
 public:
  static constexpr std::size_t kMaxPieces = 128;           // in memory
  static constexpr std::size_t kMaxPieceBytes = 64 << 10;  // further places are not kept

  // `answers` outlives this.
  ObjectCache(reader::AnswerCache& answers, const ObjectSettings& settings);
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;
  ~ObjectCache();  // saves new places

  struct Kept {
    ObjectContents contents;
    std::shared_ptr<const UniqueFd> index;  // a file with the index of the symbols; null: no index
  };
  [[nodiscard]] std::optional<Kept> FindContents(const ContentsKey& key);
  // `index`: of the symbols, if the contents have one.
  void KeepContents(const ContentsKey& key, const ObjectContents& contents, const UniqueFd* index);

  // None: the place is not known. No frames: the file has none for it.
  [[nodiscard]] std::optional<std::vector<SourceFrame>> FindSource(const ContentsKey& key,
                                                                   std::uint64_t vaddr);
  void KeepSource(const ContentsKey& key, std::uint64_t vaddr,
                  const std::vector<SourceFrame>& frames);

  [[nodiscard]] std::optional<std::vector<FunctionExtent>> FindFunctions(const FileStamp& stamp,
                                                                         std::uint64_t piece);
  void KeepFunctions(const FileStamp& stamp, std::uint64_t piece,
                     const std::vector<FunctionExtent>& functions);

 private:
  // Places of a part of a file's addresses.
  struct Piece {
    std::map<std::uint64_t, std::string> places;  // PackFrames, by address
    std::size_t bytes = 0;
    bool of_this_boot = false;  // as in its key
    bool is_new = false;        // has places that are not on disk
  };

  [[nodiscard]] reader::AnswerKey KeyFor(std::string_view kind, const ContentsKey& key,
                                         std::string_view more) const;
  [[nodiscard]] Piece& PieceOf(const ContentsKey& key, std::uint64_t vaddr);
  void Save(const std::string& key, Piece& piece);

  reader::AnswerCache& answers_;
  const std::string settings_;           // as bytes of keys
  LruCache<std::string, Piece> pieces_;  // by the text of their keys
};

}  // namespace profd::elf
