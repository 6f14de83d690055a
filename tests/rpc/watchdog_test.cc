// A thread that is stuck: the watchdog is not fed, health checks report it, and an end comes in
// time.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/app/front_end.h"
#include "daemon/app/parts/health.h"
#include "daemon/app/service_manager.h"
#include "daemon/base/clock.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/budget/memory/memory_thread.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/rules/rule_set.h"
#include "tests/rpc/foreign_service.h"
#include "tests/rpc/plain_names.h"
#include "tests/rpc/synthetic_kernel.h"
#include "tests/rpc/synthetic_status.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/support/notify_socket.h"
#include "tests/support/numbering_symbolizer.h"

namespace profd::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Its first name takes until it is let go.
class StuckSymbolizer : public NumberingSymbolizer {
 public:
  void Resolve(const process::AddressFrame& address, symbolize::Detail detail,
               std::vector<symbolize::Frame>& frames) override {
    if (!std::exchange(began_, true)) {
      stuck_.count_down();
      free_.wait();
    }
    NumberingSymbolizer::Resolve(address, detail, frames);
  }
  void WaitUntilStuck() { stuck_.wait(); }
  void LetGo() {
    if (!std::exchange(let_go_, true)) free_.count_down();
  }

 private:
  bool began_ = false;   // symbolizer thread
  bool let_go_ = false;  // the test's
  std::latch stuck_{1};
  std::latch free_{1};
};

class WatchdogFeedTest : public ::testing::Test {
 protected:
  WatchdogFeedTest() {
    ::setenv("WATCHDOG_USEC", "1000000", 1);
    health_.Watch(pipeline_.heartbeats());
  }
  ~WatchdogFeedTest() override {
    symbolizer_.LetGo();
    ::unsetenv("WATCHDOG_USEC");
  }
  // When the present round of a thread began.
  [[nodiscard]] std::uint64_t RoundBegin(const Heartbeat& thread) const {
    const std::uint64_t now_ns = clock_.MonotonicNs();
    return now_ns - thread.RoundNs(now_ns);
  }
  // Returns once every stage but `but` has begun a round after this time.
  void AwaitProgress(std::uint64_t since_ns, const Heartbeat* but = nullptr) const {
    for (const Heartbeat* stage : pipeline_.heartbeats()) {
      if (stage == but) continue;
      EXPECT_TRUE(Eventually([&] { return RoundBegin(*stage) > since_ns; })) << stage->thread();
    }
  }
  // Health checks look at the time when this thread's round has lasted for its bound, and no stage
  // has begun its own so early.
  void LookWhenStuck(const Heartbeat& thread) {
    const std::uint64_t begin_ns = RoundBegin(thread);
    AwaitProgress(begin_ns, &thread);
    looked_.Set(begin_ns + kBoundNs, 0);
  }
  void LookNow() { looked_.Set(clock_.MonotonicNs(), 0); }
  // A session whose first sample gets no name.
  std::shared_ptr<pipeline::Session> StartStuck() {
    session::SessionSpec spec;
    spec.target.kind = session::TargetKind::kPids;
    spec.target.ids = {100};
    const auto started = pipeline_.Start(1, spec);
    if (!started) return nullptr;
    symbolizer_.WaitUntilStuck();
    return *started;
  }
  bool Tick() { return watchdog_.Tick(health_.Failure()); }
  [[nodiscard]] const Heartbeat& symbolizer_thread() const { return *pipeline_.heartbeats()[2]; }

  static constexpr std::uint64_t kBoundNs = std::chrono::nanoseconds(Heartbeat::kBound).count();
  SystemClock clock_;
  ManualClock looked_;  // of the health checks
  ProcFs proc_;
  spdlog::logger logger_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
  StuckSymbolizer symbolizer_;
  SyntheticKernel kernel_{{{100, 100}, {100, 101}}, clock_};
  PlainNames names_{symbolizer_};
  const budget::MemoryBudget memory_{256u << 20};
  pipeline::LivePipeline pipeline_{{.source = kernel_,
                                    .control = kernel_,
                                    .names = names_,
                                    .clock = clock_,
                                    .proc = proc_,
                                    .logger = logger_,
                                    .memory = memory_,
                                    .origin = {"host", "synthetic", "0.1.0", 1000}}};
  const SyntheticStatus status_{kernel_, pipeline_};
  app::Health health_{looked_};
  profd::testing::NotifySocket socket_;
  app::ServiceManager manager_{false};
  app::Watchdog watchdog_{manager_, logger_};
};

TEST_F(WatchdogFeedTest, APipelineWithNothingToDoFeedsIt) {
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t now_ns = clock_.MonotonicNs();
    AwaitProgress(now_ns);
    looked_.Set(now_ns + kBoundNs, 0);
    EXPECT_TRUE(Tick());
  }
  EXPECT_THAT(socket_.Take(), ElementsAre("WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"));
}

