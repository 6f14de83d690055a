// Against real servers on real sockets, one a host, whose services say what the test wants.
#include "client/hosts/hosts_collection.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/profile/check_profile.h"
#include "client/profile/host_names.h"
#include "client/profile/stack_names.h"
#include "tests/support/profiler_server.h"
#include "tests/support/sample_profiles.h"
#include "tests/support/temp_folder.h"

namespace profd::client {
namespace {

using Writer = grpc::ServerWriter<v1::CollectResponse>;

std::uint64_t NowUnixNs() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

std::uint64_t WeightOf(const v1::Profile& profile) {
  return std::accumulate(profile.samples().weight_ns().begin(), profile.samples().weight_ns().end(),
                         std::uint64_t{0});
}

class HostService : public v1::Profiler::Service {
 public:
  grpc::Status Collect(grpc::ServerContext* context, const v1::CollectRequest* /*request*/,
                       Writer* writer) override {
    ++sessions;
    return collect(*context, *writer);
  }
  grpc::Status Stop(grpc::ServerContext* /*context*/, const v1::StopRequest* request,
                    v1::StopResponse* /*response*/) override {
    const std::scoped_lock lock(mutex_);
    stopped_ = request->session();
    changed_.notify_all();
    return grpc::Status::OK;
  }
  grpc::Status Status(grpc::ServerContext* /*context*/, const v1::StatusRequest* /*request*/,
                      v1::StatusResponse* response) override {
    response->set_version("test");
    return grpc::Status::OK;
  }
  // False: the client has gone.
  bool AwaitStop(const grpc::ServerContext& context) {
    std::unique_lock lock(mutex_);
    while (stopped_ == 0 && !context.IsCancelled())
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    return stopped_ != 0;
  }

  std::function<grpc::Status(grpc::ServerContext&, Writer&)> collect;
  std::atomic<int> sessions = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t stopped_ = 0;
};

void SendStarted(Writer& writer, std::int64_t clock_ns = 0) {
  v1::CollectResponse response;
  response.mutable_started()->set_session(7);
  response.mutable_started()->set_start_unix_ns(NowUnixNs() + static_cast<std::uint64_t>(clock_ns));
  writer.Write(response);
}

void SendBytes(Writer& writer, const std::string& bytes, std::size_t chunk_bytes = 1000) {
  v1::CollectResponse response;
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    response.set_profile_chunk(bytes.substr(at, chunk_bytes));
    writer.Write(response);
  }
  response.set_done(true);
  writer.Write(response);
}

grpc::Status Answer(v1::Profile profile, Writer& writer, std::int64_t clock_ns = 0) {
  profile.set_start_unix_ns(NowUnixNs() + static_cast<std::uint64_t>(clock_ns));
  SendStarted(writer, clock_ns);
  SendBytes(writer, profile.SerializeAsString());
  return grpc::Status::OK;
}

class Hosts : public ::testing::Test {
 protected:
  HostService& AddHost() {
    services_.push_back(std::make_unique<HostService>());
    servers_.push_back(std::make_unique<test::ProfilerServer>(*services_.back()));
    addresses_.push_back({"host" + std::to_string(addresses_.size()), servers_.back()->address()});
    services_.back()->collect = [](grpc::ServerContext&, Writer& writer) {
      return Answer(testing::SmallProfile(), writer);
    };
    return *services_.back();
  }
  void AddDeadHost() {
    addresses_.push_back({"host" + std::to_string(addresses_.size()), "unix:/nonexistent/socket"});
  }
  HostsCollection& Collection(HostsLimits limits = {}) {
    v1::CollectRequest request;
    request.mutable_target()->set_all(true);
    request.set_duration_ns(100'000'000);
    collection_ = std::make_unique<HostsCollection>(addresses_, request, limits);
    return *collection_;
  }
  HostsResult Run(const HostsLimits& limits = {}) {
    auto result = Collection(limits).Run({}, [](const HostsProgress&) {});
    EXPECT_TRUE(result);
    EXPECT_TRUE(CheckProfile(result->profile));
    return *std::move(result);
  }

