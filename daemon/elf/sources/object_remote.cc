#include "daemon/elf/sources/object_remote.h"

#include <fcntl.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/keys.h"
#include "daemon/base/private_file.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/sources/vdso.h"
#include "daemon/elf/symbols/table_object.h"
#include "daemon/reader/message.h"
#include "daemon/source/probe/capabilities.h"

namespace profd::elf {
namespace {

using reader::Packer;
using reader::Unpacker;

enum class Verb : std::uint8_t { kFind, kRead, kSource, kFunctions };

constexpr std::uint64_t kTrimAbove = 16u << 20;  // bytes of a file

Packer Begin(Verb verb, const ObjectSettings& settings, const ObjectId& id) {
  Packer fields;
  fields.Number(verb)
      .Plain(settings.elf)
      .Number(settings.debug_files)
      .Number(settings.inlined)
      .Number(settings.debug_bytes)
      .Number(settings.eager_bytes)
      .Text(id.path)
      .Number(id.device_major)
      .Number(id.device_minor)
      .Number(id.inode)
      .Number(id.pid)
      .Number(id.map_start)
      .Number(id.map_end);
  return fields;
}

ObjectSettings UnpackSettings(Unpacker& fields) {
  ObjectSettings settings;
  settings.elf = fields.Plain<ElfLimits>();
  settings.debug_files = fields.Number<bool>();
  settings.inlined = fields.Number<bool>();
  settings.debug_bytes = fields.Number<std::uint64_t>();
  settings.eager_bytes = fields.Number<std::uint64_t>();
  return settings;
}

ObjectId UnpackId(Unpacker& fields) {
  ObjectId id;
  id.path = fields.Text();
  id.device_major = fields.Number<std::uint32_t>();
  id.device_minor = fields.Number<std::uint32_t>();
  id.inode = fields.Number<std::uint64_t>();
  id.pid = fields.Number<std::uint32_t>();
  id.map_start = fields.Number<std::uint64_t>();
  id.map_end = fields.Number<std::uint64_t>();
  return id;
}

Error Nonsense() {
  return Error{ErrorCode::kCorrupt, "the answer about a file's symbols makes no sense", ""};
}

bool MayChange(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kExhausted;
}

}  // namespace

Result<std::string> ObjectParser::Answer(std::string_view request, reader::ParserContext context) {
  Unpacker fields(request);
  const auto verb = fields.Number<Verb>();
  const ObjectSettings settings = UnpackSettings(fields);
  if (!reader_) reader_.emplace(context.opener, settings, functions_.get());
  const ObjectId id = UnpackId(fields);
  if (verb == Verb::kFind) {
    const auto stamp = reader_->Find(id);
    if (!stamp) return stamp.error();
    return Packer().Plain(*stamp).Take();
  }
  const auto stamp = fields.Plain<FileStamp>();
  if (verb == Verb::kRead) {
    ObjectReader::Given given;
    given.its_path = fields.Text();
    const auto has_index = fields.Number<bool>();
    if (context.descriptors.size() != (given.its_path.empty() ? 0u : 1u) + (has_index ? 1u : 0u))
      return Error{ErrorCode::kInvalidArgument, "a request without its files", ""};
    if (has_index) given.index = std::move(context.descriptors.back());
    if (!given.its_path.empty()) given.debug_file = std::move(context.descriptors.front());
    const auto contents = reader_->Read(id, stamp, std::move(given));
    auto answer = contents ? Result<std::string>(PackContents(*contents)) : contents.error();
    // An idle reader of large files would hold what they took.
    if (stamp.bytes >= kTrimAbove) ::malloc_trim(0);
    return answer;
  }
  if (verb == Verb::kFunctions) {
    const auto functions = reader_->FindFunctions(id, stamp, fields.Number<std::uint64_t>());
    return functions ? Result<std::string>(PackFunctions(*functions)) : functions.error();
  }
  auto frames = reader_->FindSource(id, stamp, fields.Number<std::uint64_t>());
  if (!frames) return frames.error();
  if (frames->size() > kMaxSourceFrames)
    frames->erase(frames->begin(), frames->end() - kMaxSourceFrames);
  return PackFrames(*frames);
}

// What it does not hold itself it requests.
class ObjectClient::FileObject : public TableObject {
 public:
  FileObject(ObjectContents contents, std::optional<SymbolIndex> index, ObjectClient& client,
             ContentsKey key)
      : TableObject(std::move(contents.info), std::move(contents.symbols), std::move(index)),
        has_source_(contents.has_source),
        client_(client),
        key_(std::move(key)) {}
  [[nodiscard]] std::optional<SymbolRange> FindSymbol(std::uint64_t vaddr) const override {
    const auto symbol = TableObject::FindSymbol(vaddr);
    return symbol ? symbol : FindFunction(vaddr);
  }
  [[nodiscard]] std::vector<SourceFrame> FindSource(std::uint64_t vaddr) const override {
    return has_source_ ? client_.FindSource(key_, vaddr) : std::vector<SourceFrame>();
  }

