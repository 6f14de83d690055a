#include "daemon/unwind/service/cfi_remote.h"

#include <linux/fs.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "daemon/base/clock.h"
#include "daemon/base/keys.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/elf/sources/object_cache.h"
#include "daemon/elf/sources/object_contents.h"
#include "daemon/elf/symbols/elf_reader.h"
#include "daemon/reader/message.h"
#include "daemon/unwind/cfi/cfi_reader.h"
#include "daemon/unwind/cfi/registered_rows.h"
#include "daemon/unwind/code/memory_rows.h"
#include "daemon/unwind/tables/chunk_builder.h"

namespace profd::unwind {
namespace {

using reader::Packer;
using reader::Unpacker;

enum class Verb : std::uint8_t { kOpen, kChunks, kSymbols, kMapped, kStamp, kMemory, kMemoryHash };

constexpr unsigned kMinorBits = 20;  // of the kernel's own device numbers
constexpr std::size_t kMaxRanges = 4'096;
constexpr std::size_t kMaxMaps = 16u << 20;
constexpr std::size_t kMaxMapped = 16'384;  // files of one process

profd_file_key KeyOf(const reader::OpenedFile& file) {
  profd_file_key key{};
  key.inode = file.inode;
  key.size = file.bytes;
  key.mtime_ns = static_cast<std::uint64_t>(file.modified_ns);
  key.device = major(file.device) << kMinorBits | minor(file.device);
  int generation = 0;  // the kernel writes an int, whatever the request's number says
  if (::ioctl(file.fd.get(), FS_IOC_GETVERSION, &generation) == 0)
    key.generation = static_cast<__u32>(generation);
  return key;
}

Result<std::string> PackMapped(std::uint32_t pid, reader::FileOpener& opener) {
  const auto maps = reader::ReadProcessFile(opener, pid, "maps", kMaxMaps);
  if (!maps) return maps.error();
  std::vector<MappedFile> files;
  ParseMaps(*maps, [&](MapsLine&& line) {
    if (line.executable && line.inode != 0 && files.size() < kMaxMapped)
      files.push_back(
          {{pid, line.start, line.end}, line.device_major, line.device_minor, line.inode});
  });
  Packer answer;
  answer.Number(static_cast<std::uint32_t>(files.size()));
  for (const MappedFile& file : files) answer.Plain(file);
  return answer.Take();
}

std::string PackFile(const FrameFile& file) {
  Packer fields;
  fields.Plain(file.stamp)
      .Number(file.opened_ns)
      .Plain(file.key)
      .Number(file.overlay)
      .Text(file.missing)
      .Text(file.build_id)
      .Number(file.small);
  fields.Number(file.cpython).Number(static_cast<std::uint32_t>(file.text.size()));
  for (const TextRange& range : file.text) fields.Plain(range);
  return fields.Take();
}

Error Nonsense() {
  return Error{ErrorCode::kCorrupt, "the answer about a file's unwind tables makes no sense", ""};
}

Result<FrameFile> UnpackFile(std::string_view bytes, const FileMapping& mapping) {
  Unpacker fields(bytes);
  FrameFile file;
  file.mapping = mapping;
  file.stamp = fields.Plain<elf::FileStamp>();
  file.opened_ns = fields.Number<std::uint64_t>();
  file.key = fields.Plain<profd_file_key>();
  file.overlay = fields.Number<bool>();
  file.missing = fields.Text();
  file.build_id = fields.Text();
  file.small = fields.Number<bool>();
  file.cpython = fields.Number<bool>();
  const std::uint32_t count = std::min<std::uint32_t>(fields.Count(sizeof(TextRange)), kMaxRanges);
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto range = fields.Plain<TextRange>();
    if (range.begin < end || range.end <= range.begin || range.end > ElfText::kMaxTextOffset)
      return Nonsense();
    end = range.end;
    file.text.push_back(range);
  }
  if (!fields.done() || (file.has_tables() && file.text.empty())) return Nonsense();
  return file;
}

void PackPart(const PartRows& part, Packer& answer) {
  answer.Number(part.code_bytes)
      .Number(part.bare_bytes)
      .Number(part.deferred)
      .Plain(part.refused)
      .Number(static_cast<std::uint32_t>(part.rows.size()));
  for (const Row& row : part.rows) answer.Plain(row);
}

// None: they make no sense.
std::optional<PartRows> UnpackPart(Unpacker& fields, std::uint64_t begin) {
  PartRows part;
  part.code_bytes = std::min(fields.Number<std::uint64_t>(), kChunkBytes);
  part.bare_bytes = std::min(fields.Number<std::uint64_t>(), kChunkBytes);
  part.deferred = fields.Number<bool>();
  part.refused = fields.Plain<RefusedFunctions>();
  const std::uint32_t count = fields.Count(sizeof(Row));
  part.rows.reserve(count);
  std::uint64_t least = begin;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Row row = fields.Plain<Row>();
    if (row.offset < least || row.offset >= begin + kChunkBytes) return std::nullopt;
    least = row.offset + 1;
    part.rows.push_back(row);
  }
  return part;
}

