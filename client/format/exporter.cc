#include "client/format/exporter.h"

#include <algorithm>
#include <cctype>

#include "client/format/folded.h"
#include "client/format/json.h"
#include "client/format/pprof.h"
#include "client/format/speedscope.h"
#include "client/format/svg.h"

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

Exporters::Exporters() {
  exporters_.push_back(std::make_unique<FoldedExporter>());
  exporters_.push_back(std::make_unique<SvgExporter>());
  exporters_.push_back(std::make_unique<SpeedscopeExporter>());
  exporters_.push_back(std::make_unique<PprofExporter>());
  exporters_.push_back(std::make_unique<JsonExporter>());
}

Result<const Exporter*> Exporters::ByName(std::string_view name) const {
  std::string names;
  for (const auto& exporter : exporters_) {
    if (exporter->name() == name) return exporter.get();
    names += (names.empty() ? "" : ", ") + std::string(exporter->name());
  }
  return Error{ErrorCode::kInvalidArgument, "no format is called '" + std::string(name) + "'",
               "the formats are " + names};
}

Result<const Exporter*> Exporters::ByFileName(std::string_view path) const {
  const Exporter* best = nullptr;
  std::size_t longest = 0;
  std::string usual;
  for (const auto& exporter : exporters_) {
    usual += (usual.empty() ? "" : ", ") + std::string(exporter->extensions().front());
    for (const std::string_view extension : exporter->extensions()) {
      if (extension.size() <= longest || !EndsWithIgnoringCase(path, extension)) continue;
      best = exporter.get();
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
