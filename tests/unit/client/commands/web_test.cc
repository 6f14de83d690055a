// The verb, and its API over files and over a real server whose history a test has written.
#include "client/commands/web/web.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "client/commands/web/history_strip.h"
#include "client/commands/web/profile_sources.h"
#include "client/commands/web/web_api.h"
#include "client/format/exporter.h"
#include "client/format/html/page_data.h"
#include "client/format/json.h"
#include "tests/support/profile_maker.h"
#include "tests/support/profiler_server.h"
#include "tests/support/sample_profiles.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/client/commands/parsed.h"

namespace profd::client {
namespace {

using nlohmann::json;
using profd::testing::Blocked;
using profd::testing::ProfileMaker;
using profd::testing::Runnable;
using profd::testing::Running;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Parameters = std::vector<std::pair<std::string, std::string>>;

TEST(WebVerbTest, TakesFilesAndAPort) {
  const auto options = OptionsOf<WebVerb>({"web", "a.json", "b.json", "--port", "8000", "--open"});
  EXPECT_THAT(options.files, ElementsAre("a.json", "b.json"));
  EXPECT_EQ(options.port, 8000);
  EXPECT_TRUE(options.open);
  EXPECT_EQ(OptionsOf<WebVerb>({"web"}).port, 0);
}

TEST(WebVerbTest, RefusesWhatIsNoPort) {
  for (const std::string port : {"0", "65536", "-1", "http", "80x", ""}) {
    if (port.empty()) continue;
    EXPECT_EQ(Refused({"web", "--port=" + port}).message, "--port " + port + " is no port");
  }
}

// One second of each of `windows`, from `kBegin` on.
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kBegin = 1'700'000'000 * kSecond;
constexpr std::uint64_t kMarginUs = kStripMarginNs / 1000;

// A history of windows of a second and a millisecond, so that neighbours overlap: in window i
// "busy" works for 100 ms * (i + 1) and waits for a lock for the rest, "idle" waits. Window 3 is
// missing.
class HistoryService : public v1::Profiler::Service {
 public:
  static constexpr int kWindows = 6;
  static constexpr int kMissing = 3;
  static constexpr std::uint64_t kOverlap = kSecond / 1000;

  grpc::Status Query(grpc::ServerContext* /*context*/, const v1::QueryRequest* request,
                     grpc::ServerWriter<v1::QueryResponse>* writer) override {
    const std::uint64_t to = request->to_unix_ns() == 0 ? UINT64_MAX : request->to_unix_ns();
    std::vector<int> windows;
    for (int i = 0; i < kWindows; ++i) {
      const std::uint64_t begin = kBegin + static_cast<std::uint64_t>(i) * kSecond;
      if (i != kMissing && begin < to && begin + kSecond + kOverlap > request->from_unix_ns())
        windows.push_back(i);
    }
    if (windows.empty()) return {grpc::StatusCode::NOT_FOUND, "nothing"};
    v1::QueryResponse response;
    response.set_profile_chunk(Of(windows).SerializeAsString());
    writer->Write(response);
    response.set_done(true);
    writer->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status Status(grpc::ServerContext* /*context*/, const v1::StatusRequest* /*request*/,
                      v1::StatusResponse* response) override {
    v1::HistoryStatus& history = *response->mutable_history();
    history.set_windows(kWindows - 1);
    history.set_window_ns(kSecond);
    history.set_first_unix_ns(kBegin);
    history.set_last_unix_ns(kBegin + kWindows * kSecond);
    return grpc::Status::OK;
  }
  grpc::Status Collect(grpc::ServerContext* /*context*/, const v1::CollectRequest* request,
                       grpc::ServerWriter<v1::CollectResponse>* writer) override {
    v1::CollectResponse response;
    response.mutable_started()->set_session(1);
    writer->Write(response);
    v1::Profile profile = profd::testing::SmallProfile();
    profile.set_target(std::to_string(request->duration_ns() / kSecond) + " s of " +
                       request->target().comm());
    response.set_profile_chunk(profile.SerializeAsString());
    writer->Write(response);
    response.set_done(true);
    writer->Write(response);
    return grpc::Status::OK;
  }

  static v1::Profile Of(const std::vector<int>& windows) {
    ProfileMaker maker;
    const auto busy = maker.AddThread(10, "busy", maker.AddProcess(10, "busy"));
    const auto idle = maker.AddThread(20, "idle", maker.AddProcess(20, "idle"));
    for (const int i : windows) {
      const auto work = static_cast<std::uint64_t>(100 * (i + 1));
      maker.Add(busy, {"main", "work"}, Running(work));
      maker.Add(busy, {"main", "lock"}, Blocked(v1::WAIT_LOCK, 1000 - work));
      maker.Add(idle, {"main", "sleep"}, Blocked(v1::WAIT_SLEEP, 1000));
    }
    v1::Profile profile = maker.Make();
    const auto first = static_cast<std::uint64_t>(windows.front());
    const auto length = static_cast<std::uint64_t>(windows.back()) + 1 - first;
    profile.set_start_unix_ns(kBegin + first * kSecond);
    profile.set_end_ns(profile.start_ns() + length * kSecond);
    return profile;
  }
};

class WebApiTest : public ::testing::Test {
 protected:
  void Serve(const std::vector<v1::Profile>& files, bool daemon = false) {
    std::vector<std::string> paths;
    for (const v1::Profile& profile : files) {
      std::ostringstream out;
      ASSERT_TRUE(JsonExporter().write(profile, {}, out));
      paths.push_back(folder_.Write(std::to_string(paths.size()) + ".json", out.str()));
    }
    Open(std::move(paths), daemon);
  }
  void Open(std::vector<std::string> paths, bool daemon = false) {
    if (daemon) {
      server_ = std::make_unique<test::ProfilerServer>(service_);
      auto client = GrpcClient::Connect(server_->address());
      ASSERT_TRUE(client) << client.error().message;
      client_ = *std::move(client);
    }
    sources_ = std::make_unique<ProfileSources>(std::move(paths), client_.get(), nullptr, console_);
    api_ = std::make_unique<WebApi>(*sources_);
  }

