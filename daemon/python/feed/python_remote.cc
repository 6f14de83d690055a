#include "daemon/python/feed/python_remote.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/base/proc/maps_parser.h"
#include "daemon/python/code/process_memory.h"
#include "daemon/source/probe/capabilities.h"

namespace profd::python {
namespace {

using reader::Packer;
using reader::Unpacker;

enum class Verb : std::uint8_t { kFind, kAttach, kTouch, kCode };

constexpr std::size_t kMaxMapsBytes = 64u << 20;
constexpr std::size_t kMaxSegments = 16;        // executable ones of a file
constexpr std::size_t kEnoughBytes = 4u << 20;  // of code objects in one answer
constexpr std::uint64_t kMaxAddress = 1ull << 47;
constexpr std::size_t kLeastCode = sizeof(std::uint32_t) + sizeof(bool);

Error Nonsense() {
  return Error{ErrorCode::kCorrupt, "the answer about a Python process makes no sense", ""};
}

void PackMapping(const ModuleMapping& mapping, Packer& fields) {
  fields.Number(mapping.begin).Number(mapping.end).Number(mapping.file_offset);
}

ModuleMapping UnpackMapping(Unpacker& fields) {
  ModuleMapping mapping;
  mapping.begin = fields.Number<std::uint64_t>();
  mapping.end = fields.Number<std::uint64_t>();
  mapping.file_offset = fields.Number<std::uint64_t>();
  return mapping;
}

void PackFile(const RuntimeFile& file, Packer& fields) {
  fields.Number(file.runtime).Number(file.eval_begin).Number(file.eval_end).Number(file.version);
  fields.Text(file.refused);
  const std::size_t count = std::min(file.segments.size(), kMaxSegments);
  fields.Number(static_cast<std::uint32_t>(count));
  for (const auto& segment : std::span(file.segments).first(count))
    fields.Number(segment.file_offset).Number(segment.vaddr).Number(segment.bytes);
}

bool TakeMessage(Unpacker& fields, std::string* message) {
  *message = fields.Text();
  return reader::IsShowable(*message);
}

std::optional<RuntimeFile> UnpackFile(Unpacker& fields) {
  RuntimeFile file;
  file.runtime = fields.Number<std::uint64_t>();
  file.eval_begin = fields.Number<std::uint64_t>();
  file.eval_end = fields.Number<std::uint64_t>();
  file.version = fields.Number<std::uint32_t>();
  const bool readable = TakeMessage(fields, &file.refused);
  const std::uint32_t count = fields.Count(3 * sizeof(std::uint64_t));
  if (!readable || count > kMaxSegments || file.eval_end < file.eval_begin) return std::nullopt;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto& segment = file.segments.emplace_back();
    segment.file_offset = fields.Number<std::uint64_t>();
    segment.vaddr = fields.Number<std::uint64_t>();
    segment.bytes = fields.Number<std::uint64_t>();
  }
  return fields.ok() ? std::optional(std::move(file)) : std::nullopt;
}

void PackVersion(const RuntimeVersion& version, Packer& fields) {
  fields.Number(version.number).Number(static_cast<std::uint32_t>(version.offsets.size()));
  for (const std::uint64_t word : version.offsets) fields.Number(word);
}

std::optional<RuntimeVersion> UnpackVersion(Unpacker& fields) {
  RuntimeVersion version;
  version.number = fields.Number<std::uint32_t>();
  const std::uint32_t count = fields.Count(sizeof(std::uint64_t));
  if (count != 0 && count != kDebugOffsetWords) return std::nullopt;
  for (std::uint32_t i = 0; i < count; ++i)
    version.offsets.push_back(fields.Number<std::uint64_t>());
  return fields.ok() ? std::optional(std::move(version)) : std::nullopt;
}

std::string PackState(const Result<RuntimeState>& state) {
  Packer answer;
  answer.Number(state.ok());
  if (!state) return answer.Number(state.error().code).Text(state.error().message).Take();
  PackVersion(state->version, answer);
  answer.Number(state->slot.offset).Number(state->slot.inner).Number(state->slot.certain);
  return answer.Number(state->gil).Take();
}

Result<RuntimeState> UnpackState(std::string_view bytes) {
  Unpacker fields(bytes);
  if (!fields.Number<bool>()) {
    Error error;
    error.code = fields.Number<ErrorCode>();
    const bool readable = TakeMessage(fields, &error.message);
    const bool known = error.code == ErrorCode::kUnavailable ||
                       error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kNotFound;
    return readable && known && fields.done() ? error : Nonsense();
  }
  RuntimeState state;
  auto version = UnpackVersion(fields);
  state.slot.offset = fields.Number<std::int64_t>();
  state.slot.inner = fields.Number<std::uint32_t>();
  state.slot.certain = fields.Number<bool>();
  state.gil = fields.Number<std::uint64_t>();
  if (!version || !fields.done() || state.gil >= kMaxAddress) return Nonsense();
  state.version = *std::move(version);
  return state;
}

// Whether it could be opened: the process may be gone, or a right be missing.
Result<UniqueFd> Open(reader::FileOpener& opener, std::uint32_t pid) {
  auto opened = opener.Open({.what = reader::OpenRequest::What::kMemory, .pid = pid});
  if (!opened) return opened.error();
  return std::move(opened->fd);
}

Result<RuntimeState> ReadState(std::uint32_t pid, Unpacker& fields, reader::FileOpener& opener) {
  const ModuleMapping mapping = UnpackMapping(fields);
  const auto file = UnpackFile(fields);
  if (!file) return Error{ErrorCode::kInvalidArgument, "no interpreter is named", ""};
  if (!file->refused.empty()) return Error{ErrorCode::kUnsupported, file->refused, ""};
  const auto memory = Open(opener, pid);
  if (!memory && memory.error().code == ErrorCode::kNotFound)
    return Error{ErrorCode::kNotFound, "the process has ended", ""};
  if (!memory) return Error{ErrorCode::kUnavailable, std::string(kUnreadable), ""};
  return ReadRuntime(ProcessMemory(memory->get()), *file, mapping);
}

void Touch(std::uint32_t pid, Unpacker& fields, reader::FileOpener& opener) {
  const auto version = UnpackVersion(fields);
  const auto runtime = fields.Number<std::uint64_t>();
  const auto layout = version ? LayoutOf(*version) : Result<Layout>(Nonsense());
  const auto memory = Open(opener, pid);
  if (layout && memory) TouchFrames(ProcessMemory(memory->get()), *layout, runtime);
}

void PackCode(const CodeQuery& query, CodeReader* reader, Packer& answer) {
  std::uint32_t validator = query.validator;
  if (reader != nullptr && validator == 0) validator = reader->Validate(query.address).value_or(0);
  const auto text = reader != nullptr && validator != 0 ? reader->Read(query.address, validator)
                                                        : Result<CodeText>(Nonsense());
  answer.Number(validator).Number(text.ok());
  if (!text) return;
  answer.Number(text->first_line).Text(text->name).Text(text->qualname).Text(text->file);
  answer.Text(text->lines);
}

bool UnpackCode(Unpacker& fields, CodeAnswer& answer) {
  answer.validator = fields.Number<std::uint32_t>();
  if (!fields.Number<bool>()) return fields.ok();
  CodeText& text = answer.text.emplace();
  text.first_line = fields.Number<std::int32_t>();
  text.name = fields.Text();
  text.qualname = fields.Text();
  text.file = fields.Text();
  text.lines = fields.Text();
  return fields.ok() && text.name.size() <= CodeReader::kMaxNameBytes &&
         text.qualname.size() <= CodeReader::kMaxNameBytes &&
         text.file.size() <= CodeReader::kMaxFileBytes &&
         text.lines.size() <= CodeReader::kMaxLinesBytes;
}

reader::ReaderRequest RequestFor(ProcessKey process, std::string body, const char* what,
                                 Verb verb) {
  return {.body = std::move(body),
          .name = std::string(what) + std::to_string(process.pid),
          .target = MixBits(process.start_ns ^ MixBits(process.pid)) ^
                    MixBits(static_cast<std::uint64_t>(verb)),
          .user = reader::UserOf(process.pid),
          .descriptors = {}};
}

Packer Begin(Verb verb, ProcessKey process, std::uint32_t number) {
  return Packer().Number(verb).Number(process.pid).Number(number);
}

// The reader cannot know which rights profd has.
Error WithMissingRight(Error error) {
  if (error.message == kUnreadable) error.message += source::NameMissing({"CAP_SYS_PTRACE"});
  return error;
}

}  // namespace

