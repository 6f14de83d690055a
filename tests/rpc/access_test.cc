// Each call as root, as a member of the group, as the owner and as a stranger.
#include <gmock/gmock.h>
#include <grp.h>
#include <grpcpp/create_channel_posix.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "tests/rpc/foreign_service.h"
#include "tests/rpc/kept_log.h"
#include "tests/rpc/kept_window.h"
#include "tests/rpc/raw_client.h"
#include "tests/rpc/rpc_fixture.h"
#include "tests/support/manual_clock.h"

namespace profd::test {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// No user of a host has it, as RpcFixture::kOwner.
constexpr uid_t kMember = 4'200'200;
constexpr uid_t kStranger = 4'200'300;
constexpr const char* kGroupName = "daemon";  // one that every host has

struct Identity {
  uid_t uid = 0;
  std::vector<gid_t> groups{};
};

// Hands a connected socket from the child to the test.
void SendDescriptor(int channel, int descriptor) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  (void)!sendmsg(channel, &message, 0);
}

UniqueFd ReceiveDescriptor(int channel) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(channel, &message, 0) <= 0) return UniqueFd();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return UniqueFd();
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return UniqueFd(descriptor);
}

// A connection that a process of this user has made: the kernel keeps whose it was. Invalid when
// the user is not let in.
UniqueFd ConnectAs(const Identity& who, const std::string& path) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return UniqueFd();
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(who.groups.size(), who.groups.data()) != 0 ||
        setresgid(who.uid, who.uid, who.uid) != 0 || setresuid(who.uid, who.uid, who.uid) != 0)
      _exit(1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const bool in = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    SendDescriptor(theirs.get(), in ? fd : -1);
    _exit(0);
  }
  theirs.Reset();
  UniqueFd connection = ReceiveDescriptor(ours.get());
  waitpid(child, nullptr, 0);
  return connection;
}

// A history that cannot be read, and says where it is.
class UnreadableHistory : public history::History {
 public:
  static constexpr const char* kPath = "/var/lib/profd/history.db";
  [[nodiscard]] const store::ProfileStore& store() const override { return store_; }
  [[nodiscard]] history::HistoryStatus Status() const override { return {}; }

 private:
  struct Store : store::ProfileStore {
    Result<void> Put(const aggregate::Profile& /*window*/) override { return {}; }
    [[nodiscard]] Result<aggregate::Profile> Query(const store::TimeRange& /*range*/,
                                                   const store::Filter& /*filter*/) const override {
      return Error{ErrorCode::kCorrupt, std::string("cannot read ") + kPath, ""};
    }
    [[nodiscard]] store::StoreStatus Status() const override { return {}; }
  };
  const Store store_{};
};

