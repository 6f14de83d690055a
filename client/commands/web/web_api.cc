#include "client/commands/web/web_api.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "client/commands/common/profile_report.h"
#include "client/commands/web/history_strip.h"
#include "client/commands/web/web_page.h"
#include "client/commands/web/web_request.h"
#include "client/format/diff_text.h"
#include "client/format/exporter.h"
#include "client/format/html/page_data.h"
#include "client/profile/diff.h"
#include "client/profile/profile_parts.h"
#include "client/profile/report/sample_filter.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

using nlohmann::json;

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::string_view kFile = "file:";
constexpr std::string_view kLive = "live:";
constexpr std::string_view kHistory = "history";
constexpr std::uint64_t kNsPerUs = 1000;

WebAnswer Json(const json& value, unsigned status = 200) {
  return {.status = status,
          .type = "application/json",
          .body = value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

unsigned StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kExhausted:
      return 413;
    case ErrorCode::kUnsupported:
    case ErrorCode::kCorrupt:
      return 422;
    case ErrorCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

WebAnswer Failure(const Error& error) {
  return Json({{"error", SafeText(error.message)}, {"hint", SafeText(error.hint)}},
              StatusOf(error.code));
}

// The number behind "file:" or "live:"; none: it is no such source.
std::optional<std::uint64_t> NumberBehind(std::string_view source, std::string_view kind) {
  if (!source.starts_with(kind)) return std::nullopt;
  source.remove_prefix(kind.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(source.data(), source.data() + source.size(), number);
  if (error != std::errc{} || end != source.data() + source.size()) return std::nullopt;
  return number;
}

// What a profile looks like in every format but json, as collect writes it.
v1::Profile Shown(v1::Profile profile) {
  auto without = WithoutInterpreterFrames(profile);
  return without ? *std::move(without) : std::move(profile);
}

Result<v1::Profile> Restricted(v1::Profile profile, const std::string& filter) {
  if (filter.empty()) return profile;
  ReportQuestion question;
  auto parsed = SampleFilter::Parse(filter);
  if (!parsed) return parsed.error();
  question.filter = *std::move(parsed);
  auto subject = RestrictTo(question, std::move(profile));
  if (!subject) return subject.error();
  return std::move(subject->profile);
}

// Rounded inwards: a range of whole us that has no other window.
std::uint64_t FirstUs(std::uint64_t ns) { return (ns + kNsPerUs - 1) / kNsPerUs; }
std::uint64_t LastUs(std::uint64_t ns) { return ns / kNsPerUs; }

json HistoryJson(const v1::HistoryStatus& history) {
  return {{"windows", history.windows()},
          {"window_us", history.window_ns() / kNsPerUs},
          {"first_unix_us", FirstUs(history.first_unix_ns())},
          {"last_unix_us", LastUs(history.last_unix_ns())}};
}

WebAnswer Page(const v1::Profile& profile, const std::string& source) {
  return {.type = "application/octet-stream",
          .body = PageData(profile, {}),
          .headers = {{"Profd-Source", source}}};
}

}  // namespace

WebApi::WebApi(ProfileSources& sources)
    : sources_(sources), methods_{{"sources", &WebApi::Sources},   {"formats", &WebApi::Formats},
                                  {"strip", &WebApi::StripOf},     {"profile", &WebApi::ProfileOf},
                                  {"download", &WebApi::Download}, {"compare", &WebApi::Compare},
                                  {"live", &WebApi::Live}} {}

WebAnswer WebApi::Answer(const WebRequest& request) const {
  if (auto page = WebPage(request.path)) return *std::move(page);
  const std::string_view path = request.path;
  const auto method =
      path.starts_with(kRoot) ? methods_.find(path.substr(kRoot.size())) : methods_.end();
  if (method == methods_.end())
    return Failure({ErrorCode::kNotFound, "there is nothing of this name", ""});
  auto answer = (this->*method->second)(request);
  return answer ? *std::move(answer) : Failure(answer.error());
}

Result<WebAnswer> WebApi::Sources(const WebRequest& /*request*/) const {
  json files = json::array();
  for (std::size_t i = 0; i < sources_.files().size(); ++i)
    files.push_back({{"source", std::string(kFile) + std::to_string(i)},
                     {"name", SafeText(sources_.files()[i])}});
  json answer = {{"version", 1}, {"files", files}, {"history", nullptr}, {"live", false}};
  if (!sources_.has_history()) return Json(answer);
  const auto status = sources_.Status();
  if (!status) {
    answer["daemon_error"] = SafeText(status.error().message);
    return Json(answer);
  }
  answer["live"] = sources_.has_daemon() && status->replay_file().empty();
  if (status->has_history()) answer["history"] = HistoryJson(status->history());
  return Json(answer);
}

Result<WebAnswer> WebApi::Formats(const WebRequest& /*request*/) const {
  json formats = json::array();
  for (const Exporter& exporter : Exporters())
    formats.push_back({{"name", exporter.name},
                       {"extension", exporter.extensions.front()},
                       {"about", exporter.about},
                       {"viewers", exporter.viewers}});
  return Json({{"version", 1}, {"formats", formats}});
}

Result<WebAnswer> WebApi::StripOf(const WebRequest& request) const {
  StripQuestion question;
  auto of = HistoryParameters(request, "");
  if (!of) return of.error();
  question.of = *std::move(of);
  question.from_unix_ns = question.of.request.from_unix_ns();
  question.to_unix_ns = question.of.request.to_unix_ns();
  const auto step = NumberParameter(request, "step_us");
  if (!step) return step.error();
  question.step_ns = step->value_or(0) * kNsPerUs;
  if (const std::string by = request.Parameter("by"); !by.empty()) {
    const auto key = ParseGroupKey(by);
    if (!key) return key.error();
    question.by = *key;
  }
  const auto strip = HistoryStrip(question, sources_);
  if (!strip) return strip.error();
  json columns = json::array();
  for (const StripColumn& column : strip->columns) {
    json groups = json::array();
    for (const StripGroup& group : column.groups)
      groups.push_back({{"name", group.name}, {"ns", group.ns}});
    columns.push_back({{"from_unix_us", FirstUs(column.from_unix_ns + kStripMarginNs)},
                       {"to_unix_us", LastUs(column.to_unix_ns - kStripMarginNs)},
                       {"length_ns", column.to_unix_ns - column.from_unix_ns},
                       {"ns", column.ns},
                       {"groups", groups}});
  }
  json parts = json::array();
  for (std::size_t i = 0; i < kParts; ++i) parts.push_back(PartName(static_cast<TimePart>(i)));
  return Json({{"version", 1},
               {"parts", parts},
               {"columns", columns},
               {"next_unix_us", FirstUs(strip->next_unix_ns)}});
}

Result<ProfileRef> WebApi::Source(const WebRequest& request, const std::string& prefix) const {
  const std::string source = request.Parameter(prefix + "source");
  if (const auto file = NumberBehind(source, kFile)) return sources_.File(*file);
  if (const auto live = NumberBehind(source, kLive)) return sources_.Live(*live);
  if (source != kHistory)
    return Error{ErrorCode::kInvalidArgument,
                 prefix + "source is none of file:N, live:N and history", ""};
  const auto question = HistoryParameters(request, prefix);
  if (!question) return question.error();
  return sources_.History(*question);
}

Result<v1::Profile> WebApi::Requested(const WebRequest& request, const std::string& prefix) const {
  const auto source = Source(request, prefix);
  if (!source) return source.error();
  return Restricted(**source, request.Parameter(prefix + "filter"));
}

Result<WebAnswer> WebApi::ProfileOf(const WebRequest& request) const {
  auto profile = Requested(request, "");
  if (!profile) return profile.error();
  return Page(Shown(*std::move(profile)), request.Parameter("source"));
}

Result<WebAnswer> WebApi::Download(const WebRequest& request) const {
  const auto exporter = ExporterByName(request.Parameter("format"));
  if (!exporter) return exporter.error();
  auto requested = Requested(request, "");
  if (!requested) return requested.error();
  const v1::Profile profile =
      (*exporter)->complete ? *std::move(requested) : Shown(*std::move(requested));
  std::ostringstream out;
  if (const auto written = (*exporter)->write(profile, {}, out); !written) return written.error();
  return WebAnswer{.type = "application/octet-stream",
                   .body = std::move(out).str(),
                   .headers = {{"Content-Disposition",
                                "attachment; filename=\"profile" +
                                    std::string((*exporter)->extensions.front()) + "\""}}};
}

Result<WebAnswer> WebApi::Compare(const WebRequest& request) const {
  auto a = Requested(request, "a.");
  if (!a) return a.error().Wrap("A");
  auto b = Requested(request, "b.");
  if (!b) return b.error().Wrap("B");
  const auto diff = Diff::Build(Shown(*std::move(a)), Shown(*std::move(b)),
                                {.absolute = request.Parameter("absolute") == "1",
                                 .a_name = request.Parameter("a.source"),
                                 .b_name = request.Parameter("b.source")});
  if (!diff) return diff.error();
  std::ostringstream out;
  if (const auto written = WriteDiffJson(*diff, out); !written) return written.error();
  return WebAnswer{.type = "application/json", .body = std::move(out).str()};
}

Result<WebAnswer> WebApi::Live(const WebRequest& request) const {
  const auto collect = LiveParameters(request);
  if (!collect) return collect.error();
  const auto live = sources_.Collect(*collect);
  if (!live) return live.error();
  auto profile = Restricted(*live->profile, request.Parameter("filter"));
  if (!profile) return profile.error();
  return Page(Shown(*std::move(profile)), std::string(kLive) + std::to_string(live->number));
}

}  // namespace profd::client
