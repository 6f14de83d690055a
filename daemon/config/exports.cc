#include "daemon/config/exports.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/base/duration.h"
#include "daemon/base/http/host_port.h"
#include "daemon/config/settings.h"

namespace profd::config {
namespace {

using fleet::ExportSettings;
using fleet::RelabelRule;

constexpr std::size_t kMaxExports = 16;
constexpr std::size_t kMaxNameBytes = 32;
constexpr std::uint64_t kLeastSpoolBytes = 1u << 20;
constexpr std::uint64_t kLeastRequestBytes = 64u << 10;
constexpr std::uint64_t kMostRequestBytes = 64u << 20;
constexpr std::uint64_t kLeastRows = 10;
constexpr std::uint64_t kMostRows = 100'000;
constexpr std::uint64_t kHttpRequestBytes = 20u << 20;
// Pyroscope takes 2 MB at once from all hosts of a tenant, and nothing that is older than an hour.
constexpr std::uint64_t kPyroscopeRequestBytes = 1u << 20;
constexpr auto kPyroscopeMaxAge = std::chrono::hours(1);

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool IsHostAndPort(std::string_view text) {
  const auto parsed = ParseHostPort(text);
  return parsed && parsed->port != 0;
}

// "http://HOST:PORT", and a path where it is not the usual one.
bool TakeUrl(std::string_view url, std::string_view usual_path, ExportSettings& settings) {
  settings.tls = url.starts_with("https://");
  if (!settings.tls && !url.starts_with("http://")) return false;
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = url.find('/', host);
  const bool whole = path == std::string_view::npos;
  settings.address = std::string(url) + std::string(whole ? usual_path : "");
  const bool plain = std::ranges::all_of(url, [](char c) { return c > ' ' && c <= '~'; });
  return plain && IsHostAndPort(url.substr(host, whole ? path : path - host));
}

// "otlp+grpc://HOST:PORT" with this scheme, or with TLS and an s behind it.
bool TakeGrpc(std::string_view to, std::string_view scheme, fleet::TargetKind kind,
              ExportSettings& settings) {
  settings.kind = kind;
  to.remove_prefix(scheme.size());
  settings.tls = to.starts_with('s');
  if (settings.tls) to.remove_prefix(1);
  constexpr std::string_view kSlashes = "://";
  if (!to.starts_with(kSlashes)) return false;
  to.remove_prefix(kSlashes.size());
  settings.address = to;
  return IsHostAndPort(to);
}

bool TakePyroscope(std::string_view to, ExportSettings& settings) {
  settings.request_bytes = kPyroscopeRequestBytes;
  settings.max_age = kPyroscopeMaxAge;
  if (to.starts_with("pyroscope+grpc"))
    return TakeGrpc(to, "pyroscope+grpc", fleet::TargetKind::kPyroscopeGrpc, settings);
  settings.kind = fleet::TargetKind::kPyroscopeHttp;
  constexpr std::string_view kScheme = "pyroscope+";
  if (!TakeUrl(to.substr(kScheme.size()), "", settings)) return false;
  if (settings.address.ends_with('/')) settings.address.pop_back();
  settings.address += "/push.v1.PusherService/Push";
  return true;
}

// Parts between slashes that need no escape.
bool IsPlainPath(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    const bool plain = std::ranges::all_of(part, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_' || c == '.';
    });
    if (part.empty() || part == "." || part == ".." || !plain) return false;
    if (slash == path.size() - 1) return false;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return true;
}

// "BUCKET/PREFIX?endpoint=http://HOST:PORT&region=REGION".
bool TakeS3(std::string_view to, ExportSettings& settings) {
  settings.kind = fleet::TargetKind::kS3;
  settings.region = "us-east-1";
  const std::size_t question = to.find('?');
  const std::string_view path = to.substr(0, question);
  std::string endpoint;
  for (std::string_view rest = question == std::string_view::npos ? "" : to.substr(question + 1);
       !rest.empty();) {
    const std::string_view parameter = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), parameter.size() + 1));
    const std::string_view value =
        parameter.substr(std::min(parameter.size(), parameter.find('=') + 1));
    if (parameter.starts_with("endpoint="))
      endpoint = value;
    else if (parameter.starts_with("region=") && !value.empty() && IsPlainPath(value) &&
             value.find('/') == std::string_view::npos)
      settings.region = value;
    else
      return false;
  }
  if (endpoint.ends_with('/')) endpoint.pop_back();
  if (endpoint.empty()) {
    endpoint = "https://s3." + settings.region + ".amazonaws.com";
    settings.tls = true;
  } else if (std::ranges::count(endpoint, '/') != 2 || !TakeUrl(endpoint, "", settings)) {
    return false;
  }
  settings.address = endpoint + "/" + std::string(path);
  return !path.empty() && IsPlainPath(path);
}

