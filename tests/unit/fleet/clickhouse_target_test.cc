#include "daemon/fleet/targets/clickhouse_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "daemon/base/unique_fd.h"
#include "daemon/fleet/tables/sections.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

using ::testing::HasSubstr;
using Kind = Verdict::Kind;

// Takes requests, one connection after another; answers 200 or what is to come next.
class Server {
 public:
  struct Request {
    std::string head;
    std::string body;
    [[nodiscard]] std::string Parameter(const std::string& name) const {
      const std::size_t begin = head.find("&" + name + "=");
      if (begin == std::string::npos) return "";
      const std::size_t value = begin + name.size() + 2;
      return head.substr(value, head.find_first_of("& ", value) - value);
    }
    [[nodiscard]] std::string Table() const {
      const std::string sql = Parameter("query");  // "INSERT%20INTO%20stack%20%28..."
      constexpr std::size_t kBegin = 16;
      return sql.substr(kBegin, sql.find('%', kBegin) - kBegin);
    }
  };

  Server() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{.sin_family = AF_INET,
                        .sin_port = 0,
                        .sin_addr = {.s_addr = ::htonl(INADDR_LOOPBACK)},
                        .sin_zero = {}};
    socklen_t length = sizeof(address);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ::ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }
  [[nodiscard]] int port() const { return port_; }
  void AnswerNext(const std::string& answer) {
    const std::scoped_lock lock(mutex_);
    answers_.push_back(answer);
  }
  std::vector<Request> TakeRequests() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  static bool Readable(int fd, const std::stop_token& stop) {
    pollfd one{fd, POLLIN, 0};
    constexpr int kMilliseconds = 20;
    while (!stop.stop_requested())
      if (::poll(&one, 1, kMilliseconds) > 0) return true;
    return false;
  }
  void Serve(const std::stop_token& stop) {
    while (Readable(listener_.get(), stop)) {
      const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::string bytes;
      while (ReadRequest(client.get(), stop, bytes)) continue;
    }
  }
  // Requests of one connection, which the client keeps.
  bool ReadRequest(int client, const std::stop_token& stop, std::string& bytes) {
    std::size_t whole = 0;
    std::size_t head = 0;
    while (whole == 0 || bytes.size() < whole) {
      if (!Readable(client, stop)) return false;
      std::string part(64u << 10, '\0');
      const ssize_t length = ::read(client, part.data(), part.size());
      if (length <= 0) return false;
      bytes.append(part, 0, static_cast<std::size_t>(length));
      head = bytes.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const std::size_t at = bytes.find("Content-Length: ");
      whole = head + 4 + (at < head ? std::stoul(bytes.substr(at + 16)) : 0);
    }
    const std::scoped_lock lock(mutex_);
    requests_.push_back({bytes.substr(0, head), bytes.substr(head + 4, whole - head - 4)});
    bytes.erase(0, whole);
    std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    if (!answers_.empty()) {
      answer = answers_.front();
      answers_.pop_front();
    }
    return !answer.empty() && ::write(client, answer.data(), answer.size()) > 0;
  }

  UniqueFd listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::deque<std::string> answers_;
  std::vector<Request> requests_;
  std::jthread thread_;
};