  std::vector<std::unique_ptr<HostService>> services_;
  std::vector<std::unique_ptr<test::ProfilerServer>> servers_;  // end before their services
  std::vector<HostAddress> addresses_;
  std::unique_ptr<HostsCollection> collection_;
};

TEST_F(Hosts, ProfilesOfAllAreOne) {
  constexpr std::size_t kHosts = 40;
  for (std::size_t i = 0; i < kHosts; ++i) AddHost();
  const HostsResult result = Run({.connecting = 3, .answering = 2, .bytes_waiting = 1});
  EXPECT_EQ(result.joined, kHosts);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_TRUE(result.other_clocks.empty());
  EXPECT_EQ(WeightOf(result.profile), kHosts * WeightOf(testing::SmallProfile()));
  std::vector<std::string> hosts;
  for (const v1::Process& process : result.profile.processes()) hosts.emplace_back(HostOf(process));
  std::ranges::sort(hosts);
  EXPECT_EQ(std::ranges::unique(hosts).size(), 0u);
}

// The sessions wait for each other: none begins before all hosts were reached.
TEST_F(Hosts, AllSessionsRunAtOnce) {
  constexpr int kHosts = 20;
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  for (int i = 0; i < kHosts; ++i)
    AddHost().collect = [&](grpc::ServerContext&, Writer& writer) {
      {
        std::unique_lock lock(mutex);
        ++running;
        changed.notify_all();
        changed.wait(lock, [&] { return running == kHosts; });
      }
      return Answer(testing::SmallProfile(), writer);
    };
  EXPECT_EQ(Run({.connecting = 2}).joined, static_cast<std::size_t>(kHosts));
}

// With the limits of a command. One server has a thousand addresses, each with a connection and a
// session of its own, and no session ends before all have begun.
TEST_F(Hosts, AThousandAtOnce) {
  // Both ends of a connection are files of this process.
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  constexpr rlim_t kFiles = 2 * kMostHosts + 200;
  if (files.rlim_max < kFiles) GTEST_SKIP() << "fewer than " << kFiles << " files may be open";
  files.rlim_cur = std::max(files.rlim_cur, kFiles);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  HostService& service = AddHost();
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t running = 0;
  service.collect = [&](grpc::ServerContext&, Writer& writer) {
    SendStarted(writer);
    {
      std::unique_lock lock(mutex);
      ++running;
      changed.notify_all();
      changed.wait(lock, [&] { return running == kMostHosts; });
    }
    v1::Profile profile = testing::SmallProfile();
    profile.set_start_unix_ns(NowUnixNs());
    SendBytes(writer, profile.SerializeAsString());
    return grpc::Status::OK;
  };
  const std::string socket = addresses_[0].address.substr(std::string("unix:").size());
  const test::TempFolder folder;
  addresses_.clear();
  for (std::size_t i = 0; i < kMostHosts; ++i) {
    const std::string name = "host" + std::to_string(i);
    addresses_.push_back({name, "unix:" + folder.Link(name, socket)});
  }
  const HostsResult result = Run();
  EXPECT_EQ(result.joined, kMostHosts);
  EXPECT_TRUE(result.failures.empty()) << result.failures[0].error.message;
  EXPECT_EQ(service.sessions, static_cast<int>(kMostHosts));
  EXPECT_EQ(WeightOf(result.profile), kMostHosts * WeightOf(testing::SmallProfile()));
  std::set<std::string> hosts;
  for (const v1::Process& process : result.profile.processes()) hosts.emplace(HostOf(process));
  EXPECT_EQ(hosts.size(), kMostHosts);
}

TEST_F(Hosts, FailuresCostTheOthersNothing) {
  AddHost();
  AddDeadHost();
  AddHost().collect = [](grpc::ServerContext&, Writer&) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "a reader may not collect\nbe one");
  };
  AddHost().collect = [](grpc::ServerContext&, Writer&) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no process is called so");
  };
  AddHost().collect = [](grpc::ServerContext&, Writer& writer) {
    SendStarted(writer);
    SendBytes(writer, "no profile");
    return grpc::Status::OK;
  };
  AddHost().collect = [](grpc::ServerContext&, Writer& writer) {
    SendStarted(writer);
    v1::CollectResponse response;
    response.set_profile_chunk("half");
    writer.Write(response);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "profd ends");
  };
  AddHost().collect = [](grpc::ServerContext&, Writer& writer) {
    SendStarted(writer);
    SendBytes(writer, std::string(100'000, '\0'));
    return grpc::Status::OK;
  };
  AddHost().collect = [](grpc::ServerContext&, Writer& writer) {
    v1::Profile damaged = testing::SmallProfile();
    damaged.mutable_samples()->set_thread(0, 99);
    return Answer(damaged, writer);
  };
  AddHost().collect = [](grpc::ServerContext&, Writer& writer) {
    return Answer(testing::EmptyProfile(), writer);
  };
  const HostsResult result = Run({.bytes_of_host = 50'000});
  EXPECT_EQ(result.joined, 1u);
  EXPECT_EQ(WeightOf(result.profile), WeightOf(testing::SmallProfile()));
  EXPECT_EQ(result.nothing.size(), 2u);
  std::map<std::string, std::string> why;
  for (const HostFailure& failure : result.failures) why[failure.host] = failure.error.message;
  EXPECT_EQ(why.size(), 6u);
  EXPECT_TRUE(why["host1"].starts_with("cannot be reached: ")) << why["host1"];
  EXPECT_EQ(why["host2"], "a reader may not collect");
  EXPECT_EQ(why["host4"], "it sent no whole profile");
  EXPECT_EQ(why["host5"], "went away in the middle of the collection: profd ends");
  EXPECT_TRUE(why["host6"].starts_with("its profile is longer than ")) << why["host6"];
  EXPECT_TRUE(why["host7"].starts_with("the profile is damaged: ")) << why["host7"];
}

TEST_F(Hosts, SilentHostIsGivenUp) {
  AddHost();
  AddHost().collect = [](grpc::ServerContext& context, Writer& writer) {
    SendStarted(writer);
    while (!context.IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return grpc::Status::CANCELLED;
  };
  const HostsResult result = Run({.patience_ns = 300'000'000});
  EXPECT_EQ(result.joined, 1u);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].host, "host1");
  EXPECT_TRUE(result.failures[0].error.message.starts_with("no word for "));
}

TEST_F(Hosts, StopEndsAllSessionsAndKeepsWhatThereIs) {
  std::atomic<int> begun = 0;
  constexpr int kHosts = 5;
  for (int i = 0; i < kHosts; ++i) {
    HostService& host = AddHost();
    host.collect = [&](grpc::ServerContext& context, Writer& writer) {
      SendStarted(writer);
      if (++begun == kHosts) collection_->Stop();
      if (!host.AwaitStop(context)) return grpc::Status::CANCELLED;
      SendBytes(writer, testing::SmallProfile().SerializeAsString());
      return grpc::Status::OK;
    };
  }
  const HostsResult result = Run();
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.joined, static_cast<std::size_t>(kHosts));
}

TEST_F(Hosts, StopBeforeTheSessionsLeavesNothing) {
  HostService& host = AddHost();
  HostsCollection& collection = Collection();
  collection.Stop();
  const auto result = collection.Run({}, [](const HostsProgress&) {});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->stopped);
  EXPECT_EQ(result->joined, 0u);
  EXPECT_EQ(host.sessions, 0);
}

TEST_F(Hosts, ClockThatIsFarAwayIsCorrected) {
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  AddHost();
  AddHost();
  AddHost().collect = [](grpc::ServerContext&, Writer& writer) {
    return Answer(testing::SmallProfile(), writer, -kHourNs);
  };
  const HostsResult result = Run();
  EXPECT_EQ(result.joined, 3u);
  ASSERT_EQ(result.other_clocks.size(), 1u);
  EXPECT_TRUE(result.other_clocks[0].starts_with("host2 (-")) << result.other_clocks[0];
  const v1::Profile& profile = result.profile;
  EXPECT_LT(profile.end_ns() - profile.start_ns(), static_cast<std::uint64_t>(kHourNs) / 2);
}

}  // namespace
}  // namespace profd::client
