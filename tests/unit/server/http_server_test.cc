#include "daemon/server/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace profd::server {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

server::HttpAnswer Answer(const std::string& path) {
  if (path == "/here") return {200, "text/plain", "it is " + path};
  return {};
}

UniqueFd Connect(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

void Say(const UniqueFd& fd, const std::string& text) {
  (void)!send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

// Until the server closes it.
std::string ReadAll(const UniqueFd& fd) {
  std::string text;
  std::array<char, 4096> part;
  while (true) {
    const ssize_t got = read(fd.get(), part.data(), part.size());
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    auto server = server::HttpServer::Start("127.0.0.1:0", Answer);
    EXPECT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }
  [[nodiscard]] std::string Request(const std::string& line) const {
    return RequestOf(line, "localhost:" + std::to_string(server_->port()));
  }
  [[nodiscard]] std::string RequestOf(const std::string& line, const std::string& host) const {
    const auto fd = Connect(server_->port());
    Say(fd, line + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    return ReadAll(fd);
  }

  std::unique_ptr<server::HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersByPath) {
  EXPECT_THAT(Request("GET /here"), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("it is /here")));
  EXPECT_THAT(Request("GET /here?x=1"), EndsWith("it is /here"));
  EXPECT_THAT(Request("GET /"), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("/metrics")));
  const auto head = Request("HEAD /here");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, OnlyReads) {
  EXPECT_THAT(Request("DELETE /here"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Request("POST /here"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(HttpServerTest, OnlyForTheNamesOfThisHost) {
  const std::string port = ":" + std::to_string(server_->port());
  for (const std::string host : {"localhost", "LocalHost", "127.0.0.1", "127.8.0.1", "[::1]"})
    EXPECT_THAT(RequestOf("GET /here", host + port), EndsWith("it is /here")) << host;
  const std::vector<std::string> others = {
      "localhost",
      "127.0.0.1",
      "127.0.0.1:" + port,
      "localhost:1",
      "evil.example" + port,
      "localhost.evil.example" + port,
      "127.0.0.1.evil.example" + port,
      "10.0.0.1" + port,
      "0.0.0.0" + port,
      "[::2]" + port,
      "::1" + port,
      "[::1" + port,
      "",
      port,
      "localhost" + port + "x",
      "user@localhost" + port,
      "localhost, evil.example" + port,
  };
  for (const auto& host : others) {
    const auto answer = RequestOf("GET /here", host);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 403 ")) << host;
    EXPECT_THAT(answer, EndsWith("ask for http://localhost" + port + "/\n"));
    EXPECT_THAT(RequestOf("POST /here", host), StartsWith("HTTP/1.1 403 ")) << host;
  }
}

TEST_F(HttpServerTest, WithoutAHostItIsNoBrowser) {
  const auto fd = Connect(server_->port());
  Say(fd, "GET /here HTTP/1.0\r\n\r\n");
  EXPECT_THAT(ReadAll(fd), EndsWith("it is /here"));
}

TEST(IsLoopbackHostTest, APortThatIsNotNamedIs80) {
  EXPECT_TRUE(server::IsLoopbackHost("localhost", 80));
  EXPECT_TRUE(server::IsLoopbackHost("[::1]", 80));
  EXPECT_FALSE(server::IsLoopbackHost("localhost", 81));
}

TEST_F(HttpServerTest, HeadersWithoutEndAreCutOff) {
  const auto fd = Connect(server_->port());
  Say(fd, "GET /here HTTP/1.1\r\nX: " + std::string(4 * server::HttpServer::kMaxHeaderBytes, 'x'));
  EXPECT_THAT(ReadAll(fd), Not(HasSubstr("it is")));
}

TEST_F(HttpServerTest, WhoSaysNothingIsCutOff) {
  const auto fd = Connect(server_->port());
  EXPECT_THAT(ReadAll(fd), IsEmpty());  // returns: kIdleSeconds
}

TEST_F(HttpServerTest, TheOldestConnectionGivesWay) {
  std::vector<UniqueFd> idle;
  for (std::size_t i = 0; i < server::HttpServer::kMaxConnections; ++i) {
    idle.push_back(Connect(server_->port()));
    Say(idle.back(), "GET /here HTTP/1.1\r\n");
  }
  EXPECT_THAT(Request("GET /here"), EndsWith("it is /here"));
  EXPECT_THAT(ReadAll(idle.front()), Not(HasSubstr("it is")));
}

TEST_F(HttpServerTest, AnAddressInUseIsNamed) {
  const auto second =
      server::HttpServer::Start("127.0.0.1:" + std::to_string(server_->port()), Answer);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("cannot serve metrics at 127.0.0.1:"));
}

}  // namespace
}  // namespace profd::server
