#include "daemon/labels/label_finder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/elf/file/byte_source.h"
#include "daemon/elf/file/elf_file.h"
#include "daemon/elf/registered/process_bytes.h"

namespace profd::labels {
namespace {

constexpr std::string_view kVariable = "otel_thread_ctx_v1";
constexpr std::array<std::string_view, 2> kSchemas{"tls_v1", "tlsdesc_v1_dev"};
constexpr std::uint32_t kGlibcEntryBytes = 16;
constexpr std::uint32_t kMuslEntryBytes = 8;
constexpr std::uint64_t kMaxModules = 1u << 16;
// So far below the thread pointer may static thread-local variables lie.
constexpr std::int64_t kMaxStaticBytes = 1 << 30;

Error NotYet(const char* what) { return Error{ErrorCode::kUnavailable, what, ""}; }

// Of a process's memory.
Result<std::string> BytesAt(const elf::ProcessBytes& memory, std::uint64_t address,
                            std::uint64_t bytes) {
  if (!memory.Holds(address, bytes)) return NotYet("an address beyond user memory");
  return memory.Copy(address, bytes);
}

template <typename T>
Result<T> ValueAt(const elf::ProcessBytes& memory, std::uint64_t address) {
  const auto bytes = BytesAt(memory, address, sizeof(T));
  if (!bytes) return bytes.error();
  T value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

Result<source::ProcessContext> ReadContext(const elf::ProcessBytes& memory, std::uint64_t address) {
  const auto before = ValueAt<source::ProcessContextHeader>(memory, address);
  if (!before) return before.error();
  PROFD_TRY(source::CheckHeader(*before));
  const auto payload = BytesAt(memory, before->payload, before->payload_bytes);
  if (!payload) return payload.error();
  const auto after = ValueAt<source::ProcessContextHeader>(memory, address);
  if (!after) return after.error();
  if (after->published_ns != before->published_ns)
    return NotYet("process context: it has changed while it was read");
  return source::ParsePayload(*payload);
}

// What the two words say: module and offset.
Result<void> TakeIndex(const elf::ProcessBytes& memory, std::uint64_t address,
                       profd_label_process& to) {
  const auto index = ValueAt<std::array<std::uint64_t, 2>>(memory, address);
  if (!index) return index.error();
  const auto [module, offset] = *index;
  if (module == 0 || module > kMaxModules || offset >= elf::ProcessBytes::kMaxAddress)
    return NotYet("the loader has not placed the variable yet");
  to.module = static_cast<std::uint32_t>(module);
  to.offset = static_cast<std::int64_t>(offset);
  return {};
}

Result<void> TakeOffset(std::int64_t offset, profd_label_process& to) {
  if (offset >= 0 || offset < -kMaxStaticBytes)
    return NotYet("the loader has not placed the variable yet");
  to.offset = offset;
  return {};
}

Result<void> Resolve(const elf::ProcessBytes& memory, const elf::TlsVariable& variable,
                     std::uint64_t bias, profd_label_process& to) {
  using Access = elf::TlsVariable::Access;
  const std::uint64_t at = variable.vaddr + bias;
  switch (variable.access) {
    case Access::kFixed:
      return TakeOffset(variable.offset, to);
    case Access::kOffsetWord: {
      const auto offset = ValueAt<std::int64_t>(memory, at);
      return offset ? TakeOffset(*offset, to) : offset.error();
    }
    case Access::kIndexWords:
      return TakeIndex(memory, at, to);
    case Access::kDescriptor: {
      const auto argument = ValueAt<std::int64_t>(memory, at + sizeof(std::uint64_t));
      if (!argument) return argument.error();
      return *argument < 0 ? TakeOffset(*argument, to)
                           : TakeIndex(memory, static_cast<std::uint64_t>(*argument), to);
    }
  }
  return NotYet("an access of unknown kind");
}

}  // namespace

LabelFinder::File LabelFinder::LookInto(int fd, std::uint64_t bytes) {
  const elf::FileBytes source(fd, bytes);
  auto file = elf::ElfFile::Open(source);
  if (!file) return {file.error(), {}};
  return {FindTlsVariable(*file, kVariable), LoadSegmentsOf(*file)};
}

Result<LabelFinder::Place> LabelFinder::PlaceIn(reader::FileOpener& opener, std::uint32_t pid,
                                                const MapsLine& line) {
  const auto opened = opener.Open({.what = reader::OpenRequest::What::kMapped,
                                   .pid = pid,
                                   .begin = line.start,
                                   .end = line.end});
  if (!opened) return Error{ErrorCode::kNotFound, opened.error().message, ""};
  const elf::FileStamp stamp = elf::StampOf(*opened);
  const auto* known = files_.Find(stamp);
  if (known == nullptr) known = &files_.Put(stamp, LookInto(opened->fd.get(), stamp.bytes));
  if (!known->variable)
    return known->variable.error().code == ErrorCode::kUnsupported
               ? known->variable.error()
               : Error{ErrorCode::kNotFound, known->variable.error().message, ""};
  const auto vaddr = elf::VaddrOf(known->segments, line.file_offset);
  if (!vaddr) return Error{ErrorCode::kNotFound, "the mapping is none of the file's segments", ""};
  return Place{*known->variable, line.start - *vaddr};
}

Result<LabelFinder::Place> LabelFinder::FindPlace(reader::FileOpener& opener, std::uint32_t pid,
                                                  const std::vector<MapsLine>& files) {
  for (const MapsLine& line : files) {
    auto place = PlaceIn(opener, pid, line);
    if (place || place.error().code == ErrorCode::kUnsupported) return place;
  }
  return Error{ErrorCode::kUnsupported, "no mapped file defines " + std::string(kVariable), ""};
}

Result<std::optional<LabelFacts>> LabelFinder::Find(reader::FileOpener& opener, std::uint32_t pid) {
  const auto maps = reader::ReadProcessFile(opener, pid, "maps", kMaxMapsBytes);
  if (!maps) return maps.error();
  // A process that has ended and that its parent has not waited for yet.
  if (maps->empty()) return Error{ErrorCode::kNotFound, "the process has ended", ""};
  if (maps->find("OTEL_CTX") == std::string::npos) return std::optional<LabelFacts>();

  std::vector<std::uint64_t> contexts;
  std::vector<MapsLine> files;
  bool musl = false;
  ParseMaps(*maps, [&](MapsLine&& line) {
    if (source::MayHoldContext(line.path)) contexts.push_back(line.start);
    if (!line.executable || line.inode == 0 || files.size() == kMaxMappings) return;
    musl = musl || line.path.find("/ld-musl-") != std::string::npos;
    files.push_back(std::move(line));
  });
  const auto memory_fd = opener.Open({.what = reader::OpenRequest::What::kMemory, .pid = pid});
  if (!memory_fd) return memory_fd.error();
  const elf::ProcessBytes memory(memory_fd->fd.get(), 0, elf::ProcessBytes::kMaxAddress);
  for (const std::uint64_t address : contexts) {
    const auto context = ReadContext(memory, address);
    if (!context && context.error().code == ErrorCode::kCorrupt) continue;
    if (!context) return context.error();
    if (context->schema.empty()) continue;
    LabelFacts facts{.variable = {}, .keys = context->keys, .refused = ""};
    facts.variable.entry_bytes = musl ? kMuslEntryBytes : kGlibcEntryBytes;
    if (std::ranges::find(kSchemas, context->schema) == kSchemas.end()) {
      facts.refused = "they are published in a way that profd does not know";
      return std::optional(std::move(facts));
    }
    const auto place = FindPlace(opener, pid, files);
    const auto resolved =
        place ? Resolve(memory, place->variable, place->bias, facts.variable) : place.error();
    if (!resolved) facts.refused = resolved.error().message;
    return std::optional(std::move(facts));
  }
  return std::optional<LabelFacts>();
}

}  // namespace profd::labels
