#include "daemon/health/heartbeats.h"

#include <gtest/gtest.h>

namespace profd::health {
namespace {

constexpr std::uint64_t kNow = 100 * kStuckNs;

TEST(Heartbeats, AllGoOn) {
  Heartbeats beats;
  beats.reader.Set(kNow);
  beats.worker.Set(kNow - kStuckNs + 1);
  beats.symbolizer.Set(kNow + 5);  // read after `now`
  EXPECT_EQ(StuckStage(beats, kNow), "");
}

TEST(Heartbeats, TheStuckStageIsNamed) {
  Heartbeats beats;
  for (auto* beat : {&beats.reader, &beats.worker, &beats.symbolizer}) beat->Set(kNow);
  beats.worker.Set(kNow - kStuckNs - 1'500'000'000);
  EXPECT_EQ(StuckStage(beats, kNow), "worker: no round for 31 s");
}

TEST(Heartbeats, OneThatHasNotBegunIsNamed) {
  Heartbeats beats;
  beats.reader.Set(kNow);
  beats.worker.Set(kNow);
  EXPECT_EQ(StuckStage(beats, kNow), "symbolizer: no round yet");
}

}  // namespace
}  // namespace profd::health
