#include "client/web/server/web_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/client/web/loopback_client.h"

namespace profd::client {
namespace {

using profd::testing::LoopbackClient;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class WebServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server =
        WebServer::Start(0, [this](const WebRequest& request) { return Answer(request); });
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
    address_ = server_->address();
    ASSERT_THAT(address_, MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/[0-9a-f]{32}/"));
    const auto colon = address_.rfind(':');
    port_ = static_cast<std::uint16_t>(std::stoul(address_.substr(colon + 1)));
    token_path_ = address_.substr(address_.find('/', colon));
  }

  // Says what reached the handler.
  WebAnswer Answer(const WebRequest& request) {
    ++handled_;
    if (request.path == "/throws") throw std::runtime_error("out of something");
    if (request.path == "/waits") {
      entered_->count_down();
      go_->wait();
    }
    std::string said = "path=" + request.path;
    for (const auto& [name, value] : request.parameters) said += "|" + name + "=" + value;
    return {.body = said, .headers = {{"X-More", "of this answer"}}};
  }

  [[nodiscard]] std::string Say(const std::string& bytes) const {
    const LoopbackClient client(port_);
    client.Say(bytes);
    return client.Hear();
  }
  [[nodiscard]] std::string Get(const std::string& path, const std::string& host = "localhost",
                                const std::string& method = "GET") const {
    return Say(method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }

  std::atomic<int> handled_ = 0;
  std::unique_ptr<std::latch> entered_;
  std::unique_ptr<std::latch> go_;
  std::string address_;
  std::string token_path_;
  std::uint16_t port_ = 0;
  std::unique_ptr<WebServer> server_;
};

TEST_F(WebServerTest, AnswersBehindItsToken) {
  EXPECT_THAT(Get(token_path_), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("path=/")));
  EXPECT_THAT(Get(token_path_ + "api/v1/x?a=1&b=%3Cb%3E+c&a=2&d"),
              EndsWith("path=/api/v1/x|a=1|b=<b> c|a=2|d="));
  EXPECT_THAT(Get(token_path_ + "../../etc/passwd"), EndsWith("path=/../../etc/passwd"));
  EXPECT_THAT(Get(token_path_), HasSubstr("X-More: of this answer"));
}

TEST_F(WebServerTest, WithoutTheTokenNothingIsThere) {
  std::string wrong = token_path_;
  wrong[5] = wrong[5] == '0' ? '1' : '0';
  const std::string bare = token_path_.substr(0, token_path_.size() - 1);
  for (const std::string& path :
       {std::string("/"), wrong, bare, bare + "x", "/x" + token_path_, "/" + token_path_,
        token_path_.substr(0, 20) + "/", std::string("/?token=") + token_path_.substr(1, 32)}) {
    const std::string answer = Get(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, Not(HasSubstr("path="))) << path;
  }
  EXPECT_EQ(handled_, 0);
}

TEST_F(WebServerTest, EveryAnswerForbidsWhatOtherSitesCouldUse) {
  for (const std::string& answer : {Get(token_path_), Get("/"), Get(token_path_, "evil.example"),
                                    Get(token_path_, "localhost", "POST")}) {
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'; "
                                  "style-src 'self'; connect-src 'self'; base-uri 'none'; "
                                  "form-action 'none'; frame-ancestors 'none'\r\n"));
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_THAT(answer, HasSubstr("Referrer-Policy: no-referrer\r\n"));
    EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store\r\n"));
    EXPECT_THAT(answer, HasSubstr("Cross-Origin-Resource-Policy: same-origin\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control-")));
    EXPECT_THAT(answer, Not(HasSubstr("Set-Cookie")));
    EXPECT_THAT(answer, Not(HasSubstr("unsafe-")));
  }
}

