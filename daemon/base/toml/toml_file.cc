#include "daemon/base/toml/toml_file.h"

#include <utility>

#include "daemon/base/files.h"

namespace profd {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

}  // namespace

Result<std::string> ReadTomlText(const std::string& path, const TomlKind& kind) {
  auto text = ReadFile(path, kMostBytes);
  if (text || text.error().code != ErrorCode::kExhausted) return text;
  return Error{ErrorCode::kInvalidArgument, path + " is longer than 1 MiB", kind.question};
}

Result<toml::table> ParseToml(std::string_view text, const std::string& path,
                              const TomlKind& kind) {
  auto parsed = toml::parse(text, path);
  if (parsed) return std::move(parsed).table();
  const auto& error = parsed.error();
  return Error{ErrorCode::kInvalidArgument,
               path + ":" + std::to_string(error.source().begin.line) + ": " +
                   std::string(error.description()),
               kind.hint};
}

std::string TomlProblems::PlaceOf(const toml::node& node) const {
  return Place(node.source().begin.line);
}

Error TomlProblems::ToError(const TomlKind& kind) const {
  std::string text;
  for (const auto& [line, problem] : problems_)
    text += (text.empty() ? "" : "\n") + Place(line) + ": " + problem;
  return Error{ErrorCode::kInvalidArgument, text, kind.hint};
}

std::string TomlProblems::Place(toml::source_index line) const {
  return path_ + ":" + std::to_string(line);
}

}  // namespace profd