Result<std::string> PythonParser::Answer(std::string_view request, reader::ParserContext context) {
  Unpacker fields(request);
  const auto verb = fields.Number<Verb>();
  const auto pid = fields.Number<std::uint32_t>();
  const auto number = fields.Number<std::uint32_t>();  // for most only so that requests differ
  switch (verb) {
    case Verb::kFind:
      return Find(pid, fields, context.opener);
    case Verb::kAttach:
      return PackState(ReadState(pid, fields, context.opener));
    case Verb::kTouch:
      Touch(pid, fields, context.opener);
      return std::string();
    case Verb::kCode:
      return ReadCodes(pid, number, fields, context.opener);
  }
  return Error{ErrorCode::kInvalidArgument, "no such request", ""};
}

std::string PythonParser::Find(std::uint32_t pid, Unpacker& fields, reader::FileOpener& opener) {
  std::vector<ModuleMapping> named(fields.Count(3 * sizeof(std::uint64_t)));
  for (ModuleMapping& mapping : named) mapping = UnpackMapping(fields);
  const auto is_wanted = [&](const MapsLine& line) {
    return named.empty() || std::ranges::any_of(named, [&](const ModuleMapping& mapping) {
             return mapping.begin == line.start && mapping.end == line.end;
           });
  };
  Packer found;
  std::uint32_t count = 0;
  const auto maps = reader::ReadProcessFile(opener, pid, "maps", kMaxMapsBytes);
  ParseMaps(maps ? *maps : "", [&](MapsLine&& line) {
    if (!line.executable || line.inode == 0 || count >= PythonClient::kMaxCandidates ||
        !is_wanted(line))
      return;
    const auto file = files_.Find(opener, pid, line);
    if (!file || *file == nullptr) return;
    ++count;
    PackMapping({line.start, line.end, line.file_offset}, found);
    PackFile(**file, found);
  });
  return Packer().Number(count).Take() + found.Take();
}