TEST_F(WatchdogFeedTest, AStageThatIsStuckDoesNot) {
  ASSERT_TRUE(StartStuck());
  LookWhenStuck(symbolizer_thread());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Tick());
  EXPECT_EQ(health_.Failure(), "symbolizer: no progress for 30 s");
  EXPECT_THAT(socket_.Take(), IsEmpty());

  symbolizer_.LetGo();
  AwaitProgress(RoundBegin(symbolizer_thread()));
  EXPECT_TRUE(Tick());
  EXPECT_THAT(socket_.Take(), ElementsAre("WATCHDOG=1"));
}

TEST_F(WatchdogFeedTest, AThreadOutsideThePipelineThatIsStuckDoesNotEither) {
  std::latch began(1);
  std::latch free(1);
  budget::MemoryBudget budget(256u << 20);
  const auto wait = [&] {
    if (!began.try_wait()) began.count_down();
    free.wait();
    return 0;
  };
  budget::MemoryThread thread(
      budget, {}, proc_, [] { return 0; }, wait);
  health_.Watch(thread.heartbeat());
  began.wait();
  LookWhenStuck(thread.heartbeat());
  EXPECT_FALSE(Tick());
  EXPECT_EQ(health_.Failure(), "memory budget: no progress for 30 s");
  EXPECT_THAT(socket_.Take(), IsEmpty());

  const std::uint64_t stuck_ns = RoundBegin(thread.heartbeat());
  free.count_down();
  ASSERT_TRUE(Eventually([&] { return RoundBegin(thread.heartbeat()) > stuck_ns; }));
  AwaitProgress(stuck_ns);
  EXPECT_TRUE(Tick());
}

class HealthTest : public WatchdogFeedTest {
 protected:
  HealthTest() {
    app::FrontEndOptions options;
    options.server.address = address_;
    EXPECT_TRUE(front_end_.Serve(std::move(options)));
    channel_ = grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
  }
  ~HealthTest() override {
    front_end_.StopServing(std::chrono::milliseconds(0));
    std::filesystem::remove_all(directory_);
  }
  static std::string MakeDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "profd_health_XXXXXX").string();
    return mkdtemp(name.data());
  }
  [[nodiscard]] std::string Health() const {
    front_end_.ReportHealth(health_.Failure().empty());
    return HealthOf(channel_);
  }

  const std::string directory_ = MakeDirectory();
  const std::string address_ = "unix:" + directory_ + "/profd.sock";
  const rules::CurrentRules rules_{*rules::RuleSet::Make({})};
  app::FrontEnd front_end_{{.backend = pipeline_,
                            .status = status_,
                            .clock = clock_,
                            .proc = proc_,
                            .logger = logger_,
                            .history = nullptr,
                            .rules = rules_,
                            .health = health_}};
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(HealthTest, AStageThatIsStuckMakesItNotServing) {
  ASSERT_TRUE(StartStuck());
  LookWhenStuck(symbolizer_thread());
  EXPECT_EQ(Health(), kNotServing) << "a server is made for who is the first to connect";
  symbolizer_.LetGo();
  LookNow();
  EXPECT_EQ(Health(), kServing);
  looked_.Set(clock_.MonotonicNs() + 2 * kBoundNs, 0);
  EXPECT_EQ(Health(), kNotServing);
}

std::uint64_t CountOf(const std::vector<NamedCount>& counts, const std::string& name) {
  for (const auto& count : counts)
    if (count.name == name) return count.count;
  return 0;
}

TEST_F(WatchdogFeedTest, AtTheEndWhatWaitsForNamesIsCountedInstead) {
  const auto session = StartStuck();
  ASSERT_TRUE(session);
  ASSERT_TRUE(Eventually([this] {
    const auto samples = pipeline_.samples();
    return samples.requested.off_cpu + samples.background.off_cpu >= 100;
  }));
  pipeline_.FinishWithin(std::chrono::nanoseconds(0));
  ASSERT_TRUE(session->BeginEnd());
  pipeline_.End(session);
  symbolizer_.LetGo();
  pipeline_.Stop();

  ASSERT_TRUE(session->WaitFinished(std::chrono::nanoseconds(0)));
  const auto profile = session->result();
  ASSERT_TRUE(profile) << profile.error().message;
  // The profile says why it has next to no stacks; its clocks are exact all the same.
  EXPECT_GT(CountOf((*profile)->dropped, "ending"), 0u);
  EXPECT_EQ((*profile)->threads.size(), 2u);
  EXPECT_EQ(aggregate::WorstClosureError(**profile), 0.0);
  std::uint64_t weight_ns = 0;
  for (const auto& sample : (*profile)->samples) weight_ns += sample.weight_ns;
  EXPECT_EQ(weight_ns, 2 * ((*profile)->end_ns - (*profile)->start_ns));

  const auto by_kind = Describe(pipeline_.counters());
  const auto counter = [&](const char* name) { return CountOf(by_kind.counters, name); };
  EXPECT_EQ(counter("samples_delivered"), 1u);  // the one that was stuck
  std::uint64_t dropped = 0;
  for (const auto& count : by_kind.dropped) dropped += count.count;
  EXPECT_EQ(
      counter("on_cpu_samples_read") + counter("off_cpu_samples_read") + counter("snapshots_read"),
      counter("samples_delivered") + counter("samples_unwanted") + dropped);
}

}  // namespace
}  // namespace profd::test
