// Annotation: the time of the lines of a source file, or of the instructions of a function.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "client/profile/report/report_table.h"
#include "client/profile/report/report_time.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct PlaceTime {
  // Of samples whose innermost frame is there; of Python the innermost one of Python, so that a
  // line has the time of the native functions that it calls.
  ReportTime self;
  ReportTime total;  // of lines: and of those that call from there, each once
};

struct Annotation {
  enum class Kind { kSource, kCode };
  Kind kind = Kind::kSource;
  std::string name;    // safe: the function, or the file
  std::string path;    // not safe: of the source file, or of the module of the function
  std::string symbol;  // of kCode: not safe: the function as the module has it
  // By line, or by offset in the module's file.
  std::map<std::uint64_t, PlaceTime> places;
  std::uint64_t all_ns = 0;  // of all samples of the profile
};

// `what` is a source file, by its path or the end of it, or a function: of Python its lines, of
// native code its instructions. The profile has passed CheckProfile. kNotFound: no stack has it.
// kInvalidArgument: it is several files, which the hint names. kUnsupported: there are no
// instructions to be shown.
[[nodiscard]] Result<Annotation> AnnotationOf(std::string_view what, const v1::Profile& profile,
                                              const TableOptions& options);

}  // namespace profd::client