class AccessTest : public RpcFixture {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be other users";
    std::filesystem::permissions(directory_, std::filesystem::perms(0755));
    AddProcess(100, kOwner);
    AddProcess(200, 0);
    const auto group = server::GroupId(kGroupName);
    ASSERT_TRUE(group) << group.error().message;
    group_ = *group;
    server_->Shutdown(std::chrono::seconds(1));
    server_.reset();
    auto server = server::Server::Start({address(), kGroupName, public_socket(), {}},
                                        access_service_, still_, log_.logger());
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }
  void TearDown() override { server_->Shutdown(std::chrono::seconds(10)); }
  void AddProcess(std::uint32_t pid, uid_t uid) const {
    const auto directory = proc_directory() / std::to_string(pid);
    std::filesystem::create_directories(directory);
    std::string uids;
    for (int i = 0; i < 4; ++i) uids += "\t" + std::to_string(uid);
    std::ofstream(directory / "status") << "Name:\tx\nUid:" << uids << "\nCapPrm:\t0\n";
    std::ofstream(directory / "cmdline") << "x";
    std::ofstream(directory / "environ") << "OTEL_SERVICE_NAME=cart";
    ASSERT_EQ(chown(directory.c_str(), uid, uid), 0);
  }

  using Stub = std::unique_ptr<v1::Profiler::Stub>;
  // Null when the socket does not let the user in.
  [[nodiscard]] static Stub As(const Identity& who, const std::string& path) {
    const auto channel = ChannelAs(who, path);
    return channel ? v1::Profiler::NewStub(channel) : nullptr;
  }
  [[nodiscard]] static std::shared_ptr<grpc::Channel> ChannelAs(const Identity& who,
                                                                const std::string& path) {
    UniqueFd connection = ConnectAs(who, path);
    if (!connection.valid()) return nullptr;
    return grpc::CreateInsecureChannelFromFd("test", connection.Release());
  }

  static v1::CollectRequest RequestForAll() {
    auto request = RequestFor(1, milliseconds(50));
    request.mutable_target()->set_all(true);
    return request;
  }
  [[nodiscard]] static grpc::Status DumpOf(v1::Profiler::Stub& stub, std::uint32_t pid) {
    grpc::ClientContext context;
    v1::DumpRequest request;
    request.mutable_target()->mutable_pids()->add_id(pid);
    v1::Dump response;
    return stub.Dump(&context, request, &response);
  }
  [[nodiscard]] static grpc::Status StopOf(v1::Profiler::Stub& stub, std::uint32_t session) {
    grpc::ClientContext context;
    v1::StopRequest request;
    request.set_session(session);
    v1::StopResponse response;
    return stub.Stop(&context, request, &response);
  }
  [[nodiscard]] static v1::StatusResponse StatusOf(v1::Profiler::Stub& stub) {
    grpc::ClientContext context;
    v1::StatusResponse response;
    const auto status = stub.Status(&context, v1::StatusRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  static std::vector<std::uint32_t> Pids(const v1::Profile& profile) {
    std::vector<std::uint32_t> pids;
    for (const auto& process : profile.processes()) pids.push_back(process.pid());
    std::sort(pids.begin(), pids.end());
    return pids;
  }
  static std::vector<std::uint32_t> Pids(const Collected& collected) {
    return collected.profile ? Pids(*collected.profile) : std::vector<std::uint32_t>{};
  }
  // What the history shows: these processes, and kernel addresses or none.
  void ExpectKept(const std::vector<std::uint32_t>& pids, std::uint64_t address) const {
    const auto answered = QueryOf(*stub_);
    EXPECT_TRUE(answered.status.ok()) << answered.status.error_message();
    EXPECT_EQ(Pids(answered.profile), pids);
    EXPECT_EQ(answered.profile.threads_size(), static_cast<int>(pids.size()));
    EXPECT_EQ(answered.profile.samples().weight_ns_size(), static_cast<int>(pids.size()));
    for (const auto& frame : answered.profile.frames()) EXPECT_EQ(frame.offset(), address);
    EXPECT_EQ(answered.profile.frames_size(), pids.empty() ? 0 : 1);
  }
  void ExpectSeesAll(Stub stub) {
    ASSERT_TRUE(stub);
    stub_ = std::move(stub);
    EXPECT_EQ(Pids(Collect(RequestFor(200, milliseconds(20)))), std::vector{200u});
    EXPECT_EQ(Pids(Collect(RequestForAll())), (std::vector{100u, 200u}));
    EXPECT_NE(DumpOf(*stub_, 200).error_code(), StatusCode::PERMISSION_DENIED);
    ExpectKept({100, 200}, KeptWindow::kAddress);
    const auto started = manager_.Start({}, 0, "uid 77", 1);
    ASSERT_TRUE(started);
    EXPECT_EQ(StatusOf(*stub_).sessions_size(), 1);
    EXPECT_TRUE(StopOf(*stub_, (*started)->id()).ok());
    manager_.Release(*started);
  }
  void ExpectRefused(const grpc::Status& status, const std::string& what) const {
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(what));
  }
  // Who may call, and what to do.
  [[nodiscard]] std::string RefusalOf(uid_t uid) const {
    return "unix:" + socket() + " is for root, profd's own user and members of group " +
           kGroupName + ", not for uid " + std::to_string(uid) +
           "\nuse sudo, or become a member of group " + kGroupName +
           " and log in again; for your own processes: --host unix:" + public_socket();
  }
  // Every call is answered so.
  void ExpectMayCallNothing(uid_t uid) {
    const std::string why = RefusalOf(uid);
    ExpectRefused(Collect(RequestFor(100, milliseconds(20))).status, why);
    ExpectRefused(Collect(RequestForAll()).status, why);
    ExpectRefused(QueryOf(*stub_).status, why);
    ExpectRefused(DumpOf(*stub_, 100), why);
    ExpectRefused(StopOf(*stub_, 1), why);
    grpc::ClientContext context;
    v1::StatusResponse response;
    ExpectRefused(stub_->Status(&context, v1::StatusRequest(), &response), why);
    EXPECT_EQ(response.ByteSizeLong(), 0u);
  }
  void Restart(server::ProfilerService& service, const server::ClientTimes& times) {
    server_->Shutdown(std::chrono::seconds(1));
    server_.reset();
    auto server =
        server::Server::Start({address(), kGroupName, public_socket(), {}, std::nullopt, times},
                              service, still_, log_.logger());
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }
  // Of kOwner.
  void ExpectEndedAsUnread(const std::string& call) const {
    EXPECT_THAT(log_.Text(), HasSubstr("refused uid " + std::to_string(kOwner) + ": " + call +
                                       ": the client does not read the answer"));
  }
  [[nodiscard]] static bool HasEnded(const UniqueFd& connection, int timeout_ms = 0) {
    pollfd polled{connection.get(), POLLRDHUP, 0};
    return poll(&polled, 1, timeout_ms) == 1;
  }
  // The test's time limit ends what never comes.
  static void AwaitEnd(const UniqueFd& connection) { EXPECT_TRUE(HasEnded(connection, -1)); }
  // That the log says who was refused, and what.
  void ExpectLogged(uid_t uid, const std::string& what) const {
    EXPECT_THAT(log_.Text(), MatchesRegex("(.|\n)*refused a user \\(uid " + std::to_string(uid) +
                                          ", pid [0-9]+\\): " + what + "(.|\n)*"));
  }
  // What goes for everybody who does not see all: nothing of others.
  void ExpectSeesNothingOfOthers() {
    ExpectRefused(Collect(RequestFor(200, milliseconds(20))).status, "process 200 is not");
    auto thread = RequestFor(1, milliseconds(20));
    thread.mutable_target()->mutable_tids()->add_id(200);
    ExpectRefused(Collect(thread).status, "thread 200 is not");
    ExpectRefused(DumpOf(*stub_, 200), "process 200 is not");
    const auto started = manager_.Start({}, 0, "uid 77", 1);
    ASSERT_TRUE(started);
    EXPECT_EQ(StatusOf(*stub_).sessions_size(), 0);
    ExpectRefused(StopOf(*stub_, (*started)->id()), "is not yours");
    manager_.Release(*started);
  }

  gid_t group_ = 0;
  KeptLog log_;
  const KeptWindow history_{{{100, kOwner}, {200, 0}}};
  server::ProfilerService access_service_{manager_,      pipeline_, status_,  clock_,
                                          callers_proc_, logger_,   &history_};
  const test::ManualClock still_;  // for the limits
};

