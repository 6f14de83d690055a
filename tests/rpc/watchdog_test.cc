// The watchdog is fed by the pipeline's own progress: a stage that is stuck ends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc_fs.h"
#include "daemon/pipeline.h"
#include "daemon/service_manager.h"
#include "tests/rpc/synthetic_kernel.h"
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
  ~WatchdogFeedTest() override { symbolizer_.LetGo(); }
  // Returns once every stage has ended a round after this call.
  void AwaitProgress() {
    const std::uint64_t now_ns = clock_.MonotonicNs();
    while (pipeline_.heartbeats().OldestNs() <= now_ns) std::this_thread::yield();
  }
  bool Tick() { return watchdog_.Tick(pipeline_.heartbeats().OldestNs(), clock_.MonotonicNs()); }

  SystemClock clock_;
  ProcFs proc_;
  spdlog::logger logger_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
  StuckSymbolizer symbolizer_;
  SyntheticKernel kernel_{{{100, 100}, {100, 101}}, clock_};
  const MemoryGate memory_;
  const MemoryPlan plan_ = PlanMemory(256u << 20);
  LivePipeline pipeline_{{.source = kernel_,
                          .control = kernel_,
                          .symbolizer = symbolizer_,
                          .clock = clock_,
                          .proc = proc_,
                          .logger = logger_,
                          .origin = {"host", "synthetic", "0.1.0", 1000},
                          .recording_file = "",
                          .detach = [] {},
                          .flush_environment = [] {},
                          .describe_tables = [] { return health::TableReport(); },
                          .python_standing = [] { return python::PythonStanding(); },
                          .budget_standing = [] { return health::BudgetStanding(); },
                          .memory_standing = [] { return health::MemoryStanding(); },
                          .give_up_memory = [] {},
                          .memory = memory_,
                          .plan = plan_}};
  profd::testing::NotifySocket socket_;
  ServiceManager manager_{false};
  Watchdog watchdog_{manager_};
};

TEST_F(WatchdogFeedTest, APipelineWithNothingToDoFeedsIt) {
  for (int i = 0; i < 3; ++i) {
    AwaitProgress();
    EXPECT_TRUE(Tick());
  }
  EXPECT_THAT(socket_.Take(), ElementsAre("WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"));
}

TEST_F(WatchdogFeedTest, AStageThatIsStuckDoesNot) {
  source::SessionSpec spec;
  spec.target.kind = source::TargetKind::kPids;
  spec.target.ids = {100};
  ASSERT_TRUE(pipeline_.Start(1, spec));
  symbolizer_.WaitUntilStuck();
  (void)Tick();  // for rounds before it got stuck
  (void)socket_.Take();
  // The others go on.
  const std::uint64_t now_ns = clock_.MonotonicNs();
  const auto& beats = pipeline_.heartbeats();
  while (beats.reader.value() <= now_ns || beats.worker.value() <= now_ns)
    std::this_thread::yield();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Tick());
  // What /healthz says of it, once it has lasted.
  EXPECT_EQ(health::StuckStage(beats, beats.symbolizer.value() + health::kStuckNs),
            "symbolizer: no round for 30 s");
  EXPECT_THAT(socket_.Take(), IsEmpty());

  symbolizer_.LetGo();
  AwaitProgress();
  EXPECT_TRUE(Tick());
  EXPECT_THAT(socket_.Take(), ElementsAre("WATCHDOG=1"));
}

}  // namespace
}  // namespace profd::test
