#include "client/format/exporter.h"

#include <algorithm>
#include <cctype>

namespace profd::client {
namespace {

bool EndsWithIgnoringCase(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         std::equal(end.begin(), end.end(), text.end() - static_cast<std::ptrdiff_t>(end.size()),
                    [](char a, char b) {
                      return std::tolower(static_cast<unsigned char>(a)) ==
                             std::tolower(static_cast<unsigned char>(b));
                    });
}

}  // namespace

Result<const Exporter*> ExporterByName(std::string_view name) {
  std::string names;
  for (const Exporter& exporter : Exporters()) {
    if (exporter.name == name) return &exporter;
    names += (names.empty() ? "" : ", ") + std::string(exporter.name);
  }
  return Error{ErrorCode::kInvalidArgument, "no format is called '" + std::string(name) + "'",
               "the formats are " + names};
}

Result<const Exporter*> ExporterByFileName(std::string_view path) {
  const Exporter* best = nullptr;
  std::size_t longest = 0;
  std::string usual;
  for (const Exporter& exporter : Exporters()) {
    usual += (usual.empty() ? "" : ", ") + std::string(exporter.extensions.front());
    for (const std::string_view extension : exporter.extensions) {
      if (extension.size() <= longest || !EndsWithIgnoringCase(path, extension)) continue;
      best = &exporter;
      longest = extension.size();
    }
  }
  if (best != nullptr) return best;
  return Error{ErrorCode::kInvalidArgument,
               "the extension of '" + std::string(path) + "' names no format",
               "end the name in one of " + usual + ", or name the format with -f"};
}

Result<void> FinishStream(std::ostream& out) {
  out.flush();
  if (out.good()) return {};
  return Error{ErrorCode::kIo, "cannot write the profile", ""};
}

}  // namespace profd::client
