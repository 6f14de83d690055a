#include "daemon/elf/sources/object_cache.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/private_file.h"
#include "daemon/reader/message.h"

namespace profd::elf {
namespace {

using reader::Packer;
using reader::Unpacker;

constexpr std::uint64_t kPieceSpan = 64u << 10;  // of addresses

bool IsComplete(const ObjectContents& contents) {
  const bool has_symbols = contents.symbols.size() != 0 || !contents.index.empty();
  return has_symbols && !contents.needs_index && !contents.lacks_debug_file &&
         contents.info.symbols_from == SymbolOrigin::kSymtab &&
         contents.info.symbols_missing.empty();
}

// What the blocks of an index take of its file; blocks follow each other there.
std::uint64_t BytesOf(const std::vector<IndexBlock>& blocks) {
  std::uint64_t bytes = 0;
  for (const IndexBlock& block : blocks)
    bytes = std::max(bytes, block.offset + block.entries * sizeof(SymbolTable::Entry) +
                                std::uint64_t{block.name_bytes});
  return bytes;
}

std::optional<std::string> ReadIndex(const UniqueFd& file, std::uint64_t bytes) {
  if (bytes > reader::AnswerCache::kMaxAnswerBytes) return std::nullopt;
  std::string index(bytes, '\0');
  const auto read = ReadAt(file.get(), 0, index, "index");
  if (!read || *read != bytes) return std::nullopt;
  return index;
}

std::shared_ptr<const UniqueFd> FileWith(std::string_view bytes) {
  auto made = MakeUnnamedFile();
  if (!made || WriteAll(made->get(), bytes) != 0) return nullptr;
  return std::make_shared<const UniqueFd>(*std::move(made));
}

std::string PackSettings(const ObjectSettings& settings) {
  const ElfLimits& elf = settings.elf;
  return Packer()
      .Number(settings.debug_files)
      .Number(settings.inlined)
      .Number(static_cast<std::uint64_t>(elf.symbols))
      .Number(static_cast<std::uint64_t>(elf.string_bytes))
      .Take();
}

}  // namespace

reader::AnswerKey AnswerKeyFor(std::string_view kind, const FileStamp& stamp,
                               std::string_view more) {
  Packer text;
  text.Text(kind)
      .Number(stamp.device)
      .Number(stamp.inode)
      .Number(stamp.bytes)
      .Number(stamp.modified_ns)
      .Number(stamp.changed_ns)
      .Text(more);
  // Without a major number it is no device: the kernel numbers such file systems as they come.
  return {.text = text.Take(), .of_this_boot = major(stamp.device) == 0};
}

ObjectCache::ObjectCache(reader::AnswerCache& answers, const ObjectSettings& settings)
    : answers_(answers),
      settings_(PackSettings(settings)),
      pieces_(kMaxPieces, LruCache<std::string, Piece>::kUnbounded,
              [this](const std::string& key, Piece& piece) { Save(key, piece); }) {}

ObjectCache::~ObjectCache() {
  pieces_.ForEach([this](const std::string& key, Piece& piece) { Save(key, piece); });
}

reader::AnswerKey ObjectCache::KeyFor(std::string_view kind, const ContentsKey& key,
                                      std::string_view more) const {
  return AnswerKeyFor(kind, key.stamp, Packer().Text(settings_).Text(key.path).Text(more).Take());
}

std::optional<ObjectCache::Kept> ObjectCache::FindContents(const ContentsKey& key) {
  const auto answer = answers_.Find(KeyFor("contents", key, ""));
  if (!answer) return std::nullopt;
  auto contents = UnpackContents(*answer);
  if (!contents || !IsComplete(*contents)) return std::nullopt;
  Kept kept{*std::move(contents), nullptr};
  if (kept.contents.index.empty()) return kept;
  const auto index = answers_.Find(KeyFor("index", key, ""));
  if (!index || index->size() != BytesOf(kept.contents.index)) return std::nullopt;
  kept.index = FileWith(*index);
  if (!kept.index) return std::nullopt;
  return kept;
}

void ObjectCache::KeepContents(const ContentsKey& key, const ObjectContents& contents,
                               const UniqueFd* index) {
  if (!IsComplete(contents)) return;
  if (!contents.index.empty()) {
    auto bytes = index == nullptr ? std::nullopt : ReadIndex(*index, BytesOf(contents.index));
    if (!bytes) return;
    answers_.Put(KeyFor("index", key, ""), *std::move(bytes));
  }
  answers_.Put(KeyFor("contents", key, ""), PackContents(contents));
}

ObjectCache::Piece& ObjectCache::PieceOf(const ContentsKey& key, std::uint64_t vaddr) {
  const reader::AnswerKey wanted =
      KeyFor("places", key, Packer().Number(vaddr / kPieceSpan).Take());
  if (Piece* const known = pieces_.Find(wanted.text)) return *known;
  Piece piece;
  piece.of_this_boot = wanted.of_this_boot;
  if (const auto answer = answers_.Find(wanted)) {
    Unpacker fields(*answer);
    while (!fields.done() && fields.ok()) {
      const auto place = fields.Number<std::uint64_t>();
      std::string frames(fields.Text());
      piece.bytes += frames.size() + sizeof place;
      piece.places.emplace(place, std::move(frames));
    }
    if (!fields.ok()) {
      piece.places.clear();
      piece.bytes = 0;
    }
  }
  return pieces_.Put(wanted.text, std::move(piece));
}

void ObjectCache::Save(const std::string& key, Piece& piece) {
  if (!piece.is_new) return;
  Packer fields;
  for (const auto& [place, frames] : piece.places) fields.Number(place).Text(frames);
  answers_.Put({.text = key, .of_this_boot = piece.of_this_boot}, fields.Take());
  piece.is_new = false;
}

std::optional<std::vector<SourceFrame>> ObjectCache::FindSource(const ContentsKey& key,
                                                                std::uint64_t vaddr) {
  const Piece& piece = PieceOf(key, vaddr);
  const auto known = piece.places.find(vaddr);
  if (known == piece.places.end()) return std::nullopt;
  auto frames = UnpackFrames(known->second);
  if (!frames) return std::nullopt;
  return *std::move(frames);
}

void ObjectCache::KeepSource(const ContentsKey& key, std::uint64_t vaddr,
                             const std::vector<SourceFrame>& frames) {
  Piece& piece = PieceOf(key, vaddr);
  std::string packed = PackFrames(frames);
  const std::size_t bytes = packed.size() + sizeof vaddr;
  if (piece.bytes + bytes > kMaxPieceBytes) return;
  if (!piece.places.emplace(vaddr, std::move(packed)).second) return;
  piece.bytes += bytes;
  piece.is_new = true;
}

std::optional<std::vector<FunctionExtent>> ObjectCache::FindFunctions(const FileStamp& stamp,
                                                                      std::uint64_t piece) {
  const auto answer =
      answers_.Find(AnswerKeyFor("functions", stamp, Packer().Number(piece).Take()));
  if (!answer) return std::nullopt;
  auto functions = UnpackFunctions(*answer);
  if (!functions) return std::nullopt;
  return *std::move(functions);
}

void ObjectCache::KeepFunctions(const FileStamp& stamp, std::uint64_t piece,
                                const std::vector<FunctionExtent>& functions) {
  answers_.Put(AnswerKeyFor("functions", stamp, Packer().Number(piece).Take()),
               PackFunctions(functions));
}

}  // namespace profd::elf
