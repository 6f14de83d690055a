// ReportFormats: the formats of a command that writes a report of its own, by name and by file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/output_options.h"
#include "client/text/palette.h"
#include "daemon/base/result.h"

namespace profd::client {

// How a report is rendered for people.
struct ReportLook {
  std::size_t width = 80;  // of tables
  Palette palette{};
  bool complete = false;
  bool counters = false;  // of threads: the user wants hardware counters
};

struct ReportFormat {
  std::string_view name;
  std::string_view extension;
  Report report;
};

// A view of the formats of one command, the first of which is the default and ".txt".
class ReportFormats {
 public:
  constexpr ReportFormats(std::string_view command, std::span<const ReportFormat> formats)
      : command_(command), formats_(formats) {}

  [[nodiscard]] std::vector<std::string> Names() const;
  // By the file name, or by `format` where that says nothing ("-", no known extension); "" is the
  // default. kInvalidArgument: there is no such format, or the extension is not known and none is
  // named.
  [[nodiscard]] Result<Report> Find(const std::string& file, const std::string& format) const;

 private:
  std::string_view command_;
  std::span<const ReportFormat> formats_;
};

}  // namespace profd::client