void PackRows(CfiReader& reader, std::uint64_t begin, bool requested, Packer& answer) {
  const std::uint64_t damaged = reader.damaged();
  PartRows part = reader.ReadRows(begin, begin + kChunkBytes, requested);
  if (const auto entry = reader.entry()) EndAtEntry(*entry, begin + kChunkBytes, part.rows);
  answer.Number(reader.damaged() - damaged);
  PackPart(part, answer);
}

// The end of the chunk that begins so many bytes behind the mapping's begin. kNotFound: it does
// not.
Result<CodeRange> MemoryPart(const FileMapping& mapping, std::uint64_t begin) {
  const std::uint64_t length = mapping.end - mapping.begin;
  if (mapping.end <= mapping.begin || begin >= length)
    return Error{ErrorCode::kNotFound, "beyond the mapping", ""};
  const std::uint64_t bytes = std::min(kChunkBytes, length - begin);
  return CodeRange{mapping.begin + begin, mapping.begin + begin + bytes};
}

Result<std::string> ReadMemoryOf(const UniqueFd& memory, std::uint64_t address,
                                 std::uint64_t bytes) {
  std::string read(bytes, '\0');
  const ssize_t count =
      ::pread(memory.get(), read.data(), read.size(), static_cast<off_t>(address));
  if (count <= 0) return Error{ErrorCode::kNotFound, "the process or its mapping is gone", ""};
  read.resize(static_cast<std::size_t>(count));
  return read;
}

// Changes with what is registered for code of this part.
std::uint64_t StampOf(const elf::RegisteredList& list, const CodeRange& part) {
  std::uint64_t stamp = 0;
  std::size_t from = 0;
  while (const auto* object = list.FindIn(part.begin, part.end, from))
    stamp = MixBits(stamp ^ object->place.stamp);
  return stamp;
}

std::uint64_t BytesWithRule(std::span<const FunctionRows::Piece> pieces) {
  std::uint64_t bytes = 0;
  for (const auto& [range, rule] : pieces)
    if (rule.cfa != PROFD_CFA_NONE) bytes += range.end - range.begin;
  return bytes;
}

Result<reader::OpenedFile> OpenMapped(const FileMapping& mapping, reader::FileOpener& opener) {
  return opener.Open({.what = reader::OpenRequest::What::kMapped,
                      .pid = mapping.pid,
                      .begin = mapping.begin,
                      .end = mapping.end});
}

// Of the contents that have this stamp.
Result<std::string> ReadOwnSymbols(const FileMapping& mapping, const elf::FileStamp& stamp,
                                   reader::FileOpener& opener) {
  auto opened = OpenMapped(mapping, opener);
  if (!opened) return opened.error();
  auto read = elf::ReadElfContents(elf::FileBytes(opened->fd.get(), opened->bytes));
  if (!read) return read.error();
  elf::ObjectContents contents;
  contents.symbols = elf::MakeSymbols(*read);
  contents.info = std::move(read->info);
  const auto after = elf::FoundIn(std::move(opened->fd));
  if (!after || after->stamp != stamp)
    return Error{ErrorCode::kNotFound, "another file is mapped there now", ""};
  return elf::PackContents(contents);
}

// By which a pool knows the file again: the process's own view of it, since nothing else is known
// before it is open.
std::uint64_t TargetOf(const FileMapping& mapping) {
  return MixBits(mapping.begin ^ MixBits(mapping.end ^ MixBits(mapping.pid)));
}

std::string NameOf(const FileMapping& mapping) {
  return mapping.pid == 0 ? "vdso" : "a file mapped by process " + std::to_string(mapping.pid);
}

