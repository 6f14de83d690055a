#include "client/commands/common/report_formats.h"

#include <algorithm>

#include "client/cli/values.h"

namespace profd::client {

std::vector<std::string> ReportFormats::Names() const {
  std::vector<std::string> names;
  names.reserve(formats_.size());
  for (const ReportFormat& format : formats_) names.emplace_back(format.name);
  return names;
}

Result<Report> ReportFormats::Find(const std::string& file, const std::string& format) const {
  const std::string of = " of " + std::string(command_);
  const auto by_name = std::ranges::find(formats_, format, &ReportFormat::name);
  if (!format.empty() && by_name == formats_.end())
    return Usage("no format" + of + " is called '" + format + "'", "it is " + OneOf(Names()));
  const auto by_file = std::ranges::find_if(
      formats_, [&](const ReportFormat& one) { return file.ends_with(one.extension); });
  // As for other commands: ".txt" says no more than that it is text.
  const bool open = by_file == formats_.end() || by_file == formats_.begin();
  if (open && by_name != formats_.end()) return by_name->report;
  if (!open && by_name != formats_.end() && by_name->report != by_file->report)
    return Usage("-f " + format + " is not what " + file + " says by its name",
                 "leave it out, or rename the file");
  if (by_file != formats_.end()) return by_file->report;
  if (file == "-") return formats_.front().report;
  std::vector<std::string> extensions;
  for (const ReportFormat& one : formats_) extensions.emplace_back(one.extension);
  std::ranges::rotate(extensions, extensions.begin() + 1);
  return Usage("the extension of '" + file + "' names no format" + of,
               "use " + OneOf(extensions) + ", or name one with -f");
}

}  // namespace profd::client