TEST_F(AccessTest, TheSocketsHaveTheirModes) {
  const auto mode = [](const std::string& path) {
    return static_cast<unsigned>(std::filesystem::status(path).permissions());
  };
  EXPECT_EQ(mode(socket()), 0660u);
  EXPECT_EQ(mode(public_socket()), 0666u);
}

TEST_F(AccessTest, TheSocketsGoWithTheServer) {
  server_->Shutdown(std::chrono::seconds(1));
  EXPECT_FALSE(std::filesystem::exists(socket()));
  EXPECT_FALSE(std::filesystem::exists(public_socket()));
}

TEST_F(AccessTest, RootSeesAllThroughEither) {
  ExpectSeesAll(As({}, socket()));
  ExpectSeesAll(As({}, public_socket()));
}

TEST_F(AccessTest, AMemberOfTheGroupSeesAllThroughEither) {
  ExpectSeesAll(As({kMember, {group_}}, socket()));
  ExpectSeesAll(As({kMember, {group_}}, public_socket()));
}

TEST_F(AccessTest, OthersAreNotLetInWhereTheGroupIs) {
  EXPECT_FALSE(As({kOwner}, socket()));
  EXPECT_FALSE(As({kStranger}, socket()));
}

TEST_F(AccessTest, WhoTheCallerIsCountsWhereTheModeLetsEveryoneIn) {
  std::filesystem::permissions(socket(), std::filesystem::perms(0666));
  ExpectSeesAll(As({}, socket()));
  ExpectSeesAll(As({kMember, {group_}}, socket()));
  ExpectSeesAll(As({kMember, {kStranger, kMember, group_}}, socket()));
  for (const Identity& who : {Identity{kOwner}, Identity{kStranger, {kOwner, kMember}}}) {
    stub_ = As(who, socket());
    ASSERT_TRUE(stub_);
    ExpectMayCallNothing(who.uid);
    ExpectLogged(who.uid, "Collect pid 100: unix:" + socket() + " is for root, ");
  }
  // The same user is another caller at the other socket, also at the same time.
  stub_ = As({kOwner}, public_socket());
  EXPECT_EQ(Pids(Collect(RequestForAll())), std::vector{100u});
}