std::string Failure(int status, int code) {
  const std::string body = "Code: " + std::to_string(code) + ". DB::Exception: for a test.";
  return "HTTP/1.1 " + std::to_string(status) +
         " No\r\nX-ClickHouse-Exception-Code: " + std::to_string(code) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class ClickHouseTargetTest : public ::testing::Test {
 protected:
  ClickHouseTargetTest() {
    HttpClient::PrepareProcess();
    settings_.kind = TargetKind::kClickHouse;
    settings_.compression = Compression::kZstd;
    settings_.clickhouse = {.url = "http://127.0.0.1:" + std::to_string(server_.port()),
                            .user = "agent",
                            .database = "profd"};
    settings_.headers_from = {folder_.Write("key", "X-ClickHouse-Key: secret\n")};
  }
  SpoolEntry Entry(ClickHouseTarget& target) {
    auto encoded = target.Encode(
        MakeExportProfile(store::MakeWindow(0), What::kWall, *Relabelling::Make({}), nullptr));
    EXPECT_EQ(encoded->payloads.size(), 1u);
    return {.from_unix_ns = store::kStartUnixNs, .payload = std::move(encoded->payloads[0])};
  }
  std::string Folder() const { return folder_.Path(""); }
  std::vector<std::string> Tables(const std::vector<Server::Request>& requests) {
    std::vector<std::string> tables;
    for (const auto& request : requests) tables.push_back(request.Table());
    return tables;
  }

  const test::TempFolder folder_;
  Server server_;
  ExportSettings settings_;
};

TEST_F(ClickHouseTargetTest, InsertsTablesInTheirOrderWithTokens) {
  ClickHouseTarget target(settings_, "web-1", Folder());
  const SpoolEntry entry = Entry(target);
  EXPECT_EQ(target.Send(entry, 1).kind, Kind::kSent);
  const auto requests = server_.TakeRequests();
  EXPECT_EQ(Tables(requests),
            (std::vector<std::string>{"stack", "sample", "clock", "host_window"}));
  std::set<std::string> tokens;
  for (const auto& request : requests) {
    EXPECT_THAT(request.head, HasSubstr("content-encoding: zstd"));
    EXPECT_THAT(request.head, HasSubstr("x-clickhouse-user: agent"));
    EXPECT_THAT(request.head, HasSubstr("x-clickhouse-key: secret"));
    for (const char* name : {"async_insert", "wait_for_async_insert", "async_insert_deduplicate"})
      EXPECT_EQ(request.Parameter(name), "1") << name;
    const std::string token = request.Parameter("insert_deduplication_token");
    EXPECT_THAT(token, HasSubstr("web-1%2F1700000040000000000%2F" + request.Table() + "%2F0%2F"));
    EXPECT_TRUE(tokens.insert(token).second);
  }
}

// Tables of version 2 have neither the table nor the column: the first of them is what is said.
TEST_F(ClickHouseTargetTest, PathsGoBeforeTheRowsThatHaveThem) {
  ClickHouseTarget target(settings_, "web-1", Folder());
  EXPECT_EQ(target.paths(), Paths::kKept);
  auto encoded =
      target.Encode(MakeExportProfile(store::MakeWindow(0, {.wakers = true}), What::kWall,
                                      *Relabelling::Make({}), nullptr, target.paths()));
  const SpoolEntry entry{.from_unix_ns = store::kStartUnixNs,
                         .payload = std::move(encoded->payloads[0])};
  server_.AnswerNext("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  server_.AnswerNext(Failure(404, 60));
  const Verdict later = target.Send(entry, 1);
  EXPECT_EQ(later.kind, Kind::kLater);
  EXPECT_THAT(later.message, HasSubstr("`profctl fleet init` creates the tables"));
  EXPECT_EQ(target.Send(entry, 1).kind, Kind::kSent);
  EXPECT_EQ(Tables(server_.TakeRequests()),
            (std::vector<std::string>{"stack", "path", "path", "sample", "clock", "host_window"}));
}

TEST_F(ClickHouseTargetTest, AnotherTryHasTheSameTokensAndGoesOn) {
  auto target = std::make_unique<ClickHouseTarget>(settings_, "web-1", Folder());
  const SpoolEntry entry = Entry(*target);
  server_.AnswerNext("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  server_.AnswerNext(Failure(503, 241));
  const Verdict later = target->Send(entry, 5);
  EXPECT_EQ(later.kind, Kind::kLater);
  EXPECT_EQ(later.message, "Code: 241. DB::Exception: for a test.");
  const auto first = server_.TakeRequests();
  EXPECT_EQ(Tables(first), (std::vector<std::string>{"stack", "sample"}));
  // Answers are lost; on a connection that was kept libcurl itself tries once more.
  server_.AnswerNext("");
  server_.AnswerNext("");
  EXPECT_EQ(target->Send(entry, 5).kind, Kind::kLater);
  EXPECT_EQ(target->Send(entry, 5).kind, Kind::kSent);
  const auto rest = server_.TakeRequests();
  EXPECT_EQ(Tables(rest),
            (std::vector<std::string>{"sample", "sample", "sample", "clock", "host_window"}));
  for (std::size_t i : {0u, 1u, 2u}) {
    EXPECT_EQ(rest[i].Parameter("insert_deduplication_token"),
              first[1].Parameter("insert_deduplication_token"));
    EXPECT_EQ(rest[i].body, first[1].body);
  }
  // After a start it begins with the first table again.
  target.reset();
  ClickHouseTarget started(settings_, "web-1", Folder());
  EXPECT_EQ(started.Send(entry, 5).kind, Kind::kSent);
  const auto again = server_.TakeRequests();
  ASSERT_EQ(again.size(), 4u);
  EXPECT_EQ(again[0].Parameter("insert_deduplication_token"),
            first[0].Parameter("insert_deduplication_token"));
}

// So no entry of the spool rests on another one, which may be dropped.
TEST_F(ClickHouseTargetTest, StacksGoOutUntilTheServerHasThem) {
  ClickHouseTarget target(settings_, "web-1", Folder());
  const SpoolEntry first = Entry(target);
  EXPECT_EQ(UnpackSections(first.payload)->size(), 4u);
  EXPECT_EQ(UnpackSections(Entry(target).payload)->size(), 4u);
  server_.AnswerNext("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  server_.AnswerNext(Failure(503, 241));
  EXPECT_EQ(target.Send(first, 1).kind, Kind::kLater);
  EXPECT_EQ(UnpackSections(Entry(target).payload)->size(), 4u);
  EXPECT_EQ(target.Send(first, 1).kind, Kind::kSent);
  EXPECT_EQ(UnpackSections(Entry(target).payload)->size(), 3u);
}

TEST_F(ClickHouseTargetTest, AfterAStartStacksOfBeforeDoNotGoOutAgain) {
  const auto sections = [&](const ExportSettings& settings) {
    ClickHouseTarget started(settings, "web-1", Folder());
    return UnpackSections(Entry(started).payload)->size();
  };
  {
    ClickHouseTarget target(settings_, "web-1", Folder());
    const SpoolEntry entry = Entry(target);
    EXPECT_EQ(sections(settings_), 4u) << "not delivered yet";
    EXPECT_EQ(target.Send(entry, 1).kind, Kind::kSent);
  }
  EXPECT_EQ(sections(settings_), 3u);
  ExportSettings other = settings_;
  other.clickhouse.database = "other";
  EXPECT_EQ(sections(other), 4u);
  other = settings_;
  other.clickhouse.url += "1";
  EXPECT_EQ(sections(other), 4u);
  other = settings_;
  other.clickhouse.user = "elsewhere";
  EXPECT_EQ(sections(other), 3u) << "the tables are the same";
  std::string bytes = folder_.Read("sent_stacks");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder_.Write("sent_stacks", bytes);
  EXPECT_EQ(sections(settings_), 4u) << "damaged";
}

TEST_F(ClickHouseTargetTest, TablesThatAreMadeAgainGetAllStacks) {
  for (const int code : {60, 81}) {
    ClickHouseTarget target(settings_, "web-1", Folder());
    EXPECT_EQ(target.Send(Entry(target), 1).kind, Kind::kSent);
    const SpoolEntry next = Entry(target);
    EXPECT_EQ(UnpackSections(next.payload)->size(), 3u);
    server_.AnswerNext(Failure(404, code));
    EXPECT_EQ(target.Send(next, 2).kind, Kind::kLater);
    EXPECT_FALSE(folder_.Names().contains("sent_stacks"));
    EXPECT_EQ(UnpackSections(Entry(target).payload)->size(), 4u) << code;
  }
}

// Not after each window, of which most have some new stack.
TEST_F(ClickHouseTargetTest, TheFileIsWrittenEveryTenMinutes) {
  ClickHouseTarget target(settings_, "web-1", Folder());
  constexpr std::uint64_t kMinute = 60ull * 1'000'000'000;
  std::size_t wakers = 0;
  const auto send = [&](std::uint64_t minute) {
    auto encoded = target.Encode(
        MakeExportProfile(store::MakeWindow(0, {.wakers = wakers++ % 2 == 1}), What::kWall,
                          *Relabelling::Make({}), nullptr, target.paths()));
    EXPECT_EQ(target
                  .Send({.from_unix_ns = store::kStartUnixNs + minute * kMinute,
                         .payload = std::move(encoded->payloads[0])},
                        minute + 1)
                  .kind,
              Kind::kSent);
    return folder_.Read("sent_stacks").size();
  };
  const std::size_t first = send(0);
  EXPECT_GT(first, 50u);
  EXPECT_EQ(send(1), first) << "it has paths, and so more to send";
  EXPECT_EQ(send(9), first);
  const std::size_t second = send(10);
  EXPECT_GT(second, first);
  EXPECT_EQ(send(30), second);
}

TEST_F(ClickHouseTargetTest, InAClusterRowsGoToTheServersOwnTables) {
  settings_.clickhouse.cluster = "fleet";
  ClickHouseTarget target(settings_, "web-1", Folder());
  EXPECT_EQ(target.Send(Entry(target), 1).kind, Kind::kSent);
  EXPECT_EQ(Tables(server_.TakeRequests()),
            (std::vector<std::string>{"stack_local", "sample_local", "clock_local",
                                      "host_window_local"}));
}

TEST_F(ClickHouseTargetTest, DamageAndBadHeadersAreSaid) {
  ClickHouseTarget target(settings_, "web-1", Folder());
  const Verdict damaged = target.Send({.payload = "x"}, 1);
  EXPECT_EQ(damaged.kind, Kind::kRefused);
  EXPECT_EQ(damaged.cause, "spool_damaged");
  settings_.headers_from = {folder_.Path("none")};
  ClickHouseTarget other(settings_, "web-1", Folder());
  EXPECT_EQ(other.Send(Entry(other), 1).kind, Kind::kLater);
  EXPECT_TRUE(server_.TakeRequests().empty());
}

TEST(ClickHouseVerdictTest, BadRowsAreRefused) {
  for (const int code : {27, 33, 49, 117, 691}) {
    const Verdict refused = VerdictOfClickHouse({500, code, "why"});
    EXPECT_EQ(refused.kind, Kind::kRefused) << code;
    EXPECT_EQ(refused.cause, "refused_clickhouse_" + std::to_string(code));
    EXPECT_EQ(refused.message, "why");
  }
  EXPECT_EQ(VerdictOfClickHouse({413, 0, "why"}).cause, "refused_http_413");
}

TEST(ClickHouseVerdictTest, AllElseIsTriedAgain) {
  for (const int code : {0,   16,  60,  81,  159, 164, 192, 193, 194, 202, 209,
                         210, 241, 242, 243, 252, 279, 291, 497, 516, 999})
    EXPECT_EQ(VerdictOfClickHouse({500, code, "why"}).kind, Kind::kLater) << code;
  for (const long status : {0L, 400L, 401L, 404L, 500L, 503L})
    EXPECT_EQ(VerdictOfClickHouse({status, 0, "why"}).kind, Kind::kLater) << status;
  EXPECT_EQ(VerdictOfClickHouse({404, 60, "Code: 60."}).message,
            "`profctl fleet init` creates the tables: Code: 60.");
  EXPECT_THAT(VerdictOfClickHouse({403, 516, ""}).message, HasSubstr("x-clickhouse-key"));
  EXPECT_THAT(VerdictOfClickHouse({403, 497, ""}).message, HasSubstr("needs INSERT"));
  const Verdict tls = VerdictOfClickHouse({.message = "tls: expired", .tls = true});
  EXPECT_EQ(tls.kind, Kind::kLater);
  EXPECT_THAT(tls.message, HasSubstr("tls_ca"));
  EXPECT_THAT(tls.message, HasSubstr("tls: expired"));
}

}  // namespace
}  // namespace profd::fleet
