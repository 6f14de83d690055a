#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/shared/limits.h"
#include "daemon/server/grpc/convert/convert.h"

namespace profd::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::CollectRequest Request() {
  v1::CollectRequest request;
  request.mutable_target()->mutable_pids()->add_id(42);
  request.set_duration_ns(1'000'000'000);
  return request;
}

Error RefusalOf(const v1::CollectRequest& request) {
  const auto plan = server::ToPlan(request, server::RequestLimits{});
  if (plan) {
    ADD_FAILURE() << "accepted: " << request.ShortDebugString();
    return {};
  }
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
  return plan.error();
}

TEST(ToPlan, FillsInWhatIsNotSaid) {
  v1::CollectRequest request;
  request.mutable_target()->set_all(true);
  const auto plan = server::ToPlan(request, server::RequestLimits{});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->duration_ns, 0u);
  EXPECT_EQ(plan->spec.on_cpu_period_ns, 10'101'010u);
  EXPECT_EQ(plan->spec.off_cpu_period_ns, 10'101'010u);
  EXPECT_TRUE(plan->spec.on_cpu);
  EXPECT_TRUE(plan->spec.off_cpu);
  EXPECT_EQ(plan->spec.target.kind, session::TargetKind::kAll);
  EXPECT_EQ(plan->progress_interval, std::chrono::milliseconds(250));
}

TEST(ToPlan, ABudgetThatNoClientNamedIsLargerAtFirst) {
  auto request = Request();
  auto plan = server::ToPlan(request, {.cpus = 16});
  EXPECT_DOUBLE_EQ(plan->spec.budget_cpus, 0.04);
  EXPECT_DOUBLE_EQ(plan->spec.first_budget_cpus, 0.1);
  plan = server::ToPlan(request, {.cpus = 80});
  EXPECT_DOUBLE_EQ(plan->spec.first_budget_cpus, 0.2);
  request.set_budget_cpus(0.03);
  plan = server::ToPlan(request, {.cpus = 16});
  EXPECT_DOUBLE_EQ(plan->spec.budget_cpus, 0.03);
  EXPECT_DOUBLE_EQ(plan->spec.first_budget_cpus, 0);
  request.set_budget_cpus(-1);
  plan = server::ToPlan(request, {.cpus = 16});
  EXPECT_DOUBLE_EQ(plan->spec.budget_cpus, 0);
  EXPECT_DOUBLE_EQ(plan->spec.first_budget_cpus, 0);
}

TEST(ToPlan, AReplayIsLimitedOnlyByADurationThatWasNamed) {
  auto request = Request();
  EXPECT_EQ(server::ToPlan(request, server::RequestLimits{})->spec.recorded_ns, 1'000'000'000u);
  request.set_duration_is_default(true);
  const auto plan = server::ToPlan(request, server::RequestLimits{});
  EXPECT_EQ(plan->duration_ns, 1'000'000'000u);
  EXPECT_EQ(plan->spec.recorded_ns, 0u);
}

TEST(ToPlan, TakesEveryTarget) {
  auto request = Request();
  request.mutable_target()->mutable_tids()->add_id(9);
  request.mutable_target()->mutable_tids()->add_id(7);
  request.mutable_target()->mutable_tids()->add_id(9);
  request.mutable_target()->set_children(true);
  request.mutable_target()->set_pidns_inode(4026531836);
  auto plan = server::ToPlan(request, server::RequestLimits{});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spec.target.kind, session::TargetKind::kTids);
  EXPECT_THAT(plan->spec.target.ids, ElementsAre(7u, 9u));
  EXPECT_TRUE(plan->spec.target.children);
  EXPECT_EQ(plan->spec.target.pidns_inode, 4026531836u);

  request.mutable_target()->set_comm("redis-server");
  plan = server::ToPlan(request, server::RequestLimits{});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spec.target.kind, session::TargetKind::kComm);
  EXPECT_EQ(plan->spec.target.name, "redis-server");

  request.mutable_target()->set_cgroup("/sys/fs/cgroup/app.slice");
  plan = server::ToPlan(request, server::RequestLimits{});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spec.target.kind, session::TargetKind::kCgroup);
}