// Fills kind, address and tls, and what is usual for that target. False: it is no target.
bool TakeTarget(std::string_view to, ExportSettings& settings) {
  constexpr std::string_view kFiles = "files:";
  constexpr std::string_view kOtlp = "otlp+";
  constexpr std::string_view kS3 = "s3://";
  if (to.starts_with(kFiles)) {
    to.remove_prefix(kFiles.size());
    settings.kind = fleet::TargetKind::kFiles;
    settings.address = to;
    return to.starts_with('/') && to.size() > 1;
  }
  if (to.starts_with("pyroscope+")) return TakePyroscope(to, settings);
  if (to.starts_with("parca+grpc"))
    return TakeGrpc(to, "parca+grpc", fleet::TargetKind::kParcaGrpc, settings);
  if (to.starts_with(kS3)) return TakeS3(to.substr(kS3.size()), settings);
  if (to.starts_with("clickhouse")) {
    auto address = ParseClickHouseAddress(to);
    if (!address) return false;
    settings.kind = fleet::TargetKind::kClickHouse;
    settings.tls = address->tls;
    settings.clickhouse = *std::move(address);
    return true;
  }
  if (to.starts_with("otlp+http")) {
    settings.kind = fleet::TargetKind::kOtlpHttp;
    settings.request_bytes = kHttpRequestBytes;
    return TakeUrl(to.substr(kOtlp.size()), "/v1development/profiles", settings);
  }
  return to.starts_with("otlp+grpc") &&
         TakeGrpc(to, "otlp+grpc", fleet::TargetKind::kOtlpGrpc, settings);
}

// Walks one table of [[export]] or [[export.relabel]].
class Table {
 public:
  Table(const toml::table& table, TomlProblems& problems) : table_(table), problems_(problems) {}

  void Check(const std::vector<ExportKey>& keys, const char* kind) {
    for (const auto& [name, node] : table_) {
      const bool known =
          std::ranges::any_of(keys, [&](const ExportKey& key) { return name.str() == key.name; });
      if (known) continue;
      std::string names;
      for (const ExportKey& key : keys)
        names += (names.empty() ? "" : ", ") + std::string(key.name);
      problems_.Add(node,
                    "unknown key '" + std::string(name.str()) + "'; " + kind + " has " + names);
    }
  }

  [[nodiscard]] const toml::node* Find(const char* key) const { return table_.get(key); }

  void Wrong(const char* key, const std::string& what) {
    const toml::node* node = Find(key);
    problems_.Add(node == nullptr ? table_ : *node, std::string(key) + " " + what);
  }

  [[nodiscard]] std::optional<std::string> Text(const char* key) {
    const toml::node* node = Find(key);
    if (node == nullptr) return std::nullopt;
    if (const auto* text = node->as_string()) return text->get();
    Wrong(key, "must be a string");
    return std::nullopt;
  }

  void TakeText(const char* key, std::string& to) {
    if (auto text = Text(key)) to = *std::move(text);
  }

  void TakeTexts(const char* key, std::vector<std::string>& to) {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const auto* list = node->as_array();
    if (list == nullptr) return Wrong(key, "must be a list of strings: [\"...\"]");
    for (const toml::node& element : *list) {
      const auto* text = element.as_string();
      if (text == nullptr) return Wrong(key, "must be a list of strings: [\"...\"]");
      to.push_back(text->get());
    }
  }

