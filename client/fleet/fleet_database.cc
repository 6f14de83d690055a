#include "client/fleet/fleet_database.h"

#include <array>
#include <string_view>
#include <utility>

#include "client/fleet/fleet_tls.h"

namespace profd::client {
namespace {

constexpr std::size_t kMostAnswerBytes = 512u << 20;

std::vector<std::string> HeadersOf(const std::string& password) {
  if (password.empty()) return {};
  return {"x-clickhouse-key: " + password};
}

// With these the server cuts no answer off in silence, whatever the profile of the user says: an
// error comes in its place. An account that may change no setting (readonly = 1) may send what is
// already so, and is refused where it is not.
constexpr std::array kWhole{
    std::pair{"skip_unavailable_shards", "0"},    std::pair{"distinct_overflow_mode", "throw"},
    std::pair{"group_by_overflow_mode", "throw"}, std::pair{"join_overflow_mode", "throw"},
    std::pair{"read_overflow_mode", "throw"},     std::pair{"result_overflow_mode", "throw"},
    std::pair{"set_overflow_mode", "throw"},      std::pair{"sort_overflow_mode", "throw"},
    std::pair{"timeout_overflow_mode", "throw"},  std::pair{"transfer_overflow_mode", "throw"}};
// Those that older servers lack: they do not cut off by them.
constexpr std::array kWholeNewer{std::pair{"limit", "0"}, std::pair{"offset", "0"},
                                 std::pair{"read_overflow_mode_leaf", "throw"},
                                 std::pair{"timeout_overflow_mode_leaf", "throw"}};
constexpr int kUnknownSetting = 115;

// What a code of ClickHouse means to who requested something.
struct CodeMeaning {
  int code;
  ErrorCode error;
  std::string_view what;
  std::string_view hint;
};

constexpr std::string_view kTables = "profctl fleet init makes the tables";
constexpr std::string_view kAccount =
    "name the user in the address and the password in PROFD_FLEET_PASSWORD, or in a file with "
    "--fleet-password-from; it needs SELECT on the tables";
constexpr std::string_view kPart =
    "the answer would be of a part of the hosts only, so there is none";
constexpr std::string_view kCut =
    "answers would be cut off without a word: the user's profile has to leave this setting at its "
    "default, or to allow that it is changed (readonly = 2)";
constexpr std::string_view kLess = "request less: a shorter time, a version, or fewer hosts";

constexpr std::array kMeanings{
    CodeMeaning{60, ErrorCode::kNotFound, "a table of the fleet is missing", kTables},
    CodeMeaning{81, ErrorCode::kNotFound, "there is no such database", kTables},
    CodeMeaning{47, ErrorCode::kNotFound, "the tables are not those of a fleet", kTables},
    CodeMeaning{kUnknownSetting, ErrorCode::kUnsupported, "the server is too old",
                "the tables need 24.8 or newer"},
    CodeMeaning{164, ErrorCode::kPermissionDenied, "the user may not change a setting", kCut},
    CodeMeaning{452, ErrorCode::kPermissionDenied, "the user may not change a setting", kCut},
    CodeMeaning{192, ErrorCode::kPermissionDenied, "the server does not know the user", kAccount},
    CodeMeaning{193, ErrorCode::kPermissionDenied, "the password is wrong", kAccount},
    CodeMeaning{194, ErrorCode::kPermissionDenied, "a password is needed", kAccount},
    CodeMeaning{497, ErrorCode::kPermissionDenied, "the user may not read the tables", kAccount},
    CodeMeaning{516, ErrorCode::kPermissionDenied, "the user or the password is wrong", kAccount},
    CodeMeaning{198, ErrorCode::kUnavailable, "a part of the cluster has no address", kPart},
    CodeMeaning{209, ErrorCode::kUnavailable, "a part of the cluster does not answer", kPart},
    CodeMeaning{210, ErrorCode::kUnavailable, "a part of the cluster does not answer", kPart},
    CodeMeaning{279, ErrorCode::kUnavailable, "a part of the cluster does not answer", kPart},
    CodeMeaning{159, ErrorCode::kExhausted, "the server gave up: it took too long", kLess},
    CodeMeaning{158, ErrorCode::kExhausted, "the server gave up: too many rows", kLess},
    CodeMeaning{241, ErrorCode::kExhausted, "the server has not enough memory for this", kLess},
    CodeMeaning{396, ErrorCode::kExhausted, "the server gave up: too many rows", kLess}};

}  // namespace

FleetDatabase::FleetDatabase(Options options)
    : options_(std::move(options)),
      client_(options_.address, HeadersOf(options_.password), options_.tls) {}

Result<std::string> FleetDatabase::Select(const std::string& sql,
                                          const std::map<std::string, std::string>& parameters) {
  const auto run = [&] {
    std::map<std::string, std::string> settings = parameters;
    settings.insert(kWhole.begin(), kWhole.end());
    if (knows_newer_) settings.insert(kWholeNewer.begin(), kWholeNewer.end());
    // Not a setting. The status is sent when the answer is complete: else an error behind the
    // first rows would come behind a status of 200, as if it were rows.
    settings.emplace("wait_end_of_query", "1");
    return client_.Run({.sql = sql + " FORMAT RowBinary",
                        .settings = std::move(settings),
                        .timeout = options_.timeout,
                        .most_answer_bytes = kMostAnswerBytes,
                        .is_cancelled = options_.is_cancelled});
  };
  ClickHouseAnswer answer = run();
  if (answer.failure.code == kUnknownSetting && std::exchange(knows_newer_, false)) answer = run();
  if (options_.is_cancelled && options_.is_cancelled())
    return Error{ErrorCode::kUnavailable, "", ""};
  if (answer.ok()) return std::move(answer.body);
  return Meaning(answer.failure);
}

Error FleetDatabase::Meaning(const ClickHouseFailure& failure) const {
  const std::string where = "the fleet at " + options_.address.url + ": ";
  for (const CodeMeaning& meaning : kMeanings)
    if (meaning.code == failure.code)
      return Error{meaning.error, where + std::string(meaning.what) + ": " + failure.message,
                   std::string(meaning.hint)};
  if (failure.status == 0 && failure.message.starts_with("the answer is longer"))
    return Error{ErrorCode::kExhausted, where + failure.message, std::string(kLess)};
  if (failure.tls) return Error{ErrorCode::kUnavailable, where + failure.message, kFleetTlsHint};
  if (failure.status == 0)
    return Error{ErrorCode::kUnavailable, where + failure.message,
                 "is the address right, and does the server listen there for HTTP?"};
  if (failure.status == 401 || failure.status == 403)
    return Error{ErrorCode::kPermissionDenied, where + failure.message, std::string(kAccount)};
  return Error{ErrorCode::kIo, where + failure.message, ""};
}

}  // namespace profd::client
