// html: the profile as one page that can be mailed: what `report` says, a flame graph, and a map of
// time in which a part can be selected.
//
// Holds its script, its style and the data; nothing is fetched, and a policy in the page forbids
// it. Texts of the profile are data, never markup. Without script the page says what it holds.
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "client/format/exporter.h"
#include "client/format/html/page_assets.h"
#include "client/format/html/page_body.h"
#include "client/format/html/page_data.h"
#include "client/format/html/page_text.h"
#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/report/report_time.h"
#include "client/profile/stack_names.h"
#include "client/text/escape.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxPacked = 512u << 20;

Result<std::string> Packed(std::string_view bytes) {
  std::string packed;
  google::protobuf::io::StringOutputStream to(&packed);
  google::protobuf::io::GzipOutputStream gzip(&to);
  while (!bytes.empty()) {
    void* room = nullptr;
    int size = 0;
    if (!gzip.Next(&room, &size)) return Error{ErrorCode::kIo, "cannot pack the profile", ""};
    const auto taken = std::min(bytes.size(), static_cast<std::size_t>(size));
    std::memcpy(room, bytes.data(), taken);
    gzip.BackUp(size - static_cast<int>(taken));
    bytes.remove_prefix(taken);
  }
  if (!gzip.Close()) return Error{ErrorCode::kIo, "cannot pack the profile", ""};
  return packed;
}

// What a page without script says.
std::string Totals(const v1::Profile& profile) {
  const ReportTime time = TimeOf(profile);
  std::string text = TitleOf(profile) + ": " + FormatDuration(LengthNs(profile)) + ", " +
                     FormatDuration(time.all().ns) + " of thread time:";
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<TimePart>(i);
    if (time[part].ns != 0)
      text += " " + FormatDuration(time[part].ns) + " " + std::string(PartName(part)) + ",";
  }
  text.pop_back();
  return text + ".";
}

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const auto packed = Packed(PageData(profile, options));
  if (!packed) return packed.error();
  if (packed->size() > kMaxPacked)
    return Error{ErrorCode::kExhausted, "the profile is too large for a page",
                 "write json or folded, or collect for a shorter time"};
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      << PolicyHash(kPageScript) << "; style-src " << PolicyHash(kPageStyle) << "\">\n<title>"
      << EscapeXml(TitleOf(profile)) << "</title>\n<style>" << kPageStyle << "</style>\n</head>\n"
      << "<body>\n"
      << PageBody(Totals(profile) +
                  " The pictures need a script; the same numbers are in profctl report.");
  out << "<script id=\"data\" type=\"text/plain\">" << Base64(*packed) << "</script>\n<script>"
      << kPageScript << "</script>\n</body>\n</html>\n";
  return FinishStream(out);
}

}  // namespace

Exporter HtmlExporter() {
  return {.name = "html",
          .extensions = {".html", ".htm"},
          .about = "one page: flame graph, map of time, tables, all of them of any selection",
          .viewers = "any browser",
          .for_terminals = false,
          .write = Write};
}

}  // namespace profd::client