 private:
  static constexpr std::size_t kMaxFunctions = 1u << 15;  // 512 KiB

  [[nodiscard]] std::optional<SymbolRange> FindFunction(std::uint64_t vaddr) const {
    const std::uint64_t piece = FunctionFinder::PieceOf(vaddr);
    auto known = functions_.find(piece);
    if (known == functions_.end()) {
      auto functions = client_.FindFunctions(key_, piece);
      if (!functions) return std::nullopt;
      if (functions_held_ + functions->size() > kMaxFunctions) {
        functions_.clear();
        functions_held_ = 0;
      }
      functions_held_ += functions->size() + 1;
      known = functions_.emplace(piece, *std::move(functions)).first;
    }
    const FunctionExtent* function = FunctionAt(known->second, vaddr);
    if (function == nullptr) return std::nullopt;
    return SymbolRange{function->begin, function->end, ""};
  }

  const bool has_source_;
  ObjectClient& client_;
  const ContentsKey key_;
  mutable std::map<std::uint64_t, std::vector<FunctionExtent>> functions_;  // by piece
  mutable std::size_t functions_held_ = 0;                                  // and pieces
};

ObjectClient::ObjectClient(reader::Readers& readers, const ObjectSettings& settings,
                           budget::Shares* downloads, budget::MemoryBudget* memory,
                           KeptSymbols* kept, reader::AnswerCache* cache)
    : readers_(readers),
      settings_(settings),
      download_(downloads != nullptr ? std::make_unique<DebugDownload>(*downloads) : nullptr),
      memory_(memory),
      kept_(kept),
      cache_(cache != nullptr ? std::make_unique<ObjectCache>(*cache, settings) : nullptr) {}

Result<ObjectRef> ObjectClient::Load(const ObjectId& id) {
  counters_.loads.Add();
  Result<ObjectRef> object = id.path == kVdsoPath ? LoadVdso(id) : LoadFile(id);
  if (!object && object.error().code == ErrorCode::kNotFound && kept_ != nullptr) {
    if (auto kept = kept_->Find(id)) {
      kept->info.debug_missing = object.error().message + "; its symbols were kept";
      object =
          ObjectRef(std::make_shared<TableObject>(std::move(kept->info), std::move(kept->symbols)));
    }
  }
  if (!object) counters_.failures.Add();
  return object;
}

Result<ObjectRef> ObjectClient::LoadFile(const ObjectId& id) {
  if (id.inode == 0) return Error{ErrorCode::kNotFound, "not a file", ""};
  const auto found = Ask(id, What::kSymbols, Begin(Verb::kFind, settings_, id).Take());
  if (!found && found.error().code == ErrorCode::kPermissionDenied)
    return Error{ErrorCode::kPermissionDenied,
                 "no right to open the mapped file" +
                     source::NameMissing(
                         {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE"}) +
                     " " + found.error().message,
                 ""};
  if (!found) return found.error();
  Unpacker fields(*found);
  const auto stamp = fields.Plain<FileStamp>();
  if (!fields.done()) return Nonsense();
  if (WasWrittenAfter(id.mapped_ns, stamp, SystemClock()))
    return Error{ErrorCode::kNotFound, "file gone: it was rewritten after it was mapped", ""};
  for (const std::string& path : {std::string(), id.path}) {
    const auto held = held_.find({stamp, path});
    if (held == held_.end()) continue;
    if (ObjectRef object = held->second.object.lock()) {
      held->second.id = id;
      return object;
    }
  }
  return ReadFile(id, stamp);
}

Result<ObjectRef> ObjectClient::ReadFile(const ObjectId& id, const FileStamp& stamp) {
  if (!Fits(stamp.bytes))
    return Error{ErrorCode::kExhausted, "no room to read its symbols below profd's memory cap",
                 "raise memory.cap"};
  if (cache_) {
    for (const std::string& path : {std::string(), id.path})
      if (auto object = Known(id, {stamp, path})) return object;
  }
  counters_.files_read.Add();
  File index;
  if (stamp.bytes >= kMayNeedIndex)
    if (auto file = FileForIndex({stamp, id.path})) index = *std::move(file);
  auto reading = AskToRead(id, stamp, {}, std::move(index));
  if (!reading) return reading.error();
  Downloaded downloaded;
  if (reading->contents.lacks_debug_file && download_ && !reading->contents.info.build_id.empty())
    downloaded = AddDownloaded(id, stamp, *reading);
  auto symbols = AddIndex(id, stamp, downloaded, *reading);
  if (!symbols) return symbols.error();
  const ContentsKey key{stamp, reading->contents.alone ? "" : id.path};
  ObjectInfo& info = reading->contents.info;
  if (!info.symbols_missing.empty() && !info.debug_missing.empty())
    info.symbols_missing += " (tried " + info.debug_missing + ")";
  return Hold(id, key, std::move(reading->contents), *std::move(symbols));
}

ObjectRef ObjectClient::Known(const ObjectId& id, const ContentsKey& key) {
  auto kept = cache_->FindContents(key);
  if (!kept) return nullptr;
  std::optional<SymbolIndex> symbols;
  if (kept->index) {
    auto index = SymbolIndex::Open(std::move(kept->index), std::move(kept->contents.index));
    if (!index) return nullptr;
    symbols = *std::move(index);
  }
  return Hold(id, key, std::move(kept->contents), std::move(symbols));
}

ObjectRef ObjectClient::Hold(const ObjectId& id, const ContentsKey& key, ObjectContents contents,
                             std::optional<SymbolIndex> symbols) {
  ObjectRef object =
      std::make_shared<FileObject>(std::move(contents), std::move(symbols), *this, key);
  held_.insert_or_assign(key, Held{object, id});
  Sweep();
  return object;
}

Result<ObjectClient::Reading> ObjectClient::AskToRead(const ObjectId& id, const FileStamp& stamp,
                                                      const Downloaded& downloaded, File index,
                                                      bool repeated) {
  Packer fields = Begin(Verb::kRead, settings_, id);
  fields.Plain(stamp).Text(downloaded.path).Number(index != nullptr);
  std::vector<File> files;
  if (downloaded.file) files.push_back(downloaded.file);
  if (index) files.push_back(index);
  const auto answer = Ask(id, What::kSymbols, fields.Take(), std::move(files), repeated);
  auto contents = answer ? UnpackContents(*answer) : answer.error();
  if (!contents) return contents.error();
  return Reading{*std::move(contents), std::move(index)};
}

ObjectClient::Downloaded ObjectClient::AddDownloaded(const ObjectId& id, const FileStamp& stamp,
                                                     Reading& reading) {
  ObjectInfo& info = reading.contents.info;
  const DebugDownload::Answer file = download_->Ask(info.build_id, reader::UserOf(id.pid));
  if (file.path.empty()) {
    info.debug_missing += ", " + file.why;
    return {};
  }
  // profd's own cache, which readers cannot open.
  Downloaded downloaded{std::make_shared<const UniqueFd>(
                            ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)),
                        file.path};
  if (!downloaded.file->valid()) {
    info.debug_missing += ", " + ErrorFromErrno(errno, file.path).message;
    return {};
  }
  // Its index is another one: if there is no answer in time, the first one stays.
  auto made = MakeIndexFile();
  File index = made ? *std::move(made) : nullptr;
  // Without what was downloaded there are names, too: these do not wait for it.
  auto more = AskToRead(id, stamp, downloaded, std::move(index), /*repeated=*/false);
  if (!more) {
    info.debug_missing += ", " + more.error().message;
    return {};
  }
  reading = *std::move(more);
  return downloaded;
}

Result<ObjectClient::File> ObjectClient::MakeIndexFile() {
  auto made = MakeUnnamedFile();
  if (!made) return made.error();
  return std::make_shared<const UniqueFd>(*std::move(made));
}

Result<ObjectClient::File> ObjectClient::FileForIndex(const ContentsKey& key) {
  if (const File* const begun = indexing_.Find(key)) return *begun;
  auto made = MakeIndexFile();
  if (made) indexing_.Put(key, *made);
  return made;
}

Result<std::optional<SymbolIndex>> ObjectClient::AddIndex(const ObjectId& id,
                                                          const FileStamp& stamp,
                                                          const Downloaded& downloaded,
                                                          Reading& reading) {
  const auto without = [&](const Error& error) -> Result<std::optional<SymbolIndex>> {
    indexing_.Erase({stamp, id.path});
    reading.contents.info.symbols_missing = error.message;
    return std::optional<SymbolIndex>();
  };
  if (reading.contents.needs_index) {
    auto file = FileForIndex({stamp, id.path});
    if (!file) return without(file.error());
    auto more = AskToRead(id, stamp, downloaded, *std::move(file));
    if (!more && MayChange(more.error())) return more.error();
    if (!more) return without(more.error());
    reading = *std::move(more);
  }
  Keep(id, stamp, downloaded, reading);
  if (reading.contents.index.empty() || !reading.index) {
    indexing_.Erase({stamp, id.path});
    return std::optional<SymbolIndex>();
  }
  auto index = SymbolIndex::Open(std::move(reading.index), std::move(reading.contents.index));
  if (!index) return without(index.error());
  indexing_.Erase({stamp, id.path});
  return std::optional(*std::move(index));
}

void ObjectClient::Keep(const ObjectId& id, const FileStamp& stamp, const Downloaded& downloaded,
                        const Reading& reading) {
  // What a server has sent is not there for later requests about the file.
  if (!cache_ || downloaded.file) return;
  cache_->KeepContents({stamp, reading.contents.alone ? "" : id.path}, reading.contents,
                       reading.index.get());
}

std::vector<SourceFrame> ObjectClient::FindSource(const ContentsKey& key, std::uint64_t vaddr) {
  const auto held = held_.find(key);
  if (held == held_.end()) return {};
  if (cache_)
    if (auto known = cache_->FindSource(key, vaddr)) return *std::move(known);
  const ObjectId& id = held->second.id;
  const auto answer = Ask(
      id, What::kSource, Begin(Verb::kSource, settings_, id).Plain(key.stamp).Number(vaddr).Take());
  auto frames = answer ? UnpackFrames(*answer) : answer.error();
  if (cache_ && frames) cache_->KeepSource(key, vaddr, *frames);
  return frames ? *std::move(frames) : std::vector<SourceFrame>();
}

std::optional<std::vector<FunctionExtent>> ObjectClient::FindFunctions(const ContentsKey& key,
                                                                       std::uint64_t piece) {
  const auto held = held_.find(key);
  if (held == held_.end()) return std::nullopt;
  if (cache_)
    if (auto known = cache_->FindFunctions(key.stamp, piece)) return known;
  const ObjectId& id = held->second.id;
  const auto answer =
      Ask(id, What::kFunctions,
          Begin(Verb::kFunctions, settings_, id).Plain(key.stamp).Number(piece).Take());
  if (!answer && MayChange(answer.error())) return std::nullopt;
  auto functions = answer ? UnpackFunctions(*answer) : answer.error();
  if (cache_ && functions) cache_->KeepFunctions(key.stamp, piece, *functions);
  return functions ? *std::move(functions) : std::vector<FunctionExtent>();
}

Result<ObjectRef> ObjectClient::LoadVdso(const ObjectId& id) {
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

bool ObjectClient::Fits(std::uint64_t file_bytes) const {
  // Most of a file is neither symbols nor their names. For libtensorflow_cc, 788 MB with 1.24
  // million symbols, a reader takes 60 MiB.
  const std::uint64_t most = 2 * settings_.elf.string_bytes;
  return memory_ == nullptr || memory_->TakeRoom(std::min(file_bytes / 2, most));
}

void ObjectClient::Sweep() {
  if (held_.size() < sweep_at_) return;
  std::erase_if(held_, [](const auto& one) { return one.second.object.expired(); });
  sweep_at_ = 2 * held_.size() + 64;
}

Result<std::string> ObjectClient::Ask(const ObjectId& id, What what, std::string body,
                                      std::vector<File> files, bool repeated) {
  const std::uint64_t device = std::uint64_t{id.device_major} << 32 | id.device_minor;
  reader::ReaderRequest request{
      .body = std::move(body),
      .name = id.path,
      .target = MixBits(id.inode ^ MixBits(device ^ MixBits(static_cast<std::uint64_t>(what)))),
      .user = reader::UserOf(id.pid),
      .descriptors = {}};
  const std::uint64_t key = MixBits(request.target ^ std::hash<std::string>()(request.body));
  if (const auto known = pending_.find(key); known != pending_.end()) {
    if (!known->second.answer) return known->second.why;
    auto answer = *std::move(known->second.answer);
    pending_.erase(known);
    return answer;
  }
  for (const File& file : files) request.descriptors.push_back(file->get());
  auto answer = readers_.Ask(request, kPatience);
  if (!answer && MayChange(answer.error()) && repeated && pending_.size() < kMaxPending)
    pending_.emplace(key, Pending{std::move(request), std::move(files), answer.error()});
  return answer;
}

std::uint64_t ObjectClient::improvements() const {
  if (!pending_.empty()) Poll();
  return answered_ + (download_ ? download_->improvements() : 0);
}

void ObjectClient::Poll() const {
  const Time now = std::chrono::steady_clock::now();
  if (now - polled_ < kPollEvery) return;
  polled_ = now;
  for (auto& [key, pending] : pending_) {
    if (pending.answer) continue;
    auto answer = readers_.Ask(pending.request, std::chrono::milliseconds(0));
    if (!answer && MayChange(answer.error())) {
      // Names that are remembered say why there is none.
      if (!pending.in_trouble && answer.error().message != pending.why.message) {
        pending.in_trouble = true;
        ++answered_;
      }
      pending.why = answer.error();
      continue;
    }
    pending.answer = std::move(answer);
    ++answered_;
  }
}

}  // namespace profd::elf