  template <typename Value>
  void TakeChoice(const char* key,
                  std::initializer_list<std::pair<std::string_view, Value>> choices, Value& to) {
    const auto text = Text(key);
    if (!text) return;
    std::string names;
    for (const auto& [name, value] : choices) {
      if (name == *text) return void(to = value);
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    Wrong(key, "is '" + *text + "'; it must be one of " + names);
  }

  void TakeDuration(const char* key, const DurationLimits& limits, std::chrono::nanoseconds& to) {
    const auto text = Text(key);
    if (!text) return;
    const auto ns = ParseDuration(*text, limits);
    if (ns)
      to = std::chrono::nanoseconds(*ns);
    else
      Wrong(key, "is '" + *text + "'; it must be a duration such as " + DurationForms(limits) +
                     ", from " + std::string(limits.least) + " to " + std::string(limits.most));
  }

  void TakeBytes(const char* key, std::uint64_t least, std::uint64_t most, std::uint64_t& to) {
    const auto text = Text(key);
    if (!text) return;
    const auto bytes = ParseBytes(*text);
    if (bytes && bytes->count >= least && bytes->count <= most)
      to = bytes->count;
    else
      Wrong(key, "is '" + *text + "'; it must be a size such as 64MiB, at least " +
                     std::to_string(least >> 10) + "KiB" +
                     (most == UINT64_MAX ? "" : ", at most " + std::to_string(most >> 20) + "MiB"));
  }

  void TakeCount(const char* key, std::uint64_t least, std::uint64_t most, std::uint64_t& to) {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const auto* number = node->as_integer();
    if (number != nullptr && number->get() >= static_cast<std::int64_t>(least) &&
        number->get() <= static_cast<std::int64_t>(most))
      to = static_cast<std::uint64_t>(number->get());
    else
      Wrong(key, "must be a number from " + std::to_string(least) + " to " + std::to_string(most));
  }

 private:
  const toml::table& table_;
  TomlProblems& problems_;
};

RelabelRule ReadRule(const toml::table& table, TomlProblems& problems) {
  Table from(table, problems);
  const std::size_t before = problems.size();
  from.Check(RelabelKeys(), "[[export.relabel]]");
  RelabelRule rule;
  if (const auto action = from.Text("action")) {
    if (const auto known = fleet::ActionNamed(*action))
      rule.action = *known;
    else
      from.Wrong("action", "is '" + *action +
                               "'; it must be one of replace, keep, drop, labelmap, labeldrop, "
                               "labelkeep");
  }
  from.TakeTexts("source_labels", rule.source_labels);
  from.TakeText("separator", rule.separator);
  from.TakeText("regex", rule.regex);
  from.TakeText("target_label", rule.target_label);
  from.TakeText("replacement", rule.replacement);
  if (problems.size() == before)
    if (const auto made = fleet::Relabelling::Make({rule}); !made)
      problems.Add(table, made.error().message);
  return rule;
}

void ReadRules(const toml::node& node, TomlProblems& problems, std::vector<RelabelRule>& rules) {
  const auto* list = node.as_array();
  if (list == nullptr)
    return problems.Add(node, "relabel must be a table of a list: write [[export.relabel]]");
  for (const toml::node& element : *list) {
    if (const auto* table = element.as_table())
      rules.push_back(ReadRule(*table, problems));
    else
      problems.Add(element, "relabel must be a table of a list: write [[export.relabel]]");
  }
}

std::string Quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      quoted += std::string("\\u00") + kDigits[byte >> 4] + kDigits[byte & 15];
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string Quoted(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + Quoted(text);
  return "[" + list + "]";
}

void TakeTls(Table& from, ExportSettings& settings) {
  TlsFiles& files = settings.tls_files;
  for (const auto& [key, file] : {std::pair("tls_ca", &files.ca),
                                  {"tls_certificate", &files.certificate},
                                  {"tls_key", &files.key}}) {
    from.TakeText(key, *file);
    if (!file->empty() && !settings.tls)
      from.Wrong(key, "needs a target with TLS: grpcs://, https:// or clickhouses://");
  }
  if (files.certificate.empty() != files.key.empty())
    from.Wrong(files.key.empty() ? "tls_certificate" : "tls_key",
               "is of use only with the other one of tls_certificate and tls_key");
}

ExportSettings ReadExport(const toml::table& table, TomlProblems& problems) {
  Table from(table, problems);
  from.Check(ExportKeys(), "[[export]]");
  ExportSettings settings;
  from.TakeText("name", settings.name);
  if (!IsName(settings.name))
    from.Wrong("name", "must be set, of at most 32 small letters, digits, - and _");
  from.TakeText("to", settings.to);
  if (!TakeTarget(settings.to, settings))
    from.Wrong("to", "is '" + settings.to +
                         "'; it must be files:/DIR, otlp+grpc://HOST:PORT, otlp+http://HOST:PORT, "
                         "pyroscope+http://HOST:PORT, pyroscope+grpc://HOST:PORT, "
                         "parca+grpc://HOST:PORT (with grpcs or https by TLS), "
                         "clickhouse://[USER@]HOST[:PORT]/DATABASE or clickhouses://..., or "
                         "s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION");
  from.TakeChoice<fleet::What>(
      "what", {{"wall", fleet::What::kWall}, {"on_cpu", fleet::What::kOnCpu}}, settings.what);
  const bool may_zstd = settings.kind == fleet::TargetKind::kClickHouse;
  if (may_zstd) settings.compression = fleet::Compression::kZstd;
  from.TakeChoice<fleet::Compression>("compression",
                                      {{"gzip", fleet::Compression::kGzip},
                                       {"zstd", fleet::Compression::kZstd},
                                       {"none", fleet::Compression::kNone}},
                                      settings.compression);
  if (settings.compression == fleet::Compression::kZstd && !may_zstd)
    from.Wrong("compression", "is 'zstd', which is for clickhouse alone: write gzip or none");
  from.TakeDuration("interval", {.least = "1s", .most = "1h"}, settings.interval);
  from.TakeDuration("timeout", {.least = "100ms", .most = "5min"}, settings.timeout);
  from.TakeBytes("spool", kLeastSpoolBytes, UINT64_MAX, settings.spool_bytes);
  from.TakeBytes("request", kLeastRequestBytes, kMostRequestBytes, settings.request_bytes);
  from.TakeTexts("headers_from", settings.headers_from);
  TakeTls(from, settings);
  from.TakeText("credentials_from", settings.credentials_from);
  if (from.Find("max_age") != nullptr)
    from.TakeDuration("max_age", {.least = "1min", .most = "30d"}, settings.max_age);
  const bool files = settings.kind == fleet::TargetKind::kFiles;
  const bool s3 = settings.kind == fleet::TargetKind::kS3;
  for (const char* key : {"headers_from", "timeout"})
    if (files && from.Find(key) != nullptr) from.Wrong(key, "is not for files");
  if ((files || s3) && from.Find("request") != nullptr)
    from.Wrong("request", "is not for files: a profile is one of them");
  if (s3 && settings.credentials_from.empty())
    from.Wrong("credentials_from",
               "must be set: a file with lines 'access_key: ...' and 'secret_key: ...'");
  if (!s3 && !settings.credentials_from.empty()) from.Wrong("credentials_from", "is for s3 alone");
  from.TakeCount("rows", kLeastRows, kMostRows, settings.rows);
  if (settings.kind != fleet::TargetKind::kClickHouse && from.Find("rows") != nullptr)
    from.Wrong("rows", "is for clickhouse:// alone");
  if (const toml::node* rules = from.Find("relabel")) ReadRules(*rules, problems, settings.relabel);
  return settings;
}

}  // namespace