reader::ReaderRequest RequestFor(const FileMapping& mapping, std::string body) {
  return {.body = std::move(body),
          .name = NameOf(mapping),
          .target = TargetOf(mapping),
          .user = reader::UserOf(mapping.pid),
          .descriptors = {}};
}

}  // namespace

bool Fits(const FrameFile& file, const profd_file_key& key) {
  return (file.overlay || file.stamp.inode == key.inode) && file.stamp.bytes == key.size &&
         static_cast<std::uint64_t>(file.stamp.modified_ns) == key.mtime_ns;
}

bool IsMemory(const profd_file_key& key) { return key.device == PROFD_MEMORY_DEVICE; }

Result<FrameFile> MemoryFile(const FileMapping& mapping, const profd_file_key& key) {
  if (key.inode != mapping.begin || key.size != mapping.end - mapping.begin || key.size == 0 ||
      key.size > ElfText::kMaxTextOffset)
    return Error{ErrorCode::kNotFound, "not the mapping that was requested", ""};
  FrameFile file;
  file.mapping = mapping;
  file.key = key;
  file.memory = true;
  file.text = {{0, key.size, mapping.begin}};
  return file;
}

std::uint64_t CfiParser::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& one : open_) bytes += one->reader ? one->reader->bytes() : 0;
  return bytes;
}

void CfiParser::KeepBounds() {
  if (open_.size() < 2 || (open_.size() <= kMaxOpen && bytes() <= kMaxOpenBytes)) return;
  while (open_.size() > 1 && (open_.size() > kMaxOpen || bytes() > kMaxOpenBytes))
    open_.erase(open_.begin());
  ::malloc_trim(0);  // what libdw has kept are small pieces
}

Result<std::string> CfiParser::Answer(std::string_view request, reader::ParserContext context) {
  auto answer = AnswerFor(request, context.opener);
  KeepBounds();
  return answer;
}

Result<std::string> CfiParser::AnswerFor(std::string_view request, reader::FileOpener& opener) {
  Unpacker fields(request);
  const auto verb = fields.Number<Verb>();
  FrameFile wanted;
  wanted.mapping = fields.Plain<FileMapping>();
  if (verb == Verb::kOpen) {
    const auto open = Open(wanted.mapping, opener);
    return open ? Result<std::string>(PackFile((*open)->file)) : open.error();
  }
  if (verb == Verb::kMapped) return PackMapped(wanted.mapping.pid, opener);
  if (verb == Verb::kStamp) {
    const auto opened = OpenMapped(wanted.mapping, opener);
    return opened ? Result<std::string>(Packer().Plain(elf::StampOf(*opened)).Take())
                  : opened.error();
  }
  if (verb == Verb::kMemory || verb == Verb::kMemoryHash)
    return AnswerMemory(wanted.mapping, fields.Number<std::uint64_t>(), verb == Verb::kMemory,
                        opener);
  wanted.stamp = fields.Plain<elf::FileStamp>();
  if (verb == Verb::kSymbols) return ReadOwnSymbols(wanted.mapping, wanted.stamp, opener);
  const auto open = Find(wanted, opener);
  if (!open) return open.error();
  Packer answer;
  const auto requested = fields.Number<bool>();
  for (std::uint32_t left = fields.Count(sizeof(std::uint64_t)); left > 0; --left)
    PackRows(*(*open)->reader, fields.Number<std::uint64_t>(), requested, answer);
  return answer.Take();
}

Result<std::string> CfiParser::AnswerMemory(const FileMapping& mapping, std::uint64_t begin,
                                            bool with_rows, reader::FileOpener& opener) {
  const auto part = MemoryPart(mapping, begin);
  if (!part) return part.error();
  auto opened = opener.Open({.what = reader::OpenRequest::What::kMemory, .pid = mapping.pid});
  if (!opened) return opened.error();
  const auto bytes = ReadMemoryOf(opened->fd, part->begin, part->end - part->begin);
  if (!bytes) return bytes.error();
  // Without what the process has registered there are the rules that its code shows.
  const auto list = registered_.Read(opener, mapping.pid);
  const elf::RegisteredList none;
  const elf::RegisteredList& registered = list ? **list : none;
  Packer answer;
  answer.Number(XXH3_64bits(bytes->data(), bytes->size()) ^ StampOf(registered, *part));
  if (with_rows) {
    const auto read = [&](std::uint64_t address, std::uint64_t count) {
      // Tables of jumps may lie in its other mappings: what is there is only compared.
      return ReadMemoryOf(opened->fd, address, count);
    };
    const auto known = FindRegistered(registered, opened->fd.get(), *part);
    answer.Number(BytesWithRule(known));
    PackPart(MemoryRows(*part, {mapping.begin, mapping.end}, read, known), answer);
  }
  return answer.Take();
}