std::string PythonParser::ReadCodes(std::uint32_t pid, std::uint32_t number, Unpacker& fields,
                                    reader::FileOpener& opener) {
  const int memory = MemoryOf(pid, number, opener);
  std::vector<std::optional<CodeReader>> readers(
      std::min<std::uint32_t>(fields.Number<std::uint32_t>(), PROFD_MAX_PYTHON_RUNTIMES));
  for (auto& reader : readers) {
    const auto version = UnpackVersion(fields);
    const auto layout = version ? LayoutOf(*version) : Result<Layout>(Nonsense());
    if (memory >= 0 && layout) reader.emplace(ProcessMemory(memory), *layout);
  }
  Packer codes;
  std::uint32_t answered = 0;
  const std::uint32_t count = fields.Count(2 * sizeof(std::uint64_t));
  for (; answered < count && codes.size() < kEnoughBytes; ++answered) {
    CodeQuery query;
    query.address = fields.Number<std::uint64_t>();
    query.validator = fields.Number<std::uint32_t>();
    query.runtime = fields.Number<std::uint32_t>();
    const bool known = query.runtime < readers.size() && readers[query.runtime];
    PackCode(query, known ? &*readers[query.runtime] : nullptr, codes);
  }
  return Packer().Number(answered).Take() + codes.Take();
}

