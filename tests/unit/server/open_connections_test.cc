// Which connections give way to new ones.
#include "daemon/server/grpc/transport/open_connections.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <spdlog/sinks/null_sink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/manual_clock.h"

namespace profd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kMost = 8;
constexpr std::size_t kShare = 3;

class OpenConnectionsTest : public ::testing::Test {
 protected:
  bool Add(const std::string& name, const std::string& owner, const void* server = nullptr) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    clients_[name].Reset(ends[0]);
    servers_[name].Reset(ends[1]);
    return open_.Add({name, owner, kShare, server}, UniqueFd(fcntl(ends[1], F_DUPFD_CLOEXEC, 0)));
  }
  OpenConnections::Call Begin(const std::string& name, const std::string& owner) {
    return open_.Begin(name, owner, kShare);
  }
  // A call that is over.
  void CallOnce(const std::string& name, const std::string& owner) { (void)Begin(name, owner); }
  // What the clients notice.
  std::vector<std::string> Closed() const {
    std::vector<std::string> closed;
    for (const auto& [name, client] : clients_) {
      pollfd polled{client.get(), POLLRDHUP, 0};
      if (poll(&polled, 1, 0) > 0) closed.push_back(name);
    }
    return closed;
  }

  const test::ManualClock clock_;
  spdlog::logger logger_{"test", std::make_shared<spdlog::sinks::null_sink_st>()};
  RefusalLog refusals_{clock_, logger_};
  OpenConnections open_{kMost, refusals_};
  std::map<std::string, UniqueFd> clients_;
  std::map<std::string, UniqueFd> servers_;
};

TEST_F(OpenConnectionsTest, BeyondTheShareOfAnOwnerItsLongestIdleOneIsClosed) {
  for (const auto* name : {"a", "b", "c"}) EXPECT_TRUE(Add(name, "one"));
  EXPECT_TRUE(Add("other", "two"));
  CallOnce("a", "one");
  EXPECT_THAT(Closed(), IsEmpty());
  EXPECT_TRUE(Add("d", "one"));
  EXPECT_THAT(Closed(), ElementsAre("b"));
  EXPECT_TRUE(Add("e", "one"));
  EXPECT_THAT(Closed(), ElementsAre("b", "c"));
  EXPECT_EQ(refusals_.refusals(), 2u);
}

TEST_F(OpenConnectionsTest, RunningCallsEndForNoNewConnection) {
  std::vector<OpenConnections::Call> running;
  for (const auto* name : {"a", "b", "c"}) {
    EXPECT_TRUE(Add(name, "one"));
    running.push_back(Begin(name, "one"));
  }
  EXPECT_FALSE(Add("d", "one")) << "all of its owner are in use";
  running.pop_back();
  EXPECT_TRUE(Add("e", "one"));
  EXPECT_THAT(Closed(), ElementsAre("c"));
}

TEST_F(OpenConnectionsTest, WithItsFirstCallAConnectionCountsForItsClient) {
  for (const auto* name : {"a", "b", "c"}) {
    EXPECT_TRUE(Add(name, "address"));
    CallOnce(name, "client");
  }
  for (const auto* name : {"d", "e", "f"}) EXPECT_TRUE(Add(name, "address"));
  EXPECT_THAT(Closed(), IsEmpty());
  CallOnce("d", "client");
  EXPECT_THAT(Closed(), ElementsAre("a"));
}

TEST_F(OpenConnectionsTest, AClientWhoseOthersAllRunCallsGetsNoFurtherConnection) {
  std::vector<OpenConnections::Call> running;
  for (const auto* name : {"a", "b", "c"}) {
    EXPECT_TRUE(Add(name, "address"));
    running.push_back(Begin(name, "client"));
  }
  EXPECT_TRUE(Add("d", "address"));
  CallOnce("d", "client");
  EXPECT_THAT(Closed(), ElementsAre("d"));
}

TEST_F(OpenConnectionsTest, WhenAllPlacesAreTakenThoseWithoutACallGoFirst) {
  for (const auto* name : {"a", "b", "c"}) {
    EXPECT_TRUE(Add(name, "large"));
    CallOnce(name, "large");
  }
  for (const auto* name : {"d", "e", "f"}) EXPECT_TRUE(Add(name, "address 1"));
  for (const auto* name : {"g", "h"}) EXPECT_TRUE(Add(name, "address 2"));
  EXPECT_TRUE(Add("i", "address 3"));
  EXPECT_THAT(Closed(), ElementsAre("d"));
}

TEST_F(OpenConnectionsTest, ThenTheLongestIdleOneOfTheOwnerWithMost) {
  CallOnce("unknown", "nobody");
  int number = 0;
  std::optional<OpenConnections::Call> running;
  for (const auto& [owner, count] :
       {std::pair{"small", 2}, {"large", 3}, {"medium", 2}, {"one", 1}})
    for (int i = 0; i < count; ++i) {
      const std::string name = std::to_string(number++) + " of " + owner;
      EXPECT_TRUE(Add(name, owner));
      CallOnce(name, owner);
      if (name == "2 of large") running.emplace(Begin(name, owner));
    }
  EXPECT_TRUE(Add("new", "newcomer"));
  EXPECT_THAT(Closed(), ElementsAre("3 of large"));
}

TEST_F(OpenConnectionsTest, WhatHasEndedIsRemovedAndNamedIfItNeverCalled) {
  const int server = 0;
  EXPECT_TRUE(Add("silent", "address", &server));
  EXPECT_TRUE(Add("calls", "address", &server));
  EXPECT_TRUE(Add("stays", "address", &server));
  {
    const auto call = Begin("calls", "client");
    EXPECT_EQ(open_.UseOf(&server).running_calls, 1u);
  }
  clients_["silent"].Reset();
  clients_["calls"].Reset();
  EXPECT_THAT(open_.RemoveEnded(), ElementsAre("silent"));
  EXPECT_EQ(open_.UseOf(&server).connections, 1u);
  EXPECT_EQ(open_.UseOf(&server).running_calls, 0u);
  open_.Remove(&server);
  EXPECT_EQ(open_.UseOf(&server).connections, 0u);
}

TEST_F(OpenConnectionsTest, ACallOfAnEarlierUseOfANameIsNotOneOfTheNextUse) {
  const int server = 0;
  EXPECT_TRUE(Add("fd:7", "one", &server));
  std::optional<OpenConnections::Call> earlier = Begin("fd:7", "one");
  EXPECT_TRUE(Add("fd:7", "two", &server));
  const auto call = Begin("fd:7", "two");
  earlier.reset();
  EXPECT_EQ(open_.UseOf(&server).running_calls, 1u);
}

TEST_F(OpenConnectionsTest, OnlyAConnectionThatTakesNothingMoreIsFull) {
  EXPECT_TRUE(Add("reads", "one"));
  EXPECT_TRUE(Add("full", "one"));
  const std::array<char, 4096> bytes{};
  while (send(servers_["full"].get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) continue;
  open_.CloseIfFull("reads");
  open_.CloseIfFull("full");
  open_.CloseIfFull("unknown");
  EXPECT_THAT(Closed(), ElementsAre("full"));
}

}  // namespace
}  // namespace profd::server