TEST_F(AccessTest, GrpcsOwnServicesRefuseThemToo) {
  std::filesystem::permissions(socket(), std::filesystem::perms(0666));
  const auto refused = ChannelAs({kOwner}, socket());
  for (const std::string method :
       {kHealthCheck, kHealthWatch, kReflection, "/other.Service/Call"}) {
    const auto answer = TryForeign(refused, method, "");
    ExpectRefused(answer.status, RefusalOf(kOwner));
    EXPECT_EQ(answer.message, "") << method;
    ExpectLogged(kOwner, method + ": unix:" + socket() + " is for root, ");
  }
  for (const auto& path : {socket(), public_socket()}) {
    const auto root = ChannelAs({}, path);
    EXPECT_EQ(HealthOf(root), kServing);
    EXPECT_THAT(CallForeign(root, kReflection, kListServices), HasSubstr("profd.v1.Profiler"));
    EXPECT_EQ(TryForeign(root, "/other.Service/Call", "").status.error_code(),
              StatusCode::UNIMPLEMENTED);
  }
  EXPECT_EQ(HealthOf(ChannelAs({kOwner}, public_socket())), kServing);
}

TEST_F(AccessTest, ThoseWhoAreRefusedKeepNoOneElseOut) {
  std::filesystem::permissions(socket(), std::filesystem::perms(0666));
  std::vector<Stub> refused;
  for (std::uint32_t i = 0; i < server::Connections::kMaxUsers; ++i) {
    refused.push_back(As({kStranger + 1 + i}, socket()));
    EXPECT_EQ(DumpOf(*refused.back(), 100).error_code(), StatusCode::PERMISSION_DENIED);
  }
  EXPECT_FALSE(StatusOf(*As({kOwner}, public_socket())).version().empty());
  ExpectSeesAll(As({kMember, {group_}}, socket()));
  // However often they call, the answer says why it is refused.
  for (int i = 0; i < 3 * server::kPublicLimits.calls_per_second; ++i)
    ExpectRefused(DumpOf(*refused.front(), 100), "is for root");
}

TEST_F(AccessTest, WithoutAGroupOnlyRootAndProfdsUserMayCall) {
  server_->Shutdown(std::chrono::seconds(1));
  auto server =
      server::Server::Start({address(), "", "", {}}, access_service_, still_, log_.logger());
  ASSERT_TRUE(server.ok()) << server.error().message;
  server_ = *std::move(server);
  std::filesystem::permissions(socket(), std::filesystem::perms(0666));
  ExpectSeesAll(As({}, socket()));
  stub_ = As({kMember, {group_}}, socket());
  ASSERT_TRUE(stub_);
  const auto status = DumpOf(*stub_, 100);
  EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(), "unix:" + socket() +
                                        " is for root and profd's own user, not for uid " +
                                        std::to_string(kMember) + "\nuse sudo");
}