Result<CfiParser::OpenFile*> CfiParser::Find(const FrameFile& wanted, reader::FileOpener& opener) {
  if (OpenFile* known = Known(wanted.stamp); known != nullptr && known->reader) return known;
  // Another reader had it open, or it is long ago.
  auto open = Open(wanted.mapping, opener);
  if (!open) return open;
  if ((*open)->file.stamp != wanted.stamp || !(*open)->reader)
    return Error{ErrorCode::kNotFound, "another file is mapped there now", ""};
  return open;
}

CfiParser::OpenFile* CfiParser::Known(const elf::FileStamp& stamp) {
  const auto known =
      std::ranges::find_if(open_, [&](const auto& one) { return one->file.stamp == stamp; });
  if (known == open_.end()) return nullptr;
  std::rotate(known, std::next(known), open_.end());
  return open_.back().get();
}

Result<CfiParser::OpenFile*> CfiParser::Open(const FileMapping& mapping,
                                             reader::FileOpener& opener) {
  auto made = std::make_unique<OpenFile>();
  FrameFile& file = made->file;
  file.mapping = mapping;
  Result<CfiReader> reader = Error{};
  if (mapping.pid == 0) {
    file.key.inode = PROFD_VDSO_INODE;
    reader = vdso_ ? CfiReader::FromMemory(*vdso_) : vdso_.error();
  } else {
    file.opened_ns = SystemClock().MonotonicNs();
    auto opened = OpenMapped(mapping, opener);
    if (!opened) return opened.error();
    file.stamp = elf::StampOf(*opened);
    file.overlay = opened->overlay;
    file.key = KeyOf(*opened);
    // Each process that maps a file has it opened; its index can be large.
    if (OpenFile* known = Known(file.stamp); known != nullptr) {
      known->file.mapping = file.mapping;
      known->file.opened_ns = file.opened_ns;
      known->file.overlay = file.overlay;
      return known;
    }
    reader = CfiReader::Open(std::move(opened->fd), opened->bytes);
  }
  if (reader) {
    file.text = reader->text();
    file.build_id = reader->build_id();
    file.small = reader->small();
    file.cpython = reader->cpython();
    made->reader = *std::move(reader);
  } else {
    file.missing = reader.error().message;
  }
  open_.push_back(std::move(made));
  return open_.back().get();
}

Result<std::vector<MappedFile>> CfiClient::FindMapped(std::uint32_t pid,
                                                      std::chrono::milliseconds patience) {
  const FileMapping process{pid, 0, 0};
  const auto answer = readers_.Ask(
      RequestFor(process, Packer().Number(Verb::kMapped).Plain(process).Take()), patience);
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  std::vector<MappedFile> files(fields.Count(sizeof(MappedFile)));
  if (files.size() > kMaxMapped) return Nonsense();
  for (MappedFile& file : files) {
    file = fields.Plain<MappedFile>();
    file.mapping.pid = pid;  // whatever the parser says
  }
  if (!fields.done()) return Nonsense();
  return files;
}

Result<FrameFile> CfiClient::Open(const FileMapping& mapping, std::chrono::milliseconds patience) {
  const auto answer = readers_.Ask(
      RequestFor(mapping, Packer().Number(Verb::kOpen).Plain(mapping).Take()), patience);
  return answer ? UnpackFile(*answer, mapping) : answer.error();
}

Result<elf::FileStamp> CfiClient::Stamp(const FileMapping& mapping,
                                        std::chrono::milliseconds patience) {
  const auto answer = readers_.Ask(
      RequestFor(mapping, Packer().Number(Verb::kStamp).Plain(mapping).Take()), patience);
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  const auto stamp = fields.Plain<elf::FileStamp>();
  return fields.done() ? Result<elf::FileStamp>(stamp) : Nonsense();
}

namespace {

reader::AnswerKey KeyOfChunk(const elf::FileStamp& stamp, std::uint64_t begin, bool requested) {
  return elf::AnswerKeyFor("rows and reasons", stamp,
                           Packer().Number(begin).Number(requested).Take());
}

}  // namespace

