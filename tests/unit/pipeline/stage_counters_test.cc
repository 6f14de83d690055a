#include "daemon/pipeline/stage_counters.h"

#include <gtest/gtest.h>

namespace profd::pipeline {
namespace {

constexpr std::uint64_t kNow = 100 * pipeline::kStuckNs;

TEST(Heartbeats, AllGoOn) {
  pipeline::Heartbeats beats;
  beats.reader.Set(kNow);
  beats.worker.Set(kNow - pipeline::kStuckNs + 1);
  beats.symbolizer.Set(kNow + 5);  // read after `now`
  EXPECT_EQ(pipeline::StuckStage(beats, kNow), "");
}

TEST(Heartbeats, TheStuckStageIsNamed) {
  pipeline::Heartbeats beats;
  for (auto* beat : {&beats.reader, &beats.worker, &beats.symbolizer}) beat->Set(kNow);
  beats.worker.Set(kNow - pipeline::kStuckNs - 1'500'000'000);
  EXPECT_EQ(pipeline::StuckStage(beats, kNow), "worker: no round for 31 s");
}

TEST(Heartbeats, OneThatHasNotBegunIsNamed) {
  pipeline::Heartbeats beats;
  beats.reader.Set(kNow);
  beats.worker.Set(kNow);
  EXPECT_EQ(pipeline::StuckStage(beats, kNow), "symbolizer: no round yet");
}

}  // namespace
}  // namespace profd::pipeline
