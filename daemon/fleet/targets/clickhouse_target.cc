#include "daemon/fleet/targets/clickhouse_target.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/aggregate/stable_hash.h"
#include "daemon/base/files.h"
#include "daemon/fleet/spool/spool.h"
#include "daemon/fleet/tables/sections.h"
#include "daemon/fleet/tables/table_encoder.h"

namespace profd::fleet {
namespace {

constexpr long kTooLarge = 413;  // of HTTP: a proxy in between
constexpr int kNoTable = 60;
constexpr int kNoDatabase = 81;
// Between two writes of the file of what was sent: after a crash the stacks of that time go again.
constexpr std::uint64_t kSavePauseNs = 600ull * 1'000'000'000;
// Codes that say that the bytes are wrong, in any version of the server.
constexpr std::array kBadRows = {
    6,    // cannot parse text
    26,   // cannot parse a quoted string
    27,   // cannot parse input
    33,   // cannot read all data
    38,   // cannot parse a date
    41,   // cannot parse a time
    49,   // logical error: an unknown value of an enum, before there was 691
    53,   // types do not fit
    69,   // argument out of bounds
    70,   // cannot convert
    72,   // cannot parse a number
    117,  // incorrect data
    128,  // array too large
    131,  // text too large
    321,  // value out of the range of its type
    354,  // cannot inflate
    691,  // unknown value of an enum
};

struct Hint {
  int code;
  std::string_view text;
};
// The server could not reach another one that its table leads to.
constexpr std::string_view kPartOfCluster =
    "a part of the cluster does not answer; with ?cluster=NAME in the target rows need only the "
    "server that takes them";
constexpr std::array kHints = {
    Hint{16, "the tables are older than profd: `profctl fleet init` brings them up to date"},
    Hint{kNoTable, "`profctl fleet init` creates the tables"},
    Hint{kNoDatabase, "`profctl fleet init` creates the database"},
    Hint{115, "the server is too old: the tables need 24.8 or newer"},
    Hint{164, "the user must be allowed to write: `profctl fleet grant` prints how"},
    Hint{192, "no such user: see USER@ in the target"},
    Hint{193, "wrong password: headers_from names a file with 'x-clickhouse-key: PASSWORD'"},
    Hint{194, "no password: headers_from names a file with 'x-clickhouse-key: PASSWORD'"},
    Hint{209, kPartOfCluster},
    Hint{210, kPartOfCluster},
    Hint{279, kPartOfCluster},
    Hint{291, "the user may not use the database: see USER@ in the target"},
    Hint{497, "the user needs INSERT: `profctl fleet grant` prints how"},
    Hint{516,
         "wrong user or password: see USER@ in the target; headers_from names a file with "
         "'x-clickhouse-key: PASSWORD'"},
};

std::string Token(std::string_view host, const SpoolEntry& entry, const Section& section) {
  // Two hosts of one name are two in this way, and so are two exports of one host.
  std::string hash;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const std::byte byte : HashBytes(section.body)) {
    hash += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hash += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return std::string(host) + "/" + std::to_string(entry.from_unix_ns) + "/" +
         std::string(NameOf(section.table)) + "/" + std::to_string(section.part) + "/" + hash;
}

}  // namespace

ClickHouseTarget::ClickHouseTarget(const ExportSettings& settings, std::string host,
                                   std::string folder)
    : settings_(settings),
      host_(std::move(host)),
      receiver_(settings.clickhouse.url + "\n" + settings.clickhouse.database + "\n" +
                settings.clickhouse.cluster),
      file_(std::move(folder) + "/sent_stacks"),
      client_(settings.clickhouse, {}, settings.tls_files) {
  if (const auto bytes = ReadFile(file_, SentStacks::kMostBytes)) sent_.Unpack(*bytes, receiver_);
}

Result<EncodedProfile> ClickHouseTarget::Encode(const ExportProfile& profile) {
  EncodedProfile encoded;
  encoded.payloads.push_back(EncodeTables(profile,
                                          {.rows = settings_.rows,
                                           .body_bytes = settings_.request_bytes,
                                           .encoding = settings_.compression},
                                          sent_));
  return encoded;
}

Verdict ClickHouseTarget::Send(const SpoolEntry& entry, std::uint64_t number) {
  const auto headers = ReadHeaders(settings_.headers_from);
  if (!headers) return {.kind = Verdict::Kind::kLater, .message = headers.error().message};
  std::vector<std::string> lines;
  for (const Header& header : *headers) lines.push_back(header.name + ": " + header.value);
  client_.SetHeaders(std::move(lines));
  const auto sections = UnpackSections(entry.payload);
  if (!sections)
    return {.kind = Verdict::Kind::kRefused,
            .cause = "spool_damaged",
            .message = sections.error().message};
  if (std::exchange(number_, number) != number) done_ = 0;
  // In a cluster rows stay on the server that took them: only there a token can be recognized.
  const std::string suffix = settings_.clickhouse.cluster.empty() ? "" : "_local";
  for (; done_ < sections->size(); ++done_) {
    const Section& section = (*sections)[done_];
    const auto answer =
        client_.Run({.sql = "INSERT INTO " + std::string(NameOf(section.table)) + suffix + " (" +
                            std::string(ColumnsOf(section)) + ") FORMAT RowBinary",
                     .body = section.body,
                     .encoding = section.encoding,
                     .settings = {{"async_insert", "1"},
                                  {"wait_for_async_insert", "1"},
                                  {"async_insert_deduplicate", "1"},
                                  {"insert_deduplicate", "1"},
                                  {"insert_deduplication_token", Token(host_, entry, section)}},
                     .timeout = settings_.timeout,
                     .most_answer_bytes = 1u << 20});
    if (answer.ok()) continue;
    // The tables that come in their place have no stacks.
    if (answer.failure.code == kNoTable || answer.failure.code == kNoDatabase) {
      sent_.Forget();
      ::unlink(file_.c_str());
      saved_unix_ns_ = 0;
    }
    return VerdictOfClickHouse(answer.failure);
  }
  sent_.Delivered(entry.payload);
  SaveSent(entry.from_unix_ns);
  return {};
}

void ClickHouseTarget::SaveSent(std::uint64_t unix_ns) {
  // The time of the host may go back.
  if (unix_ns - saved_unix_ns_ < kSavePauseNs || !sent_.TakeChanged()) return;
  // Of a file that cannot be written stacks go out once more after a start: nothing is lost.
  if (WriteWhole(file_, sent_.Pack(receiver_))) saved_unix_ns_ = unix_ns;
}

Verdict VerdictOfClickHouse(const ClickHouseFailure& failure) {
  if (failure.code == 0 && failure.status == kTooLarge)
    return {.kind = Verdict::Kind::kRefused,
            .cause = "refused_http_413",
            .message = failure.message + "; a smaller `request` may pass"};
  if (std::ranges::find(kBadRows, failure.code) != kBadRows.end())
    return {.kind = Verdict::Kind::kRefused,
            .cause = "refused_clickhouse_" + std::to_string(failure.code),
            .message = failure.message};
  Verdict later{.kind = Verdict::Kind::kLater, .message = failure.message};
  if (failure.tls)
    later.message =
        "the host in the target must be a name in the server's certificate, which the authorities "
        "of tls_ca have signed: " +
        failure.message;
  if (const auto hint = std::ranges::find(kHints, failure.code, &Hint::code); hint != kHints.end())
    later.message = std::string(hint->text) + ": " + failure.message;
  return later;
}

}  // namespace profd::fleet