std::optional<FrameRows> CfiClient::FindChunk(const FrameFile& file, std::uint64_t begin,
                                              bool requested) {
  const auto answer = cache_->Find(KeyOfChunk(file.stamp, begin, requested));
  if (!answer) return std::nullopt;
  Unpacker fields(*answer);
  const auto damaged = fields.Number<std::uint64_t>();
  auto part = UnpackPart(fields, begin);
  if (!part || !fields.done()) return std::nullopt;
  return FrameRows{*std::move(part), damaged};
}

void CfiClient::KeepChunk(const FrameFile& file, std::uint64_t begin, bool requested,
                          const FrameRows& rows) {
  Packer fields;
  fields.Number(rows.damaged);
  PackPart(rows.part, fields);
  cache_->Put(KeyOfChunk(file.stamp, begin, requested), fields.Take());
}

Result<std::vector<FrameRows>> CfiClient::ReadChunks(const FrameFile& file,
                                                     std::span<const std::uint64_t> begins,
                                                     bool requested,
                                                     std::chrono::milliseconds patience) {
  // The vdso is no file, and is there at once.
  if (cache_ == nullptr || file.mapping.pid == 0)
    return RequestChunks(file, begins, requested, patience);
  std::vector<std::optional<FrameRows>> known;
  std::vector<std::uint64_t> missing;
  for (const std::uint64_t begin : begins) {
    known.push_back(FindChunk(file, begin, requested));
    if (!known.back()) missing.push_back(begin);
  }
  if (!missing.empty()) {
    auto read = RequestChunks(file, missing, requested, patience);
    if (!read) return read.error();
    auto next = read->begin();
    for (std::size_t i = 0; i < begins.size(); ++i) {
      if (known[i]) continue;
      KeepChunk(file, begins[i], requested, *next);
      known[i] = std::move(*next++);
    }
  }
  std::vector<FrameRows> chunks;
  chunks.reserve(known.size());
  for (auto& chunk : known) chunks.push_back(*std::move(chunk));
  return chunks;
}

Result<std::vector<FrameRows>> CfiClient::RequestChunks(const FrameFile& file,
                                                        std::span<const std::uint64_t> begins,
                                                        bool requested,
                                                        std::chrono::milliseconds patience) {
  Packer request;
  request.Number(Verb::kChunks).Plain(file.mapping).Plain(file.stamp).Number(requested);
  request.Number(static_cast<std::uint32_t>(begins.size()));
  for (const std::uint64_t begin : begins) request.Number(begin);
  const auto answer = readers_.Ask(RequestFor(file.mapping, request.Take()), patience);
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  std::vector<FrameRows> chunks;
  for (const std::uint64_t begin : begins) {
    const auto damaged = fields.Number<std::uint64_t>();
    auto part = UnpackPart(fields, begin);
    if (!part) return Nonsense();
    chunks.push_back({*std::move(part), damaged});
  }
  if (!fields.done()) return Nonsense();
  return chunks;
}

Result<MemoryChunk> CfiClient::ReadMemory(const FileMapping& mapping, std::uint64_t begin,
                                          std::chrono::milliseconds patience) {
  const auto answer = readers_.Ask(
      RequestFor(mapping, Packer().Number(Verb::kMemory).Plain(mapping).Number(begin).Take()),
      patience);
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  MemoryChunk chunk;
  chunk.hash = fields.Number<std::uint64_t>();
  chunk.registered_bytes = std::min(fields.Number<std::uint64_t>(), kChunkBytes);
  auto part = UnpackPart(fields, begin);
  if (!part || !fields.done()) return Nonsense();
  chunk.part = *std::move(part);
  return chunk;
}

Result<std::uint64_t> CfiClient::HashMemory(const FileMapping& mapping, std::uint64_t begin,
                                            std::chrono::milliseconds patience) {
  const auto answer = readers_.Ask(
      RequestFor(mapping, Packer().Number(Verb::kMemoryHash).Plain(mapping).Number(begin).Take()),
      patience);
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  const auto hash = fields.Number<std::uint64_t>();
  return fields.done() ? Result<std::uint64_t>(hash) : Nonsense();
}

Result<std::string> CfiClient::ReadSymbols(const FrameFile& file,
                                           std::chrono::milliseconds patience) {
  return readers_.Ask(
      RequestFor(file.mapping,
                 Packer().Number(Verb::kSymbols).Plain(file.mapping).Plain(file.stamp).Take()),
      patience);
}

}  // namespace profd::unwind