  [[nodiscard]] WebAnswer Get(const std::string& method, Parameters parameters = {}) const {
    return api_->Answer({.path = "/api/v1/" + method, .parameters = std::move(parameters)});
  }
  [[nodiscard]] json Json(const std::string& method, Parameters parameters = {}) const {
    const WebAnswer answer = Get(method, std::move(parameters));
    EXPECT_EQ(answer.status, 200u) << answer.body;
    EXPECT_EQ(answer.type, "application/json");
    return json::parse(answer.body);
  }
  [[nodiscard]] std::string Refusal(unsigned status, const std::string& method,
                                    Parameters parameters = {}) const {
    const WebAnswer answer = Get(method, std::move(parameters));
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.type, "application/json");
    return json::parse(answer.body)["error"];
  }
  // All columns, asked for as the page does.
  [[nodiscard]] std::vector<json> Columns(std::uint64_t from_us, std::uint64_t to_us,
                                          std::uint64_t step_us) const {
    std::vector<json> columns;
    while (from_us < to_us) {
      const json strip = Json("strip", {{"from_unix_us", std::to_string(from_us)},
                                        {"to_unix_us", std::to_string(to_us)},
                                        {"step_us", std::to_string(step_us)}});
      EXPECT_LE(strip["columns"].size(), kStripColumns);
      for (const json& column : strip["columns"]) columns.push_back(column);
      const std::uint64_t next_us = strip["next_unix_us"];
      EXPECT_GT(next_us, from_us);
      if (next_us <= from_us) break;
      from_us = next_us;
    }
    return columns;
  }

