#include "daemon/elf/probes/probe_remote.h"

#include <functional>

#include "daemon/elf/file/file_finder.h"
#include "daemon/reader/message.h"

namespace profd::elf {
namespace {

std::vector<std::optional<ProbePlace>> Find(const ElfFile& file, ProbeClient::Kind kind,
                                            const std::vector<std::string>& names) {
  std::vector<std::optional<ProbePlace>> places;
  if (kind == ProbeClient::Kind::kStaticProbe) {
    for (const ProbePlace& place : FindStaticProbe(file, names[0], names[1]))
      places.emplace_back(place);
    return places;
  }
  places = FindFunctions(file, names);
  if (kind == ProbeClient::Kind::kEntries)
    for (auto& place : places)
      if (place) place->offset = BehindVectors(file, place->offset);
  return places;
}

}  // namespace

Result<std::string> ProbeParser::Answer(std::string_view request, reader::ParserContext context) {
  reader::Unpacker fields(request);
  const auto kind = fields.Number<ProbeClient::Kind>();
  ObjectId id;
  id.path = fields.Text();
  id.device_major = fields.Number<std::uint32_t>();
  id.device_minor = fields.Number<std::uint32_t>();
  id.inode = fields.Number<std::uint64_t>();
  id.pid = fields.Number<std::uint32_t>();
  id.map_start = fields.Number<std::uint64_t>();
  id.map_end = fields.Number<std::uint64_t>();
  std::vector<std::string> names;
  for (std::uint32_t left = fields.Count(sizeof(std::uint32_t)); left > 0 && fields.ok(); --left)
    names.emplace_back(fields.Text());
  if (!fields.done() || names.size() > ProbeClient::kMaxNames ||
      kind > ProbeClient::Kind::kStaticProbe ||
      (kind == ProbeClient::Kind::kStaticProbe && names.size() != 2))
    return Error{ErrorCode::kInvalidArgument, "no such request", ""};
  const auto found = FileFinder(context.opener).Open(id);
  if (!found) return found.error();
  const FileBytes bytes(found->fd.get(), found->stamp.bytes);
  auto file = ElfFile::Open(bytes);
  if (!file) return file.error();
  PROFD_TRY(file->ReadSections());
  const auto places = Find(*file, kind, names);
  reader::Packer answer;
  answer.Number(static_cast<std::uint32_t>(places.size()));
  for (const auto& place : places) {
    answer.Number(place.has_value())
        .Number(place ? place->offset : 0)
        .Number(place ? place->semaphore : 0);
  }
  return answer.Take();
}

Result<std::vector<std::optional<ProbePlace>>> ProbeClient::Ask(
    const ObjectId& id, std::uint32_t user, Kind kind, const std::vector<std::string>& names,
    std::size_t most) {
  reader::Packer body;
  body.Number(kind)
      .Text(id.path)
      .Number(id.device_major)
      .Number(id.device_minor)
      .Number(id.inode)
      .Number(id.pid)
      .Number(id.map_start)
      .Number(id.map_end)
      .Number(static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names) body.Text(name);
  const reader::ReaderRequest request{.body = body.Take(),
                                      .name = id.path,
                                      .target = std::hash<std::string>()(id.Key()),
                                      .user = user};
  const auto answer = readers_.Ask(request, kPatience);
  if (!answer) return answer.error();
  reader::Unpacker fields(*answer);
  std::vector<std::optional<ProbePlace>> places;
  constexpr std::size_t kPlaceBytes = 1 + 2 * sizeof(std::uint64_t);
  for (std::uint32_t left = fields.Count(kPlaceBytes); left > 0; --left) {
    const auto there = fields.Number<bool>();
    ProbePlace place;
    place.offset = fields.Number<std::uint64_t>();
    place.semaphore = fields.Number<std::uint64_t>();
    places.push_back(there ? std::optional(place) : std::nullopt);
  }
  if (!fields.done() || places.size() > most)
    return Error{ErrorCode::kCorrupt, "the reader's answer makes no sense", ""};
  return places;
}

Result<std::vector<std::optional<ProbePlace>>> ProbeClient::Functions(
    const ObjectId& id, std::uint32_t user, const std::vector<std::string>& names, Kind kind) {
  auto places = Ask(id, user, kind, names, names.size());
  if (places) places->resize(names.size());
  return places;
}

Result<std::vector<ProbePlace>> ProbeClient::StaticProbe(const ObjectId& id, std::uint32_t user,
                                                         const std::string& provider,
                                                         const std::string& name) {
  const auto found = Ask(id, user, Kind::kStaticProbe, {provider, name}, kMaxProbePlaces);
  if (!found) return found.error();
  std::vector<ProbePlace> places;
  for (const auto& place : *found)
    if (place) places.push_back(*place);
  return places;
}

}  // namespace profd::elf