TEST_F(AccessTest, TheOwnerSeesWhatIsTheirs) {
  stub_ = As({kOwner}, public_socket());
  ASSERT_TRUE(stub_);
  EXPECT_EQ(Pids(Collect(RequestFor(100, milliseconds(20)))), std::vector{100u});
  const auto all = Collect(RequestForAll());
  EXPECT_EQ(Pids(all), std::vector{100u});
  EXPECT_EQ(all.profile->target(), "all +uid=" + std::to_string(kOwner));
  const auto dumped = DumpOf(*stub_, 100);
  EXPECT_NE(dumped.error_code(), StatusCode::PERMISSION_DENIED) << dumped.error_message();
  ExpectKept({100}, 0);
  ExpectSeesNothingOfOthers();
  const auto collected = Collect(RequestFor(100, milliseconds(0)), [this](std::uint32_t session) {
    EXPECT_EQ(StatusOf(*stub_).sessions(0).client(), "uid " + std::to_string(kOwner));
    EXPECT_TRUE(StopOf(*stub_, session).ok());
  });
  EXPECT_TRUE(collected.profile.has_value());
}

TEST_F(AccessTest, LabelsFindWhatTheCallerMaySee) {
  auto request = RequestFor(1, milliseconds(20));
  request.mutable_target()->mutable_labels()->add_label("service.name=cart");
  EXPECT_EQ(Pids(Collect(request)), (std::vector{100u, 200u}));
  request.mutable_target()->mutable_labels()->set_label(0, "service.name=card");
  const auto misspelt = Collect(request).status;
  EXPECT_EQ(misspelt.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(misspelt.error_message(),
            "no process has service.name=card\nservice.name is cart here");

  request.mutable_target()->mutable_labels()->set_label(0, "service.name=cart");
  stub_ = As({kOwner}, public_socket());
  ASSERT_TRUE(stub_);
  const auto own = Collect(request);
  EXPECT_EQ(Pids(own), std::vector{100u});
  EXPECT_EQ(own.profile->target(), "label service.name=cart +uid=" + std::to_string(kOwner));

  // The same answer as on a host without such a process.
  stub_ = As({kStranger}, public_socket());
  ASSERT_TRUE(stub_);
  const auto nothing = Collect(request).status;
  request.mutable_target()->mutable_labels()->set_label(0, "service.name=card");
  const auto neither = Collect(request).status;
  EXPECT_EQ(nothing.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(nothing.error_message(),
            "no process of yours has service.name=cart\nprofctl list --json shows the labels of "
            "the history");
  EXPECT_EQ(neither.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(neither.error_message(), Not(HasSubstr("cart")));
}

TEST_F(AccessTest, OfSharedStacksAUserSeesTheirOwnPart) {
  server_->Shutdown(std::chrono::seconds(1));
  const KeptWindow shared({{100, kOwner, "own"}, {200, 0, "secret"}, {300, kMember, "secret2"}});
  server::ProfilerService service{manager_,      pipeline_, status_, clock_,
                                  callers_proc_, logger_,   &shared};
  auto server = server::Server::Start({address(), kGroupName, public_socket(), {}}, service, still_,
                                      log_.logger());
  ASSERT_TRUE(server.ok()) << server.error().message;
  const auto all = QueryOf(*As({}, socket()));
  EXPECT_THAT(all.profile.ShortDebugString(), HasSubstr("secret2.debug"));
  const auto mine = QueryOf(*As({kOwner}, public_socket()));
  EXPECT_EQ(Pids(mine.profile), std::vector{100u});
  EXPECT_EQ(mine.profile.frames_size(), 2);
  EXPECT_EQ(mine.profile.modules_size(), 1);
  EXPECT_THAT(mine.profile.ShortDebugString(), HasSubstr("own.debug"));
  EXPECT_THAT(mine.profile.ShortDebugString(), testing::Not(HasSubstr("secret")));
  (*server)->Shutdown(std::chrono::seconds(1));
}

TEST_F(AccessTest, OnPathsAUserSeesNothingOfOthers) {
  const KeptWindow paths({{100, kOwner, "own", 200},
                          {200, 0, "secret"},
                          {300, kMember, "secret2", 100},
                          {101, kOwner, "", 100}});
  server_->Shutdown(std::chrono::seconds(1));
  server::ProfilerService service(manager_, pipeline_, status_, clock_, proc_, logger_, &paths);
  auto server = server::Server::Start({address(), kGroupName, public_socket(), {}}, service, still_,
                                      log_.logger());
  ASSERT_TRUE(server) << server.error().message;
  server_ = *std::move(server);
  const auto mine = QueryOf(*As({kOwner}, public_socket()));
  ASSERT_TRUE(mine.status.ok()) << mine.status.error_message();
  std::map<std::uint32_t, const v1::PathNode*> ends;  // by tid
  for (int i = 0; i < mine.profile.samples().path_size(); ++i)
    if (const std::uint32_t path = mine.profile.samples().path(i); path != 0)
      ends[mine.profile.threads(static_cast<int>(mine.profile.samples().thread(i))).tid()] =
          &mine.profile.paths(static_cast<int>(path) - 1);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[100]->kind(), v1::PATH_OTHER_USER);
  EXPECT_EQ(ends[100]->thread(), 0u);
  EXPECT_EQ(ends[100]->node(), 0u);
  EXPECT_EQ(ends[101]->kind(), v1::PATH_RUNS);
  ASSERT_EQ(mine.profile.path_threads_size(), 1);
  EXPECT_EQ(mine.profile.path_threads(0).tid(), 100u);
  ASSERT_EQ(mine.profile.wake_ups_size(), 1);
  for (const auto& frame : mine.profile.frames())
    EXPECT_THAT(frame.name(), Not(HasSubstr("secret")));
  EXPECT_THAT(mine.profile.ShortDebugString(), Not(HasSubstr("secret")));

  const auto all = QueryOf(*As({}, public_socket()));
  ASSERT_TRUE(all.status.ok());
  EXPECT_EQ(all.profile.path_threads_size(), 2);
  EXPECT_EQ(all.profile.wake_ups_size(), 3);
  for (const auto& path : all.profile.paths()) EXPECT_EQ(path.kind(), v1::PATH_RUNS);
}

TEST_F(AccessTest, WhatFailsInsideOfProfdIsNotForTheCaller) {
  server_->Shutdown(std::chrono::seconds(1));
  const UnreadableHistory unreadable;
  server::ProfilerService service{manager_,      pipeline_,     status_,    clock_,
                                  callers_proc_, log_.logger(), &unreadable};
  auto server = server::Server::Start({address(), kGroupName, public_socket(), {}}, service, still_,
                                      log_.logger());
  ASSERT_TRUE(server.ok()) << server.error().message;
  EXPECT_THAT(QueryOf(*As({}, socket())).status.error_message(),
              HasSubstr(UnreadableHistory::kPath));
  const auto status = QueryOf(*As({kOwner}, public_socket())).status;
  EXPECT_EQ(status.error_code(), StatusCode::DATA_LOSS);
  EXPECT_THAT(status.error_message(), testing::Not(HasSubstr(UnreadableHistory::kPath)));
  EXPECT_THAT(log_.Text(), HasSubstr(UnreadableHistory::kPath));
  (*server)->Shutdown(std::chrono::seconds(1));
}

TEST_F(AccessTest, AProcessThatDoesNotExistIsAnsweredLikeOneOfOthers) {
  stub_ = As({kOwner}, public_socket());
  ASSERT_TRUE(stub_);
  const auto others = DumpOf(*stub_, 200);
  const auto none = DumpOf(*stub_, 999);
  EXPECT_EQ(none.error_code(), others.error_code());
  EXPECT_THAT(none.error_message(), HasSubstr("process 999 is not owned by "));
  EXPECT_EQ(none.error_message().substr(none.error_message().find('\n')),
            others.error_message().substr(others.error_message().find('\n')));
}

TEST_F(AccessTest, AStrangerSeesNothing) {
  stub_ = As({kStranger}, public_socket());
  ASSERT_TRUE(stub_);
  ExpectRefused(Collect(RequestFor(100, milliseconds(20))).status, "process 100 is not");
  ExpectRefused(DumpOf(*stub_, 100), "process 100 is not");
  ExpectKept({}, 0);
  ExpectSeesNothingOfOthers();
}

TEST_F(AccessTest, EveryRefusalIsLoggedWithWhoAndWhat) {
  stub_ = As({kStranger}, public_socket());
  ASSERT_TRUE(stub_);
  ExpectSeesNothingOfOthers();
  ExpectLogged(kStranger, "Collect pid 200: process 200 is not ");
  ExpectLogged(kStranger, "Collect tid 200: thread 200 is not ");
  ExpectLogged(kStranger, "Dump pid 200: process 200 is not ");
  ExpectLogged(kStranger, "Stop session [0-9]+: session [0-9]+ is not yours");

  v1::QueryRequest request;
  request.set_since_ns(60);
  request.mutable_filter()->add_unit("nginx");
  for (int i = 0; i < 2 * server::kPublicLimits.calls_per_second; ++i)
    (void)QueryOf(*stub_, request);
  EXPECT_EQ(QueryOf(*stub_, request).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  ExpectLogged(kStranger, "Query since_ns: 60 filter \\{ unit: \"nginx\" \\}: more than 20 calls");
}

TEST_F(AccessTest, BeyondAUsersConnectionsTheLongestIdleOneIsClosed) {
  std::vector<UniqueFd> connections;
  for (std::uint32_t i = 0; i <= server::kPublicLimits.max_connections; ++i)
    connections.push_back(ConnectAs({kOwner}, public_socket()));
  AwaitEnd(connections.front());
  for (std::size_t i = 1; i < connections.size(); ++i) EXPECT_FALSE(HasEnded(connections[i])) << i;
  EXPECT_THAT(log_.Text(), HasSubstr("refused uid " + std::to_string(kOwner) +
                                     ": connecting: too many connections"));
}

TEST_F(AccessTest, AUserWithoutRunningCallsGivesWayToANewOne) {
  std::vector<UniqueFd> connections;
  for (std::uint32_t i = 0; i < server::Connections::kMaxUsers; ++i)
    connections.push_back(ConnectAs({kStranger + 1 + i}, public_socket()));
  const Stub other = As({kOwner}, public_socket());
  EXPECT_FALSE(StatusOf(*other).version().empty());
  AwaitEnd(connections.front());
  for (std::size_t i = 1; i < connections.size(); ++i) EXPECT_FALSE(HasEnded(connections[i])) << i;
  EXPECT_THAT(log_.Text(), HasSubstr("refused a user (uid " + std::to_string(kStranger + 1) +
                                     "): connecting: another user needs the place"));
}

// Also an answer of one message is a running call until it is sent.
TEST_F(AccessTest, AnAnswerThatIsNotTakenIsARunningCall) {
  RawClient greedy(ConnectAs({kOwner}, public_socket()), {.stream_window = 0});
  for (std::uint32_t i = 0; i < server::kPublicLimits.max_calls; ++i)
    greedy.Call("/profd.v1.Profiler/Status");
  greedy.AwaitHeaders(server::kPublicLimits.max_calls);
  const Stub same = As({kOwner}, public_socket());
  grpc::ClientContext context;
  v1::StatusResponse response;
  const auto refused = same->Status(&context, v1::StatusRequest(), &response);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("12 calls of yours are running"));
  EXPECT_FALSE(StatusOf(*As({kStranger}, public_socket())).version().empty());
}

TEST_F(AccessTest, ACallWhoseAnswerIsNotTakenInTimeEnds) {
  Restart(access_service_, {.unread = milliseconds(50)});
  RawClient greedy(ConnectAs({kOwner}, public_socket()), {.stream_window = 0});
  for (std::uint32_t i = 0; i < server::kPublicLimits.max_calls; ++i)
    greedy.Call("/profd.v1.Profiler/Status");
  greedy.AwaitEnds(server::kPublicLimits.max_calls);
  ExpectEndedAsUnread("Status");
  // The connection is still of use: its client reads.
  EXPECT_FALSE(HasEnded(greedy.connection()));
}

TEST_F(AccessTest, AConnectionThatIsNotReadIsClosed) {
  // More than what the socket takes.
  constexpr std::uint32_t kManyProcesses = 20'000;
  std::vector<KeptWindow::Process> processes;
  for (std::uint32_t i = 1; i <= kManyProcesses; ++i) processes.push_back({i, kOwner});
  const KeptWindow many(processes);
  server::ProfilerService service{manager_,      pipeline_, status_, clock_,
                                  callers_proc_, logger_,   &many};
  Restart(service, {.unread = milliseconds(50)});
  RawClient greedy(ConnectAs({kOwner}, public_socket()), {});
  greedy.Call("/profd.v1.Profiler/Query");
  AwaitEnd(greedy.connection());
  ExpectEndedAsUnread("Query");
  server_->Shutdown(std::chrono::seconds(1));  // before the service
}

TEST_F(AccessTest, WhatAClientWritesDoesNotSayWhoItIs) {
  const Stub stub = As({kStranger}, public_socket());
  ASSERT_TRUE(stub);
  grpc::ClientContext context;
  context.set_authority("root");
  for (const char* key : {"uid", "x-uid", "authorization", "peer", "x-forwarded-for"})
    context.AddMetadata(key, "0");
  v1::DumpRequest request;
  request.mutable_target()->mutable_pids()->add_id(200);
  v1::Dump response;
  ExpectRefused(stub->Dump(&context, request, &response), "process 200 is not");
}

TEST_F(AccessTest, AStrangersLimitsAreNamed) {
  stub_ = As({kOwner}, public_socket());
  ASSERT_TRUE(stub_);
  auto fine = RequestFor(100, milliseconds(20));
  fine.set_frequency_hz(5000);
  EXPECT_EQ(Collect(fine).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Collect(RequestFor(100, std::chrono::hours(2))).status.error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  auto large = RequestFor(100, milliseconds(20));
  large.mutable_target()->set_comm(std::string(1 << 17, 'x'));
  EXPECT_EQ(Collect(large).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);

  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::CollectResponse>>> readers;
  v1::CollectResponse response;
  for (int i = 0; i < 4; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub_->Collect(contexts.back().get(), RequestFor(100, milliseconds(0))));
    ASSERT_TRUE(readers.back()->Read(&response));
  }
  const auto fifth = Collect(RequestFor(100, milliseconds(20)));
  EXPECT_EQ(fifth.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(fifth.status.error_message(), HasSubstr("your 4 sessions are all in use"));
  Stub owner = std::exchange(stub_, As({}, socket()));
  EXPECT_EQ(Pids(Collect(RequestFor(100, milliseconds(20)))), std::vector{100u});
  for (const auto& context : contexts) context->TryCancel();
}

TEST_F(AccessTest, ACallerWhoCallsTooOftenMustWait) {
  const Stub stub = As({kStranger}, public_socket());
  ASSERT_TRUE(stub);
  for (int i = 0; i < 2 * server::kPublicLimits.calls_per_second; ++i) (void)StatusOf(*stub);
  grpc::ClientContext context;
  v1::StatusResponse response;
  const auto status = stub->Status(&context, v1::StatusRequest(), &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("calls a second\nwait a second"));
  EXPECT_EQ(StatusOf(*As({}, socket())).version(), PROFD_VERSION);
}

}  // namespace
}  // namespace profd::test
