#include "client/format/json.h"

#include <algorithm>

#include "client/format/profile_file.pb.h"
#include "client/format/proto_json.h"
#include "client/profile/check_profile.h"

namespace profd::client {
namespace {

constexpr std::string_view kFormat = "profd-profile";
constexpr std::size_t kChunkBytes = 1u << 20;

Error NotAProfile(std::string why) {
  return Error{ErrorCode::kCorrupt, "this is not a profd profile: " + std::move(why),
               "profiles to read again are written with -f json"};
}

Result<std::string> ReadAll(std::istream& in, std::size_t max_bytes) {
  std::string text;
  while (in && text.size() <= max_bytes) {
    const std::size_t size = text.size();
    text.resize(size + kChunkBytes);
    in.read(text.data() + size, static_cast<std::streamsize>(kChunkBytes));
    text.resize(size + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return Error{ErrorCode::kIo, "cannot read the profile", ""};
  if (text.size() > max_bytes)
    return Error{ErrorCode::kExhausted,
                 "the profile is longer than " + std::to_string(max_bytes) + " bytes", ""};
  return text;
}

// Says what a file is that people take for a profile. An object of three bytes, "{},", becomes a
// message of a hundred: their number is bounded too.
Result<void> CheckText(std::string_view text) {
  if (text.empty()) return NotAProfile("it is empty");
  if (text.starts_with("\x1f\x8b")) return NotAProfile("it is compressed, perhaps a pprof file");
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{')
    return NotAProfile("it does not begin with '{'");
  if (std::count(text.begin(), text.end(), '{') > static_cast<std::ptrdiff_t>(kMaxJsonObjects))
    return Error{ErrorCode::kExhausted,
                 "the profile holds more than " + std::to_string(kMaxJsonObjects) + " objects", ""};
  return {};
}

Result<void> Write(const v1::Profile& profile, const ExportOptions&, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  out << R"({"format":")" << kFormat << R"(","version":)" << kJsonVersion << R"(,"profile":)"
      << ProtoJson(profile) << "}\n";
  return FinishStream(out);
}

}  // namespace

Exporter JsonExporter() {
  return {.name = "json",
          .extensions = {".json"},
          .about = "everything, to be read again",
          .viewers = "profctl, jq, scripts",
          .complete = true,
          .write = Write};
}

Result<v1::Profile> ReadJson(std::istream& in, std::size_t max_bytes) {
  auto text = ReadAll(in, max_bytes);
  if (!text) return text.error();
  PROFD_TRY(CheckText(*text));
  ProfileFile file;
  const auto parsed = ReadProtoJson(*text, file);
  text->clear();
  text->shrink_to_fit();
  if (!parsed) return NotAProfile(parsed.error().message);
  if (file.format() != kFormat)
    return NotAProfile(file.format().empty() ? "it has no \"format\""
                                             : "its format is another one");
  if (file.version() > kJsonVersion)
    return Error{ErrorCode::kUnsupported,
                 "the profile is of version " + std::to_string(file.version()) +
                     " and this profctl reads version " + std::to_string(kJsonVersion),
                 "read it with the profctl that wrote it, or a newer one"};
  if (file.version() == 0 || !file.has_profile()) return NotAProfile("it holds no profile");
  PROFD_TRY(CheckProfile(file.profile()));
  return std::move(*file.mutable_profile());
}

}  // namespace profd::client
