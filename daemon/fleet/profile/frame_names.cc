#include "daemon/fleet/profile/frame_names.h"

#include "daemon/base/files.h"
#include "daemon/base/utf8.h"
#include "daemon/symbolize/names/made_code.h"

namespace profd::fleet {

std::string FunctionName(const symbolize::Frame& frame) {
  // Its place is another one in each process.
  if (frame.name.starts_with(symbolize::kMadeCode)) return std::string(symbolize::kMadeCode);
  if (!frame.name.empty()) return ValidUtf8(frame.name);
  if (frame.module.empty()) return "[unknown]";
  return ValidUtf8(BaseName(frame.module)) + "+" + HexNumber(frame.offset);
}

std::string PseudoStack(const ExportRow& row) {
  if (row.part == Part::kStolen) return "[stolen]";
  return row.node == 0 ? "[no stack]" : "";
}

}  // namespace profd::fleet
