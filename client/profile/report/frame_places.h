// FramePlaces: where a frame belongs: its file, module and package, as reports write them.
#pragma once

#include <string>
#include <string_view>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Where Python keeps a source file.
struct PythonPlace {
  std::string package;   // "numpy", "[stdlib]"; of other files their directory
  std::string module;    // "numpy.linalg.linalg", "json.encoder"; of other files their stem
  bool library = false;  // below site-packages or lib/pythonX.Y
};

// Of a file that CPython names. "<frozen ...>" is of the standard library.
[[nodiscard]] PythonPlace PythonPlaceOf(std::string_view file);

// All texts are safe and never empty. What is not known stands in brackets.

// "/srv/train.py", "[no file: libc.so.6]".
[[nodiscard]] std::string FileText(const v1::Frame& frame);
// "/srv/train.py:42", "[no line: libc.so.6]".
[[nodiscard]] std::string LineText(const v1::Frame& frame);
// "json.encoder" of Python, "libc.so.6" of native code, "[kernel]".
[[nodiscard]] std::string ModuleText(const v1::Frame& frame);
// "numpy", "[stdlib]", "/srv" of Python; native code has its module.
[[nodiscard]] std::string PackageText(const v1::Frame& frame);

}  // namespace profd::client