TEST_F(WebServerTest, OnlyForTheNamesOfThisHost) {
  const std::string port = ":" + std::to_string(port_);
  // Another port is that of a tunnel.
  for (const std::string& host :
       {"localhost" + port, "LOCALHOST" + port, "127.0.0.1" + port, "[::1]" + port,
        std::string("localhost:1"), std::string("localhost")})
    EXPECT_THAT(Get(token_path_, host), StartsWith("HTTP/1.1 200 ")) << host;
  const int before = handled_;
  for (const std::string& host :
       {std::string(""), port, "evil.example" + port, "localhost.evil.example" + port,
        "127.0.0.1.evil.example" + port, "10.0.0.1" + port, "0.0.0.0" + port, "::1" + port,
        "[::1" + port, "localhost" + port + "x", std::string("localhost:"),
        std::string("localhost:123456"), "user@localhost" + port, "localhost, evil.example" + port})
    EXPECT_THAT(Get(token_path_, host), StartsWith("HTTP/1.1 403 ")) << host;
  EXPECT_THAT(Say("GET " + token_path_ + " HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_EQ(handled_, before);
}

TEST_F(WebServerTest, OnlyReads) {
  const std::string head = Get(token_path_, "localhost", "HEAD");
  EXPECT_THAT(head, AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\n")));
  EXPECT_EQ(handled_, 1);
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get"}) {
    const std::string answer = Get(token_path_, "localhost", method);
    EXPECT_THAT(answer, Not(HasSubstr("path="))) << method;
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n")) << method;
  }
  (void)Say("POST " + token_path_ +
            " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(handled_, 1);
}

TEST_F(WebServerTest, RequestsAreBounded) {
  const std::string long_path = token_path_ + std::string(2 * WebServer::kMaxHeaderBytes, 'x');
  EXPECT_THAT(Get(long_path), Not(HasSubstr("path=")));
  EXPECT_THAT(Say("GET " + token_path_ + " HTTP/1.1\r\nHost: localhost\r\nX: " +
                  std::string(2 * WebServer::kMaxHeaderBytes, 'x') + "\r\n\r\n"),
              Not(HasSubstr("path=")));
  EXPECT_THAT(Say("NONSENSE\r\n\r\n"), Not(HasSubstr("path=")));
  EXPECT_EQ(handled_, 0);
  EXPECT_THAT(Get(token_path_), EndsWith("path=/"));
}

TEST_F(WebServerTest, StrangersCannotKeepTheOwnerOut) {
  std::vector<std::unique_ptr<LoopbackClient>> strangers;
  for (std::size_t i = 0; i < 4 * WebServer::kMaxStrangers; ++i) {
    strangers.push_back(std::make_unique<LoopbackClient>(port_));
    strangers.back()->Say("GET / HT");
  }
  EXPECT_THAT(Get(token_path_), EndsWith("path=/"));
  EXPECT_EQ(strangers.front()->Hear(), "");  // dropped when others came
}

TEST_F(WebServerTest, RequestsAtOnceAreBounded) {
  entered_ = std::make_unique<std::latch>(WebServer::kMaxAtOnce);
  go_ = std::make_unique<std::latch>(1);
  std::vector<std::string> answers(WebServer::kMaxAtOnce);
  std::string refused;
  {
    std::vector<std::jthread> clients;
    for (std::string& answer : answers)
      clients.emplace_back([&] { answer = Get(token_path_ + "waits"); });
    entered_->wait();
    refused = Get(token_path_);
    go_->count_down();
  }
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  for (const std::string& answer : answers) EXPECT_THAT(answer, EndsWith("path=/waits"));
  EXPECT_THAT(Get(token_path_), EndsWith("path=/"));
}

TEST_F(WebServerTest, AFailureOfTheHandlerIsAnAnswer) {
  EXPECT_THAT(Get(token_path_ + "throws"),
              AllOf(StartsWith("HTTP/1.1 500 "), EndsWith("out of something\n")));
  EXPECT_THAT(Get(token_path_), EndsWith("path=/"));
}

TEST_F(WebServerTest, APortIsServedByOne) {
  const auto second = WebServer::Start(port_, [](const WebRequest&) { return WebAnswer(); });
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().hint, HasSubstr("--port"));
}

TEST_F(WebServerTest, ListensAtLoopbackOnly) {
  sockaddr_in other{};
  other.sin_family = AF_INET;
  other.sin_port = htons(port_);
  other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);  // 127.0.0.2
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_NE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&other), sizeof other), 0);
}

}  // namespace
}  // namespace profd::client
