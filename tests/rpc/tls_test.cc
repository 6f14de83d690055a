// TCP: with a certificate that the CA has signed, of another CA, expired, with none, and without
// TLS.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "tests/rpc/foreign_service.h"
#include "tests/rpc/kept_log.h"
#include "tests/rpc/kept_window.h"
#include "tests/rpc/rpc_fixture.h"
#include "tests/support/certificates.h"
#include "tests/support/manual_clock.h"

namespace profd::test {
namespace {

using grpc::StatusCode;
using ::profd::testing::CertificateFiles;
using ::profd::testing::Certificates;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class TlsTest : public RpcFixture {
 protected:
  using Stub = std::unique_ptr<v1::Profiler::Stub>;

  void SetUp() override {
    if (!Certificates::CanBeMade()) GTEST_SKIP() << "openssl is not installed";
    ca_ = Taken(certificates_.MakeAuthority("ca"));
    other_ca_ = Taken(certificates_.MakeAuthority("other-ca"));
    ours_ = Taken(certificates_.Issue(ca_, "profd", "/CN=profd"));
    auto server = StartServer();
    ASSERT_TRUE(server.ok()) << server.error().message;
    tls_ = *std::move(server);
  }
  void TearDown() override {
    if (tls_) tls_->Shutdown(std::chrono::seconds(10));
  }
  static CertificateFiles Taken(Result<CertificateFiles> made) {
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : CertificateFiles{};
  }
  [[nodiscard]] server::TlsFiles Files() const {
    return {ours_.certificate, ours_.key, ca_.certificate};
  }
  Result<std::unique_ptr<server::Server>> StartServer() { return StartServer(tls_service_); }
  Result<std::unique_ptr<server::Server>> StartServer(server::ProfilerService& service,
                                                      const server::ClientTimes& times = {}) {
    server::ServerOptions options;
    options.times = times;
    options.address = "unix:" + (directory_ / "tls.sock").string();
    options.tls = {"127.0.0.1:0", Files(), roles_};
    return server::Server::Start(std::move(options), service, still_, log_.logger());
  }
  [[nodiscard]] std::string Target() const {
    return "localhost:" + std::to_string(tls_->tls_port());
  }
  // A connection of its own each time. `mine` null: without a certificate.
  [[nodiscard]] Stub As(const CertificateFiles* mine, const CertificateFiles& trusted) const {
    return v1::Profiler::NewStub(ChannelAs(mine, trusted));
  }
  [[nodiscard]] std::shared_ptr<grpc::Channel> ChannelAs(const CertificateFiles* mine,
                                                         const CertificateFiles& trusted) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Contents(trusted.certificate);
    if (mine != nullptr) {
      options.pem_cert_chain = Contents(mine->certificate);
      options.pem_private_key = Contents(mine->key);
    }
    return ChannelBy(grpc::SslCredentials(options));
  }
  [[nodiscard]] Stub By(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    return v1::Profiler::NewStub(ChannelBy(credentials));
  }
  [[nodiscard]] std::shared_ptr<grpc::Channel> ChannelBy(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // What a client takes without reading it is not more than it must be.
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1);
    return grpc::CreateCustomChannel(Target(), credentials, arguments);
  }
  // Without TLS.
  [[nodiscard]] UniqueFd Connect() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(tls_->tls_port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  void Restart(server::ProfilerService& service, const server::ClientTimes& times = {}) {
    tls_->Shutdown(std::chrono::seconds(1));
    tls_.reset();
    auto server = StartServer(service, times);
    ASSERT_TRUE(server.ok()) << server.error().message;
    tls_ = *std::move(server);
  }
  // Both ends of the connections are in this process.
  static void NeedDescriptors() {
    constexpr rlim_t kDescriptors = 4096;
    rlimit descriptors{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    descriptors.rlim_cur =
        std::max(descriptors.rlim_cur, std::min(kDescriptors, descriptors.rlim_max));
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
    if (descriptors.rlim_cur < kDescriptors) GTEST_SKIP() << "needs 4096 descriptors";
  }
  static grpc::Status StatusOf(v1::Profiler::Stub& stub, v1::StatusResponse* response = nullptr) {
    grpc::ClientContext context;
    v1::StatusResponse ignored;
    return stub.Status(&context, v1::StatusRequest(), response != nullptr ? response : &ignored);
  }
  void ExpectKeptOut(Stub stub) const {
    const auto status = StatusOf(*stub);
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE) << status.error_message();
    log_.Await(": connecting: no TLS, or no certificate that tls.client_ca has signed");
    EXPECT_THAT(log_.Text(), HasSubstr("refused ipv4:127.0.0.1:"));
  }

  // The code of each call for a client with this common name.
  std::map<std::string, StatusCode> CodesFor(const std::string& name) {
    const auto files = Taken(certificates_.Issue(ca_, name, "/CN=" + name));
    stub_ = As(&files, ca_);
    std::map<std::string, StatusCode> codes;
    codes["Collect"] =
        Collect(RequestFor(200, milliseconds(20)), [](std::uint32_t) {}).status.error_code();
    codes["Query"] = QueryOf(*stub_).status.error_code();
    codes["Status"] = StatusOf(*stub_).error_code();
    grpc::ClientContext dump_context;
    v1::DumpRequest dump_request;
    dump_request.mutable_target()->mutable_pids()->add_id(200);
    v1::Dump dump;
    codes["Dump"] = stub_->Dump(&dump_context, dump_request, &dump).error_code();
    grpc::ClientContext stop_context;
    v1::StopRequest stop_request;
    stop_request.set_session(4'000'000);
    v1::StopResponse stopped;
    codes["Stop"] = stub_->Stop(&stop_context, stop_request, &stopped).error_code();
    return codes;
  }

  server::Roles roles_;
  const Certificates certificates_{directory_};
  const test::ManualClock still_;  // for the limits
  KeptLog log_;
  const KeptWindow history_{{{100, kOwner}, {200, 0}}};
  server::ProfilerService tls_service_{manager_,      pipeline_, status_,  clock_,
                                       callers_proc_, logger_,   &history_};
  CertificateFiles ca_;
  CertificateFiles other_ca_;
  CertificateFiles ours_;
  std::unique_ptr<server::Server> tls_;
};

TEST_F(TlsTest, AGoodCertificateSeesAllUnderItsName) {
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/O=x/CN=ops"));
  stub_ = As(&ops, ca_);
  const auto collected = Collect(RequestFor(200, milliseconds(0)), [this](std::uint32_t session) {
    v1::StatusResponse status;
    EXPECT_TRUE(StatusOf(*stub_, &status).ok());
    ASSERT_EQ(status.sessions_size(), 1);
    EXPECT_EQ(status.sessions(0).client(), "certificate ops");
    grpc::ClientContext context;
    v1::StopRequest request;
    request.set_session(session);
    v1::StopResponse response;
    EXPECT_TRUE(stub_->Stop(&context, request, &response).ok());
  });
  ASSERT_TRUE(collected.profile.has_value()) << collected.status.error_message();
  ASSERT_EQ(collected.profile->processes_size(), 1);
  EXPECT_EQ(collected.profile->processes(0).pid(), 200u);

  grpc::ClientContext context;
  v1::DumpRequest request;
  request.mutable_target()->mutable_pids()->add_id(200);
  v1::Dump dump;
  const auto dumped = stub_->Dump(&context, request, &dump);
  EXPECT_TRUE(dumped.ok()) << dumped.error_message();
  const auto answered = QueryOf(*stub_);
  ASSERT_TRUE(answered.status.ok()) << answered.status.error_message();
  EXPECT_EQ(answered.profile.processes_size(), 2);
  ASSERT_EQ(answered.profile.frames_size(), 1);
  EXPECT_EQ(answered.profile.frames(0).offset(), KeptWindow::kAddress);
}

TEST_F(TlsTest, ARefusalNamesTheCertificate) {
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  const auto stub = As(&ops, ca_);
  for (int i = 0; i < 2 * server::kTrustedLimits.calls_per_second; ++i)
    EXPECT_TRUE(StatusOf(*stub).ok());
  EXPECT_EQ(StatusOf(*stub).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(log_.Text(),
              HasSubstr("refused certificate 'ops': Status: more than 200 calls a second"));
}

TEST_F(TlsTest, WithoutACommonNameTheAlternativeOneCounts) {
  const auto nameless = Taken(certificates_.Issue(ca_, "nameless", "/O=none"));
  const auto stub = As(&nameless, ca_);
  for (int i = 0; i <= 2 * server::kTrustedLimits.calls_per_second; ++i) (void)StatusOf(*stub);
  EXPECT_THAT(log_.Text(), HasSubstr("refused certificate 'localhost': "));
}

TEST_F(TlsTest, ARoleDecidesOnEachCall) {
  roles_ = *server::Roles::Parse("CN=ops", "CN=scraper");
  Restart(tls_service_);
  constexpr auto kNo = StatusCode::PERMISSION_DENIED;
  using Codes = std::map<std::string, StatusCode>;
  EXPECT_EQ(CodesFor("ops"), (Codes{{"Collect", StatusCode::OK},
                                    {"Query", StatusCode::OK},
                                    {"Status", StatusCode::OK},
                                    {"Dump", StatusCode::OK},
                                    {"Stop", StatusCode::NOT_FOUND}}));
  EXPECT_EQ(CodesFor("scraper"), (Codes{{"Collect", kNo},
                                        {"Query", StatusCode::OK},
                                        {"Status", StatusCode::OK},
                                        {"Dump", kNo},
                                        {"Stop", kNo}}));
  EXPECT_EQ(
      CodesFor("other"),
      (Codes{{"Collect", kNo}, {"Query", kNo}, {"Status", kNo}, {"Dump", kNo}, {"Stop", kNo}}));
  const std::string log = log_.Text();
  EXPECT_THAT(log, HasSubstr("refused certificate 'scraper': Collect pid 200: a reader may look at "
                             "the history, and not Collect"));
  EXPECT_THAT(log,
              HasSubstr("refused certificate 'other': Status: certificate 'other' has no role"));
}

// A load balancer needs a certificate of the CA, and no role.
TEST_F(TlsTest, WithoutARoleThereIsNothingButHealth) {
  roles_ = *server::Roles::Parse("CN=ops", "CN=scraper");
  Restart(tls_service_);
  for (const char* name : {"ops", "scraper"}) {
    const auto files = Taken(certificates_.Issue(ca_, name, std::string("/CN=") + name));
    const auto channel = ChannelAs(&files, ca_);
    EXPECT_THAT(CallForeign(channel, kReflection, kListServices), HasSubstr("profd.v1.Profiler"));
    EXPECT_EQ(HealthOf(channel), kServing);
  }
  const auto other = Taken(certificates_.Issue(ca_, "other", "/CN=other"));
  const auto channel = ChannelAs(&other, ca_);
  EXPECT_EQ(HealthOf(channel), kServing);
  const ForeignAnswer refused = TryForeign(channel, kReflection, kListServices);
  EXPECT_EQ(refused.status.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("certificate 'other' has no role"));
  log_.Await(std::string("refused certificate 'other': ") + kReflection +
             ": certificate 'other' has no role");
  EXPECT_EQ(HealthOf(channel), kServing) << "the connection goes on";
}

TEST_F(TlsTest, AReaderSeesNoSessionOfOthers) {
  roles_ = *server::Roles::Parse("*", "CN=scraper");
  Restart(tls_service_);
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  const auto scraper = Taken(certificates_.Issue(ca_, "scraper", "/CN=scraper"));
  const Stub reader = As(&scraper, ca_);
  stub_ = As(&ops, ca_);
  const auto collected = Collect(RequestFor(200, milliseconds(0)), [&](std::uint32_t session) {
    v1::StatusResponse status;
    EXPECT_TRUE(StatusOf(*reader, &status).ok());
    EXPECT_EQ(status.sessions_size(), 0);
    grpc::ClientContext context;
    v1::StopRequest request;
    request.set_session(session);
    v1::StopResponse response;
    EXPECT_EQ(reader->Stop(&context, request, &response).error_code(),
              StatusCode::PERMISSION_DENIED);
    grpc::ClientContext own_context;
    EXPECT_TRUE(stub_->Stop(&own_context, request, &response).ok());
  });
  EXPECT_TRUE(collected.profile.has_value()) << collected.status.error_message();
}

TEST_F(TlsTest, EachCallThatIsMoreThanALookIsInTheLog) {
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  stub_ = As(&ops, ca_);
  (void)Collect(RequestFor(200, milliseconds(20)), [](std::uint32_t) {});
  (void)QueryOf(*stub_);
  (void)StatusOf(*stub_);
  log_.Await("call of certificate 'ops', operator, from ipv4:127.0.0.1:");
  log_.Await(": Collect pid 200: ");
  log_.Await(": Query of all: ");
  EXPECT_THAT(log_.Text(), Not(HasSubstr(": Status")));
}

TEST_F(TlsTest, AnotherAuthoritysCertificateIsKeptOut) {
  const auto stranger = Taken(certificates_.Issue(other_ca_, "stranger", "/CN=ops"));
  ExpectKeptOut(As(&stranger, ca_));
}

TEST_F(TlsTest, AnExpiredCertificateIsKeptOut) {
  const auto expired = Taken(certificates_.Issue(ca_, "expired", "/CN=ops", -1));
  ExpectKeptOut(As(&expired, ca_));
}

TEST_F(TlsTest, NoCertificateIsKeptOut) { ExpectKeptOut(As(nullptr, ca_)); }

TEST_F(TlsTest, PlainTextIsKeptOut) { ExpectKeptOut(By(grpc::InsecureChannelCredentials())); }

TEST_F(TlsTest, AClientDistinguishesAnotherServerFromOurs) {
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  const auto status = StatusOf(*As(&ops, other_ca_));
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("certificate verify failed"));
}

TEST_F(TlsTest, NewFilesHoldForNewConnections) {
  const auto before = Taken(certificates_.Issue(ca_, "before", "/CN=before"));
  const auto after = Taken(certificates_.Issue(other_ca_, "after", "/CN=after"));
  const auto background = As(&before, ca_);
  EXPECT_TRUE(StatusOf(*background).ok());
  const auto old_ca = Taken(certificates_.MakeAuthority("old-ca"));
  std::filesystem::copy_file(ca_.certificate, old_ca.certificate,
                             std::filesystem::copy_options::overwrite_existing);

  const auto renewed = Taken(certificates_.Issue(other_ca_, "renewed", "/CN=profd"));
  std::filesystem::rename(renewed.key, ours_.key);
  // With the old certificate and the new key it goes on as it was.
  EXPECT_TRUE(StatusOf(*As(&before, old_ca)).ok());
  EXPECT_THAT(log_.Text(), HasSubstr("TLS still uses the previous certificate: "));
  std::filesystem::rename(renewed.certificate, ours_.certificate);
  std::filesystem::copy_file(other_ca_.certificate, ca_.certificate,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(StatusOf(*As(&after, other_ca_)).ok());
  EXPECT_THAT(log_.Text(), HasSubstr("TLS: new certificate "));
  EXPECT_TRUE(StatusOf(*background).ok());
  ExpectKeptOut(As(&before, other_ca_));
}

// Nothing, or half a word, from more connections than may be open: the good client is served.
TEST_F(TlsTest, AThousandConnectionsThatSayNothingKeepNoClientOut) {
  NeedDescriptors();
  if (IsSkipped()) return;
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  const auto before = As(&ops, ca_);
  ASSERT_TRUE(StatusOf(*before).ok());
  // The begin of a TLS record whose rest never comes, and of one that is longer than any may be.
  const std::string record = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};
  const std::string oversize = std::string("\x16\x03\x01\xff\xff") + std::string(1 << 20, 'x');
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 1000; ++i) {
    connections.push_back(Connect());
    const auto& text = i % 3 == 0 ? std::string() : i % 50 == 1 ? oversize : record;
    // Part of it may be refused: profd closes what is not TLS.
    (void)!send(connections.back().get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  EXPECT_TRUE(StatusOf(*As(&ops, ca_)).ok());
  EXPECT_TRUE(StatusOf(*before).ok()) << "one that has made a call keeps its place";
  // Those that gave way are closed.
  char byte = 0;
  EXPECT_LE(read(connections.front().get(), &byte, 1), 0);
}

TEST_F(TlsTest, AThousandConnectionsOfOneCertificateKeepNoOtherOut) {
  NeedDescriptors();
  if (IsSkipped()) return;
  constexpr std::size_t kConnections = 1000;
  const auto greedy = Taken(certificates_.Issue(ca_, "greedy", "/CN=greedy"));
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  const auto before = ChannelAs(&ops, ca_);
  EXPECT_TRUE(StatusOf(*v1::Profiler::NewStub(before)).ok());
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (std::size_t i = 0; i < kConnections; ++i) {
    channels.push_back(ChannelAs(&greedy, ca_));
    // Above its rate the answer is a refusal, and the connection is as good.
    (void)StatusOf(*v1::Profiler::NewStub(channels.back()));
    if (i % 100 == 0) {
      EXPECT_TRUE(StatusOf(*As(&ops, ca_)).ok());
    }
  }
  EXPECT_TRUE(StatusOf(*As(&ops, ca_)).ok());
  // All but its share are closed, and its clients do not connect again by themselves.
  for (std::size_t i = 0; i < kConnections - server::kTrustedLimits.max_connections; ++i)
    EXPECT_TRUE(channels[i]->WaitForStateChange(
        GRPC_CHANNEL_READY, std::chrono::system_clock::now() + std::chrono::minutes(10)));
  EXPECT_EQ(channels.back()->GetState(false), GRPC_CHANNEL_READY);
  EXPECT_EQ(before->GetState(false), GRPC_CHANNEL_READY) << "one of another certificate stays";
}

TEST_F(TlsTest, HalfAHandshakeEndsAtItsDeadline) {
  Restart(tls_service_, {.handshake = milliseconds(1000)});
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  // The begin of a TLS record, and nothing at all.
  std::vector<UniqueFd> connections;
  for (const std::string& text : {std::string("\x16\x03\x01\x02\x00\x01", 6), std::string()}) {
    connections.push_back(Connect());
    EXPECT_EQ(send(connections.back().get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  EXPECT_TRUE(StatusOf(*As(&ops, ca_)).ok());
  char byte = 0;
  for (const auto& connection : connections) EXPECT_LE(read(connection.get(), &byte, 1), 0);
  EXPECT_TRUE(StatusOf(*As(&ops, ca_)).ok());
}

TEST_F(TlsTest, AnAnswerThatIsNotReadInTimeEnds) {
  const auto greedy = Taken(certificates_.Issue(ca_, "greedy", "/CN=greedy"));
  constexpr std::uint32_t kManyProcesses = 20'000;
  std::vector<KeptWindow::Process> processes;
  for (std::uint32_t i = 1; i <= kManyProcesses; ++i) processes.push_back({i, 0});
  const KeptWindow many(processes);
  server::ProfilerService service{manager_,      pipeline_, status_, clock_,
                                  callers_proc_, logger_,   &many};
  Restart(service, {.unread = milliseconds(200)});
  const auto stub = As(&greedy, ca_);
  grpc::ClientContext context;
  const auto reader = stub->Query(&context, {});
  log_.Await("refused certificate greedy: Query: the client does not read the answer");
  v1::QueryResponse response;
  while (reader->Read(&response)) EXPECT_FALSE(response.done());
  EXPECT_FALSE(reader->Finish().ok());
  EXPECT_TRUE(StatusOf(*stub).ok()) << "the connection goes on";
  tls_->Shutdown(std::chrono::seconds(0));  // before the service
  tls_.reset();
}

// Health checks and reflection are gRPC's own; their calls have the same limits.
TEST_F(TlsTest, CallsOfGrpcsOwnServicesAreBoundedToo) {
  const auto greedy = Taken(certificates_.Issue(ca_, "greedy", "/CN=greedy"));
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  const auto channel = ChannelAs(&greedy, ca_);
  std::vector<std::unique_ptr<ForeignStream>> watches;
  const auto watch = [&] {
    watches.push_back(std::make_unique<ForeignStream>(channel, kHealthWatch, ""));
    return watches.back()->Read();
  };
  for (std::uint32_t i = 0; i < server::kTrustedLimits.max_calls; ++i)
    EXPECT_EQ(watch(), std::string(kServing));
  EXPECT_EQ(watch(), std::nullopt);
  EXPECT_EQ(StatusOf(*v1::Profiler::NewStub(channel)).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  const auto other = ChannelAs(&ops, ca_);
  EXPECT_EQ(HealthOf(other), kServing);
  EXPECT_TRUE(StatusOf(*v1::Profiler::NewStub(other)).ok());
}

TEST_F(TlsTest, AClientThatDoesNotReadHasBoundedCallsAndStopsNoOther) {
  const auto greedy = Taken(certificates_.Issue(ca_, "greedy", "/CN=greedy"));
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  // More than what one stream may send to a client that does not read.
  constexpr std::uint32_t kManyProcesses = 20'000;
  std::vector<KeptWindow::Process> processes;
  for (std::uint32_t i = 1; i <= kManyProcesses; ++i) processes.push_back({i, 0});
  const KeptWindow many(processes);
  server::ProfilerService service{manager_,      pipeline_, status_, clock_,
                                  callers_proc_, logger_,   &many};
  Restart(service);
  const auto stub = As(&greedy, ca_);
  struct Unread {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::QueryResponse>> reader;
  };
  std::vector<std::unique_ptr<Unread>> unread;
  for (std::uint32_t i = 0; i < server::kTrustedLimits.max_calls; ++i) {
    auto& call = *unread.emplace_back(std::make_unique<Unread>());
    call.reader = stub->Query(&call.context, {});
    call.reader->WaitForInitialMetadata();  // it writes its answer
  }
  const auto refused = StatusOf(*stub);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("80 calls of yours are running"));
  const auto other = As(&ops, ca_);
  EXPECT_TRUE(StatusOf(*other).ok());
  EXPECT_EQ(QueryOf(*other).profile.processes_size(), static_cast<int>(kManyProcesses));
  for (const auto& call : unread) call->context.TryCancel();
  tls_->Shutdown(std::chrono::seconds(0));  // before the service
  tls_.reset();
}

TEST_F(TlsTest, OversizeMessagesAndHeadersAreRefusedAndStopNoOther) {
  const auto ops = Taken(certificates_.Issue(ca_, "ops", "/CN=ops"));
  const auto stub = As(&ops, ca_);
  const auto other = As(&ops, ca_);
  EXPECT_TRUE(StatusOf(*other).ok());
  v1::QueryRequest large;
  large.mutable_filter()->add_unit(std::string(2u << 20, 'x'));
  EXPECT_EQ(QueryOf(*stub, large).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(StatusOf(*stub).ok()) << "the connection goes on";
  grpc::ClientContext context;
  context.AddMetadata("x-large", std::string(64u << 10, 'x'));
  v1::StatusResponse response;
  EXPECT_FALSE(stub->Status(&context, v1::StatusRequest(), &response).ok());
  EXPECT_TRUE(StatusOf(*other).ok());
}

TEST_F(TlsTest, WhatCannotBeServedIsSaidAtTheStart) {
  tls_->Shutdown(std::chrono::seconds(1));
  const auto problem = [this] {
    const auto server = StartServer();
    EXPECT_FALSE(server.ok());
    return server.ok() ? "" : server.error().message;
  };
  const auto good = ours_;
  ours_.key = ca_.key;
  EXPECT_THAT(problem(), HasSubstr("ca.key is not the key of "));
  ours_ = Taken(certificates_.Issue(ca_, "late", "/CN=profd", -1));
  EXPECT_THAT(problem(), HasSubstr("late.pem has expired"));
  ours_ = {good.key, good.key};
  EXPECT_THAT(problem(), HasSubstr("profd.key holds no certificate"));
  ours_ = {good.certificate, good.certificate};
  EXPECT_THAT(problem(), HasSubstr("profd.pem holds no private key"));
  ours_ = {"/nonexistent.pem", good.key};
  EXPECT_THAT(problem(), StartsWith("cannot serve by TLS: cannot read /nonexistent.pem"));
}

}  // namespace
}  // namespace profd::test