  test::TempFolder folder_;
  HistoryService service_;
  std::unique_ptr<test::ProfilerServer> server_;
  std::unique_ptr<GrpcClient> client_;
  Console console_{{.quiet = true, .palette = Palette(false)}};
  std::unique_ptr<ProfileSources> sources_;
  std::unique_ptr<WebApi> api_;
};

TEST_F(WebApiTest, ThePageIsThere) {
  Serve({});
  const WebAnswer page = api_->Answer({.path = "/"});
  EXPECT_THAT(page.type, StartsWith("text/html"));
  EXPECT_THAT(page.body, AllOf(HasSubstr("<script src=\"page.js\""), HasSubstr("id=\"flame\"")));
  // The policy allows nothing inline.
  EXPECT_THAT(page.body, Not(HasSubstr("<style")));
  EXPECT_THAT(page.body, Not(HasSubstr(" style=")));
  EXPECT_THAT(api_->Answer({.path = "/page.js"}).type, StartsWith("text/javascript"));
  EXPECT_THAT(api_->Answer({.path = "/page.css"}).type, StartsWith("text/css"));
  for (const char* path : {"/x", "/api", "/api/v1", "/api/v1/", "/api/v2/sources", "/../page.js",
                           "/api/v1/sources/", "/api/v1/../v1/sources"})
    EXPECT_EQ(api_->Answer({.path = path}).status, 404u) << path;
}

TEST_F(WebApiTest, SourcesAreFilesTheHistoryAndWhatRuns) {
  Serve({profd::testing::SmallProfile()});
  json sources = Json("sources");
  EXPECT_EQ(sources["version"], 1);
  EXPECT_EQ(sources["files"][0]["source"], "file:0");
  EXPECT_THAT(std::string(sources["files"][0]["name"]), HasSubstr("0.json"));
  EXPECT_TRUE(sources["history"].is_null());
  EXPECT_EQ(sources["live"], false);
  Serve({}, true);
  sources = Json("sources");
  EXPECT_EQ(sources["live"], true);
  EXPECT_EQ(sources["history"]["first_unix_us"], kBegin / 1000);
  EXPECT_EQ(sources["history"]["last_unix_us"], kBegin / 1000 + 6'000'000);
}

TEST_F(WebApiTest, AProfileIsThatOfThePage) {
  const v1::Profile profile = profd::testing::SmallProfile();
  Serve({profile, profd::testing::SmallProfileLater()});
  const WebAnswer answer = Get("profile", {{"source", "file:0"}});
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.body, PageData(profile, {}));
  EXPECT_NE(Get("profile", {{"source", "file:1"}}).body, answer.body);
}

TEST_F(WebApiTest, AFilterIsThatOfReport) {
  Serve({profd::testing::SmallProfile()});
  const std::string whole = Get("profile", {{"source", "file:0"}}).body;
  const WebAnswer part = Get("profile", {{"source", "file:0"}, {"filter", "state = blocked"}});
  EXPECT_EQ(part.status, 200u);
  EXPECT_NE(part.body, whole);
  EXPECT_THAT(Refusal(400, "profile", {{"source", "file:0"}, {"filter", "state = "}}),
              Not(HasSubstr("\n")));
  (void)Refusal(404, "profile", {{"source", "file:0"}, {"filter", "function = nowhere"}});
}

TEST_F(WebApiTest, RefusesWhatMakesNoSense) {
  Serve({profd::testing::SmallProfile()});
  for (const std::string source : {"", "file:", "file:1", "file:-1", "file:0x", "/etc/passwd",
                                   "file:99999999999999999999", "live", "History"})
    (void)Refusal(400, "profile", {{"source", source}});
  (void)Refusal(404, "profile", {{"source", "live:1"}});
  (void)Refusal(503, "profile", {{"source", "history"}});
  (void)Refusal(503, "live");
  (void)Refusal(400, "download", {{"source", "file:0"}, {"format", "exe"}});
  EXPECT_THAT(Refusal(400, "compare", {{"a.source", "file:0"}}), HasSubstr("b.source"));
  (void)Refusal(400, "strip", {{"from_unix_us", "5"}, {"to_unix_us", "5"}, {"step_us", "1000"}});
  (void)Refusal(400, "strip", {{"from_unix_us", "1"}, {"to_unix_us", "5"}, {"step_us", "0"}});
  (void)Refusal(400, "strip",
                {{"from_unix_us", "1"}, {"to_unix_us", "18446744073709551615"}, {"step_us", "9"}});
  (void)Refusal(400, "strip", {{"from_unix_us", "x"}, {"to_unix_us", "5"}, {"step_us", "1000"}});
  (void)Refusal(
      400, "strip",
      {{"from_unix_us", "1"}, {"to_unix_us", "5"}, {"step_us", "1000"}, {"by", "<script>"}});
  for (const std::string seconds : {"0", "61", "-1", "1e3"})
    (void)Refusal(400, "live", {{"seconds", seconds}});
}

TEST_F(WebApiTest, AFileThatIsNoneSaysSo) {
  Open({folder_.Write("bad.json", "{\"format\":\"<script>\"}")});
  EXPECT_THAT(Refusal(422, "profile", {{"source", "file:0"}}), HasSubstr("bad.json"));
}

TEST_F(WebApiTest, EveryFormatCanBeDownloaded) {
  const v1::Profile profile = profd::testing::SmallProfile();
  Serve({profile});
  const json formats = Json("formats")["formats"];
  EXPECT_EQ(formats.size(), Exporters().size());
  for (const json& format : formats) {
    const std::string name = format["name"];
    const WebAnswer answer = Get("download", {{"source", "file:0"}, {"format", name}});
    EXPECT_EQ(answer.status, 200u) << name << answer.body;
    std::ostringstream expected;
    ASSERT_TRUE((*ExporterByName(name))->write(profile, {}, expected)) << name;
    EXPECT_EQ(answer.body, expected.str()) << name;
    EXPECT_EQ(answer.type, "application/octet-stream");
    ASSERT_EQ(answer.headers.size(), 1u);
    EXPECT_THAT(answer.headers[0].second,
                ::testing::MatchesRegex("attachment; filename=\"profile[a-z.-]+\""));
  }
}

TEST_F(WebApiTest, NamesAreTextWhateverTheyAre) {
  Serve({profd::testing::HostileProfile(), profd::testing::SmallProfile()});
  const WebAnswer diff = Get("compare", {{"a.source", "file:1"}, {"b.source", "file:0"}});
  ASSERT_EQ(diff.status, 200u) << diff.body;
  EXPECT_TRUE(json::accept(diff.body));
  EXPECT_THAT(diff.body, Not(HasSubstr("<script")));
  EXPECT_EQ(Get("profile", {{"source", "file:0"}}).status, 200u);
}

TEST_F(WebApiTest, AComparisonHasBothSides) {
  Serve({profd::testing::SmallProfile(), profd::testing::SmallProfileLater()});
  const json diff = Json("compare", {{"a.source", "file:0"}, {"b.source", "file:1"}});
  EXPECT_EQ(diff["format"], "profd-diff");
  const json same = Json("compare", {{"a.source", "file:0"}, {"b.source", "file:0"}});
  for (const json& function : same["functions"])
    EXPECT_EQ(function["total"]["a_ns"], function["total"]["b_ns"]);
  const json part = Json("compare", {{"a.source", "file:0"},
                                     {"a.filter", "state = blocked"},
                                     {"b.source", "file:0"},
                                     {"b.filter", "state = working"},
                                     {"absolute", "1"}});
  for (const json& function : part["functions"])
    EXPECT_TRUE(function["self"]["a_ns"] == 0 || function["self"]["b_ns"] == 0) << function;
}

TEST_F(WebApiTest, AStripHasEachWindowOnce) {
  Serve({}, true);
  const std::uint64_t from_us = kBegin / 1000;
  const std::uint64_t to_us = from_us + 6'000'000;
  for (const std::uint64_t step_us : {1'000'000u, 700'000u, 1'500'000u, 10'000'000u}) {
    std::uint64_t working = 0;
    std::uint64_t blocked = 0;
    std::uint64_t end_us = from_us;
    for (const json& column : Columns(from_us, to_us, step_us)) {
      EXPECT_GE(column["from_unix_us"], end_us) << step_us;
      end_us = column["to_unix_us"];
      working += column["ns"][0].get<std::uint64_t>();
      blocked += column["ns"][3].get<std::uint64_t>();
      EXPECT_EQ(column["groups"].size(), 2u);
    }
    EXPECT_EQ(end_us, to_us - kMarginUs) << step_us;
    // Windows 0, 1, 2, 4 and 5: 1 + 2 + 3 + 5 + 6 times 100 ms; two threads for 5 s in all.
    EXPECT_EQ(working, 1'700'000'000u) << step_us;
    EXPECT_EQ(working + blocked, 10 * kSecond) << step_us;
  }
}

TEST_F(WebApiTest, AColumnIsWhatItsWindowHas) {
  Serve({}, true);
  const std::vector<json> columns = Columns(kBegin / 1000, kBegin / 1000 + 6'000'000, 900'000);
  ASSERT_EQ(columns.size(), 5u);  // one is missing
  EXPECT_EQ(columns[2]["from_unix_us"], kBegin / 1000 + 2'000'000 + kMarginUs);
  EXPECT_EQ(columns[3]["from_unix_us"], kBegin / 1000 + 4'000'000 + kMarginUs);
  EXPECT_EQ(columns[3]["to_unix_us"], kBegin / 1000 + 5'000'000 - kMarginUs);
  EXPECT_EQ(columns[3]["length_ns"], kSecond);
  EXPECT_EQ(columns[3]["ns"], json({500'000'000, 0, 0, 1'500'000'000, 0}));
  EXPECT_EQ(columns[3]["groups"][0]["name"], "busy");
  EXPECT_EQ(columns[3]["groups"][0]["ns"], json({500'000'000, 0, 0, 500'000'000, 0}));
}

TEST_F(WebApiTest, ARangeOfTheHistoryIsAProfile) {
  Serve({}, true);
  const std::string from = std::to_string(kBegin / 1000 + 4'000'000);
  const std::string to = std::to_string(kBegin / 1000 + 6'000'000);
  const Parameters range = {{"source", "history"}, {"from_unix_us", from}, {"to_unix_us", to}};
  v1::Profile expected = HistoryService::Of({4, 5});
  EXPECT_EQ(Get("profile", range).status, 200u);
  Parameters download = range;
  download.emplace_back("format", "folded");
  std::ostringstream folded;
  ASSERT_TRUE((*ExporterByName("folded"))->write(expected, {}, folded));
  EXPECT_EQ(Get("download", download).body, folded.str());
  (void)Refusal(400, "profile",
                {{"source", "history"}, {"from_unix_us", to}, {"to_unix_us", from}});
  const json diff = Json("compare", {{"a.source", "history"},
                                     {"a.from_unix_us", std::to_string(kBegin / 1000)},
                                     {"a.to_unix_us", std::to_string(kBegin / 1000 + 2'000'000)},
                                     {"b.source", "history"},
                                     {"b.from_unix_us", from},
                                     {"b.to_unix_us", to}});
  for (const json& state : diff["states"]) {
    if (state["state"] != "working") continue;
    EXPECT_EQ(state["a_ns"], 300'000'000);
    EXPECT_EQ(state["b_ns"], 1'100'000'000);
  }
}

TEST_F(WebApiTest, ASessionIsKeptForAWhile) {
  Serve({}, true);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ProfileSources::kKept + 1; ++i) {
    const WebAnswer live = Get("live", {{"seconds", "1"}, {"comm", "demo"}});
    ASSERT_EQ(live.status, 200u) << live.body;
    ASSERT_EQ(live.headers.size(), 1u);
    EXPECT_EQ(live.headers[0].first, "Profd-Source");
    names.push_back(live.headers[0].second);
  }
  EXPECT_EQ(names[0], "live:1");
  EXPECT_EQ(Get("profile", {{"source", names.back()}}).status, 200u);
  EXPECT_EQ(Get("profile", {{"source", names[1]}}).status, 200u);
  (void)Refusal(404, "profile", {{"source", names[0]}});
  sources_->Stop();
  EXPECT_THAT(Refusal(503, "live"), HasSubstr("ends"));
}

TEST(StripColumnTest, ManyGroupsAddUp) {
  ProfileMaker maker;
  constexpr std::uint32_t kMany = 3 * kStripGroups;
  for (std::uint32_t i = 0; i < kMany; ++i)
    maker.Add(maker.AddThread(100 + i, "t", maker.AddProcess(100 + i, "p" + std::to_string(i))),
              {"main"}, i % 2 == 0 ? Running(i + 1) : Runnable(i + 1));
  // It waits longer than all of them, and is one of the others.
  maker.Add(maker.AddThread(99, "t", maker.AddProcess(99, "waits")), {"main"},
            Blocked(v1::WAIT_LOCK, 100'000));
  const StripColumn column = ColumnOf(maker.Make(), GroupKey::kComm);
  ASSERT_EQ(column.groups.size(), kStripGroups);
  EXPECT_EQ(column.groups.front().name, "p" + std::to_string(kMany - 1));
  EXPECT_EQ(column.groups.back().name, "[others]");
  for (std::size_t part = 0; part < kParts; ++part) {
    std::uint64_t sum = 0;
    for (const StripGroup& group : column.groups) sum += group.ns[part];
    EXPECT_EQ(sum, column.ns[part]);
  }
}

}  // namespace
}  // namespace profd::client