TEST(ToPlan, TakesLabels) {
  auto request = Request();
  auto& labels = *request.mutable_target()->mutable_labels();
  EXPECT_EQ(RefusalOf(request).message, "no label is named");
  labels.add_label("service.name=cart");
  labels.add_label("service.version=1.*");
  request.mutable_target()->set_children(true);
  const auto plan = server::ToPlan(request, server::RequestLimits{});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spec.target.kind, session::TargetKind::kLabels);
  EXPECT_THAT(plan->spec.target.labels, ElementsAre("service.name=cart", "service.version=1.*"));
  EXPECT_TRUE(plan->spec.target.children);
  EXPECT_EQ(plan->spec.steps.size(), 1u) << "until it is known that they are many";
  EXPECT_TRUE(plan->spec.steps_of_few);
  request.add_steps("none");
  EXPECT_FALSE(server::ToPlan(request, server::RequestLimits{})->spec.steps_of_few);
  labels.add_label("cart");
  EXPECT_EQ(RefusalOf(request).message, "the label 'cart' is no NAME=VALUE");
  labels.clear_label();
  for (int i = 0; i < 65; ++i) labels.add_label("a=b");
  EXPECT_EQ(RefusalOf(request).message, "more than 64 labels are named");
}

TEST(ToPlan, TakesEveryMode) {
  auto request = Request();
  request.set_mode(v1::MODE_ON_CPU);
  EXPECT_FALSE(server::ToPlan(request, server::RequestLimits{})->spec.off_cpu);
  request.set_mode(v1::MODE_OFF_CPU);
  EXPECT_FALSE(server::ToPlan(request, server::RequestLimits{})->spec.on_cpu);
  request.set_mode(static_cast<v1::Mode>(17));
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("17"));
}

TEST(ToPlan, InlinedFunctionsAndLinesAreWantedUnlessRefused) {
  auto request = Request();
  EXPECT_TRUE(server::ToPlan(request, server::RequestLimits{})->spec.inlined);
  EXPECT_TRUE(server::ToPlan(request, server::RequestLimits{})->spec.lines);
  request.set_no_inlined(true);
  EXPECT_FALSE(server::ToPlan(request, server::RequestLimits{})->spec.inlined);
  EXPECT_TRUE(server::ToPlan(request, server::RequestLimits{})->spec.lines);
  request.set_no_lines(true);
  EXPECT_FALSE(server::ToPlan(request, server::RequestLimits{})->spec.lines);
}

TEST(ToPlan, RefusesAMissingOrEmptyTarget) {
  auto request = Request();
  request.clear_target();
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("target is missing"));
  request.mutable_target()->mutable_pids();
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("no pid"));
  request.mutable_target()->set_all(false);
  RefusalOf(request);
  request.mutable_target()->set_comm("");
  RefusalOf(request);
  request.mutable_target()->set_comm("a-name-of-16-char");
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("1 to 15 bytes"));
  request.mutable_target()->set_cgroup("app.slice");
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("absolute path"));
}

TEST(ToPlan, RefusesAbsurdIds) {
  auto request = Request();
  request.mutable_target()->mutable_pids()->add_id(0);
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("1 to 4194304"));
  request = Request();
  request.mutable_target()->mutable_pids()->add_id(4'194'305);
  RefusalOf(request);
  request.mutable_target()->clear_pids();
  for (std::uint32_t i = 0; i <= PROFD_MAX_FILTER_IDS; ++i)
    request.mutable_target()->mutable_pids()->add_id(i + 1);
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("16384"));
}

TEST(ToPlan, RefusesAbsurdDurations) {
  auto request = Request();
  request.set_duration_ns(999'999);
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("0.001 s to 86400 s"));
  request.set_duration_ns(~std::uint64_t{0});
  RefusalOf(request);
  request.set_duration_ns(24ull * 3600 * 1'000'000'000);
  EXPECT_TRUE(server::ToPlan(request, server::RequestLimits{}).ok());
}

TEST(ToPlan, RefusesAFrequencyAboveTheKernelsLimit) {
  auto request = Request();
  server::RequestLimits limits;
  limits.max_frequency_hz = 4000;
  request.set_frequency_hz(4000);
  EXPECT_EQ(server::ToPlan(request, limits)->spec.on_cpu_period_ns, 250'000u);
  request.set_frequency_hz(4001);
  const auto plan = server::ToPlan(request, limits);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message, HasSubstr("1 to 4000 Hz"));
  EXPECT_THAT(plan.error().hint, HasSubstr("perf_event_max_sample_rate"));
}

TEST(ToPlan, RefusesAbsurdProgressIntervals) {
  auto request = Request();
  request.set_progress_interval_ns(1);
  EXPECT_THAT(RefusalOf(request).message, HasSubstr("0.01 s to 60 s"));
  request.set_progress_interval_ns(~std::uint64_t{0});
  RefusalOf(request);
}

}  // namespace
}  // namespace profd::server
