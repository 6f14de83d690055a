#include "client/profile/report/frame_places.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "client/profile/stack_names.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::string_view kStdlib = "[stdlib]";

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// What stands behind the last "/site-packages/" of the path; empty: there is none.
std::string_view BelowSite(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = file.rfind(folder);
    if (at != std::string_view::npos) return file.substr(at + folder.size());
  }
  return {};
}

// What stands behind the last "/lib/python3.11/"; empty: there is none.
std::string_view BelowStdlib(std::string_view file) {
  constexpr std::array<std::string_view, 3> kFolders{"/lib/python", "/lib64/python", "/lib/pypy"};
  for (const std::string_view folder : kFolders) {
    const std::size_t at = file.rfind(folder);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = file.substr(at + folder.size());
    const std::size_t version = rest.find('/');
    if (version == std::string_view::npos || version == 0 || !IsDigit(rest.front())) continue;
    return rest.substr(version + 1);
  }
  return {};
}

// "linalg/linalg.py" -> "linalg.linalg"; a package is called as its folder.
std::string Dotted(std::string_view path) {
  if (path.ends_with(".py")) path.remove_suffix(3);
  constexpr std::string_view kInit = "/__init__";
  if (path.ends_with(kInit)) path.remove_suffix(kInit.size());
  std::string dotted(path);
  std::ranges::replace(dotted, '/', '.');
  return dotted;
}

std::string Unless(std::string_view known, const char* what, const v1::Frame& frame) {
  if (!known.empty()) return SafeName(known);
  return std::string("[no ") + what + ": " + ModuleText(frame) + "]";
}

}  // namespace

PythonPlace PythonPlaceOf(std::string_view file) {
  if (const std::string_view below = BelowSite(file); !below.empty()) {
    const std::string module = Dotted(below);
    return {module.substr(0, module.find('.')), module, true};
  }
  if (const std::string_view below = BelowStdlib(file); !below.empty())
    return {std::string(kStdlib), Dotted(below), true};
  if (file.starts_with('<')) {
    const bool frozen = file.starts_with("<frozen ");
    return {frozen ? std::string(kStdlib) : std::string(file), std::string(file), frozen};
  }
  const std::size_t slash = file.rfind('/');
  if (slash == std::string_view::npos) return {".", Dotted(file), false};
  return {std::string(file.substr(0, std::max<std::size_t>(slash, 1))),
          Dotted(file.substr(slash + 1)), false};
}

std::string FileText(const v1::Frame& frame) {
  if (frame.kind() == v1::FRAME_PSEUDO) return SafeName(frame.name());
  return Unless(frame.file(), "file", frame);
}

std::string LineText(const v1::Frame& frame) {
  if (frame.kind() == v1::FRAME_PSEUDO) return SafeName(frame.name());
  if (frame.file().empty() || frame.line() == 0) return Unless("", "line", frame);
  return SafeName(frame.file()) + ":" + std::to_string(frame.line());
}

std::string ModuleText(const v1::Frame& frame) {
  switch (frame.kind()) {
    case v1::FRAME_PSEUDO:
      return SafeName(frame.name());
    case v1::FRAME_PYTHON:
      return frame.file().empty() ? "[unknown]" : SafeName(PythonPlaceOf(frame.file()).module);
    case v1::FRAME_KERNEL:
      return frame.module().empty() ? "[kernel]" : SafeName(BaseName(frame.module()));
    case v1::FRAME_JIT:
      if (frame.module().empty()) return "[jit]";
      break;
    default:
      break;
  }
  const std::string_view name = ModuleName(frame);
  return name.empty() ? "[unknown]" : SafeName(name);
}

std::string PackageText(const v1::Frame& frame) {
  if (frame.kind() != v1::FRAME_PYTHON || frame.file().empty()) return ModuleText(frame);
  return SafeName(PythonPlaceOf(frame.file()).package);
}

}  // namespace profd::client