std::string ExportToml(const ExportSettings& settings) {
  std::string text = "\n[[export]]\n";
  const auto add = [&text](const char* key, const std::string& value) {
    text += std::string(key) + " = " + value + "\n";
  };
  const bool requests = settings.kind != fleet::TargetKind::kFiles;
  add("name", Quoted(settings.name));
  add("to", Quoted(settings.to));
  add("what", Quoted(settings.what == fleet::What::kWall ? "wall" : "on_cpu"));
  add("interval", Quoted(DurationText(static_cast<std::uint64_t>(settings.interval.count()))));
  add("compression", Quoted(std::string(NameOf(settings.compression))));
  add("spool", Quoted(std::to_string(settings.spool_bytes)));
  if (requests) {
    add("timeout", Quoted(DurationText(static_cast<std::uint64_t>(settings.timeout.count()))));
    if (settings.kind != fleet::TargetKind::kS3)
      add("request", Quoted(std::to_string(settings.request_bytes)));
    add("headers_from", Quoted(settings.headers_from));
  }
  if (settings.kind == fleet::TargetKind::kClickHouse) add("rows", std::to_string(settings.rows));
  if (!settings.credentials_from.empty())
    add("credentials_from", Quoted(settings.credentials_from));
  if (settings.max_age.count() != 0)
    add("max_age", Quoted(DurationText(static_cast<std::uint64_t>(settings.max_age.count()))));
  for (const auto& [key, file] : {std::pair("tls_ca", &settings.tls_files.ca),
                                  {"tls_certificate", &settings.tls_files.certificate},
                                  {"tls_key", &settings.tls_files.key}})
    if (!file->empty()) add(key, Quoted(*file));
  for (const RelabelRule& rule : settings.relabel) {
    text += "[[export.relabel]]\n";
    add("action", Quoted(NameOf(rule.action)));
    if (!rule.source_labels.empty()) add("source_labels", Quoted(rule.source_labels));
    add("separator", Quoted(rule.separator));
    add("regex", Quoted(rule.regex));
    if (!rule.target_label.empty()) add("target_label", Quoted(rule.target_label));
    add("replacement", Quoted(rule.replacement));
  }
  return text;
}

