// An annotation of a report: the lines of a file or the instructions of a function, with their
// time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/profile/report/annotation.h"
#include "client/screens/report/report_sheet.h"
#include "client/screens/report/report_view.h"

namespace profd::client {

// What stands at a place: a line of source, or an instruction.
struct PlaceText {
  std::uint64_t place = 0;  // line, or offset in the module's file
  std::string label;        // safe: the number of the line, or the address
  std::string text;         // safe
};

// The lines of a file; what is not UTF-8 or unsafe to print is replaced.
[[nodiscard]] std::vector<PlaceText> LinesIn(std::string_view source);

// Self by state and total beside each text near one with time; gaps are marked. Time of places
// without a text is one line.
[[nodiscard]] std::string RenderAnnotation(const Annotation& annotation,
                                           const std::vector<PlaceText>& texts,
                                           const ReportScale& scale,
                                           const ReportViewOptions& options);

// The places that have time.
[[nodiscard]] ReportSheet SheetOf(const Annotation& annotation,
                                  const std::vector<PlaceText>& texts);

}  // namespace profd::client
