#include "client/documents/template_text.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

namespace profd::client {
namespace {

// "COMMANDS" of "    # @COMMANDS@"; "" for other lines.
std::string NameIn(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  for (const std::string_view begin : {"# @", ".\\\" @"})
    if (line.starts_with(begin) && line.size() > begin.size() && line.ends_with('@'))
      return std::string(line.substr(begin.size(), line.size() - begin.size() - 1));
  return "";
}

}  // namespace

Result<std::string> FillTemplate(const std::string& text,
                                 const std::map<std::string, std::string>& parts) {
  std::set<std::string> filled;
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = NameIn(line);
    if (name.empty()) {
      out += line + "\n";
      continue;
    }
    const auto part = parts.find(name);
    if (part == parts.end())
      return Error{ErrorCode::kInvalidArgument, "nothing is called @" + name + "@", ""};
    filled.insert(name);
    const std::string indent(line.find_first_not_of(' '), ' ');
    std::istringstream part_lines(part->second);
    for (std::string one; std::getline(part_lines, one);) out += indent + one + "\n";
  }
  for (const auto& [name, part] : parts)
    if (!filled.contains(name))
      return Error{ErrorCode::kInvalidArgument, "there is no line @" + name + "@", ""};
  return out;
}

}  // namespace profd::client