const std::vector<ExportKey>& ExportKeys() {
  static const std::vector<ExportKey> keys = {
      {"name", "\"collector\"", "of this export: in status, in metrics, and of its spool"},
      {"to", "\"otlp+grpc://127.0.0.1:4317\"",
       "where to: otlp+grpc://HOST:PORT or otlp+http://HOST:PORT[/PATH] for OTLP profiles, "
       "pyroscope+http://HOST:PORT[/PATH] or pyroscope+grpc://HOST:PORT, parca+grpc://HOST:PORT, "
       "each with grpcs or https by TLS; clickhouse://[USER@]HOST[:PORT]/DATABASE[?cluster=NAME] "
       "for "
       "the tables of a fleet, with clickhouses by TLS; "
       "s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME] or files:/DIR for pprof "
       "files"},
      {"what", "\"wall\"",
       "wall: all time of threads, by state and reason; on_cpu: running and spinning alone"},
      {"interval", "\"1min\"",
       "how much time one profile has, from 1s to 1h; windows of the history are not split"},
      {"compression", "\"gzip\"", "gzip, none, or to clickhouse zstd, which is the default there"},
      {"spool", "\"256MiB\"",
       "how much may wait on disk for a target that does not answer; then the oldest is lost"},
      {"timeout", "\"10s\"", "of one request, from 100ms to 5min; not for files"},
      {"request", "\"4MiB\"",
       "largest request, without compression, from 64KiB to 64MiB (otlp+http: 20MiB by default, "
       "pyroscope: 1MiB); larger profiles are split, and halved where the receiver takes less; not "
       "for files and s3"},
      {"rows", "2000",
       "of clickhouse alone: rows of one profile, from 10 to 100000; the least of them become one "
       "row (other) for each service, state and reason"},
      {"headers_from", "[\"/etc/profd/token\"]",
       "files with lines 'name: value', read again for each request; not for files"},
      {"credentials_from", "\"/etc/profd/s3\"",
       "of s3: file with lines 'access_key: VALUE', 'secret_key: VALUE' and, if there is one, "
       "'session_token: VALUE', read again for each request"},
      {"max_age", "\"1h\"",
       "what waits for longer is passed over and counted as too_old, from 1min to 30d; pyroscope: "
       "1h "
       "by default, as its own limit; others: never"},
      {"tls_ca", "\"/etc/profd/ca.pem\"",
       "certificates of the authorities that sign the receiver's, in PEM; without it those of the "
       "system"},
      {"tls_certificate", "\"/etc/profd/client.pem\"",
       "certificate by which the receiver knows this host, in PEM; it is read again for each new "
       "connection over HTTP, and once over gRPC"},
      {"tls_key", "\"/etc/profd/client.key\"", "its key, in PEM, without a passphrase"},
      {"relabel", "[]", "[[export.relabel]]: what leaves the host, and under which labels"},
  };
  return keys;
}

const std::vector<ExportKey>& RelabelKeys() {
  static const std::vector<ExportKey> keys = {
      {"action", "\"replace\"", "replace, keep, drop, labelmap, labeldrop or labelkeep"},
      {"source_labels", "[\"service.name\"]", "labels whose values the regex has to match"},
      {"separator", "\";\"", "between these values"},
      {"regex", "\"(.*)\"", "regular expression of RE2 that has to match the whole text"},
      {"target_label", "\"\"", "of replace: the label that is set; empty values remove it"},
      {"replacement", "\"$1\"", "of replace the value, of labelmap the name"},
  };
  return keys;
}

std::vector<ExportSettings> ReadExports(const toml::node& exports, TomlProblems& problems) {
  std::vector<ExportSettings> all;
  const char* const advice = "export must be a table of a list: write [[export]]";
  const auto* list = exports.as_array();
  if (list == nullptr) return problems.Add(exports, advice), all;
  for (const toml::node& element : *list) {
    const auto* table = element.as_table();
    if (table == nullptr) {
      problems.Add(element, advice);
      continue;
    }
    auto settings = ReadExport(*table, problems);
    if (std::ranges::find(all, settings.name, &ExportSettings::name) != all.end())
      problems.Add(*table, "name '" + settings.name + "' is that of another export");
    all.push_back(std::move(settings));
  }
  if (all.size() > kMaxExports)
    problems.Add(exports, "there are " + std::to_string(all.size()) + " exports; at most " +
                              std::to_string(kMaxExports) + " are possible");
  return all;
}

}  // namespace profd::config