int PythonParser::MemoryOf(std::uint32_t pid, std::uint32_t number, reader::FileOpener& opener) {
  const auto known = std::ranges::find_if(
      open_, [&](const OpenMemory& one) { return one.pid == pid && one.number == number; });
  if (known != open_.end()) {
    std::rotate(known, std::next(known), open_.end());
    return open_.back().fd.get();
  }
  auto opened = Open(opener, pid);
  if (!opened) return -1;
  if (open_.size() == kMaxOpen) open_.erase(open_.begin());
  open_.push_back({pid, number, *std::move(opened)});
  return open_.back().fd.get();
}

Result<std::vector<Candidate>> PythonClient::Find(ProcessKey process, std::uint32_t number,
                                                  std::span<const ModuleMapping> mappings,
                                                  std::chrono::milliseconds patience) {
  Packer body = Begin(Verb::kFind, process, number);
  body.Number(static_cast<std::uint32_t>(mappings.size()));
  for (const ModuleMapping& mapping : mappings) PackMapping(mapping, body);
  const auto answer = readers_.Ask(
      RequestFor(process, body.Take(), "files that are mapped by process ", Verb::kFind), patience);
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  std::vector<Candidate> found(
      std::min<std::size_t>(fields.Number<std::uint32_t>(), kMaxCandidates + 1));
  if (found.size() > kMaxCandidates) return Nonsense();
  for (Candidate& candidate : found) {
    candidate.mapping = UnpackMapping(fields);
    auto file = UnpackFile(fields);
    if (!file || candidate.mapping.end <= candidate.mapping.begin ||
        candidate.mapping.end > kMaxAddress)
      return Nonsense();
    candidate.file = std::make_shared<const RuntimeFile>(*std::move(file));
  }
  if (!fields.done()) return Nonsense();
  return found;
}

Result<std::string> PythonClient::AskForMemory(ProcessKey process, std::string body,
                                               std::chrono::milliseconds patience) {
  return readers_.Ask(RequestFor(process, std::move(body), "Python code of process ", Verb::kCode),
                      patience);
}

Result<Attachment> PythonClient::Attach(ProcessKey process, std::uint32_t number,
                                        const Candidate& candidate,
                                        std::chrono::milliseconds patience) {
  Packer body = Begin(Verb::kAttach, process, number);
  PackMapping(candidate.mapping, body);
  PackFile(*candidate.file, body);
  const auto answer = AskForMemory(process, body.Take(), patience);
  const auto state = answer ? UnpackState(*answer) : answer.error();
  if (!answer || (!state && state.error().code == ErrorCode::kCorrupt))
    return Error{ErrorCode::kUnavailable, std::string(kNoAnswer), ""};
  if (!state) return WithMissingRight(state.error());
  return AttachmentOf(*state, *candidate.file, candidate.mapping);
}

void PythonClient::Touch(ProcessKey process, std::uint32_t number, const Attachment& attachment,
                         std::chrono::milliseconds patience) {
  Packer body = Begin(Verb::kTouch, process, number);
  PackVersion(attachment.version, body);
  body.Number(attachment.runtime);
  (void)AskForMemory(process, body.Take(), patience);
}

Result<std::vector<CodeAnswer>> PythonClient::Read(ProcessKey process, std::uint32_t number,
                                                   std::span<const RuntimeVersion> versions,
                                                   std::span<const CodeQuery> queries,
                                                   std::chrono::milliseconds patience) {
  Packer body = Begin(Verb::kCode, process, number);
  body.Number(static_cast<std::uint32_t>(versions.size()));
  for (const RuntimeVersion& version : versions) PackVersion(version, body);
  body.Number(static_cast<std::uint32_t>(queries.size()));
  for (const CodeQuery& query : queries)
    body.Number(query.address).Number(query.validator).Number(query.runtime);
  const auto answer = AskForMemory(process, body.Take(), patience);
  if (!answer) return answer.error();
  Unpacker fields(*answer);
  std::vector<CodeAnswer> codes(fields.Count(kLeastCode));
  if (codes.empty() || codes.size() > queries.size()) return Nonsense();
  for (CodeAnswer& code : codes)
    if (!UnpackCode(fields, code)) return Nonsense();
  if (!fields.done()) return Nonsense();
  return codes;
}

}  // namespace profd::python
