// The background session, its windows, and questions about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "daemon/history/history_recorder.h"
#include "daemon/store/api/memory_store.h"
#include "tests/rpc/kept_log.h"
#include "tests/rpc/rpc_fixture.h"
#include "tests/support/eventually.h"

namespace profd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::nanoseconds kWindow = milliseconds(100);

// Keeps the windows that are put; can delay or refuse them.
class ProbedStore : public store::ProfileStore {
 public:
  Result<void> Put(const aggregate::Profile& window) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_; });
    if (refusing_) {
      ++refusals_;
      return Error{ErrorCode::kIo, "the disk is full", ""};
    }
    windows_.push_back(window);
    return kept_.Put(window);
  }
  Result<aggregate::Profile> Query(const store::TimeRange& range,
                                   const store::Filter& filter) const override {
    return kept_.Query(range, filter);
  }
  store::StoreStatus Status() const override {
    auto status = kept_.Status();
    const std::scoped_lock lock(mutex_);
    status.losses = losses_;
    return status;
  }

  void Hold(bool held) {
    const std::scoped_lock lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void Refuse(bool refusing) {
    const std::scoped_lock lock(mutex_);
    refusing_ = refusing;
  }
  [[nodiscard]] int refusals() const {
    const std::scoped_lock lock(mutex_);
    return refusals_;
  }
  void Lose(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    losses_.push_back(what);
  }
  [[nodiscard]] std::vector<aggregate::Profile> windows() const {
    const std::scoped_lock lock(mutex_);
    return windows_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool refusing_ = false;
  int refusals_ = 0;
  std::vector<std::string> losses_;
  std::vector<aggregate::Profile> windows_;
  store::MemoryStore kept_{1000};
};

class HistoryTest : public RpcFixture {
 protected:
  explicit HistoryTest(std::chrono::nanoseconds window = kWindow)
      : owned_(std::make_unique<ProbedStore>()),
        store_(*owned_),
        recorder_(pipeline_, std::move(owned_), clock_, log_.logger(),
                  {.frequency_hz = 19, .window = window}),
        history_service_(manager_, pipeline_, status_, clock_, proc_, logger_, &recorder_,
                         &rules_) {
    const std::string address = "unix:" + (directory_ / "history.sock").string();
    auto server = server::Server::Start({address, "", "", {}}, history_service_, clock_, logger_);
    EXPECT_TRUE(server.ok()) << server.error().message;
    history_server_ = *std::move(server);
    history_stub_ =
        v1::Profiler::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  ~HistoryTest() override {
    store_.Hold(false);
    history_server_->Shutdown(std::chrono::seconds(10));
  }

  void AwaitWindows(std::size_t count) {
    ASSERT_TRUE(test::Eventually([&] { return store_.windows().size() >= count; }));
  }
  grpc::Status Query(v1::Profiler::Stub& stub, const v1::QueryRequest& request,
                     v1::Profile& profile) {
    grpc::ClientContext context;
    const auto reader = stub.Query(&context, request);
    v1::QueryResponse response;
    std::string bytes;
    while (reader->Read(&response)) {
      bytes += response.profile_chunk();
      if (response.done()) {
        EXPECT_TRUE(profile.ParseFromString(bytes));
      }
    }
    return reader->Finish();
  }

  static rules::RuleSetRef RulesOf(const std::string& text) {
    return *rules::RuleSet::Make(*rules::ParseRules(text, "r.toml"));
  }

  KeptLog log_;
  rules::CurrentRules rules_{RulesOf("")};
  std::unique_ptr<ProbedStore> owned_;
  ProbedStore& store_;
  history::HistoryRecorder recorder_;
  server::ProfilerService history_service_;
  std::unique_ptr<server::Server> history_server_;
  std::unique_ptr<v1::Profiler::Stub> history_stub_;
};

TEST_F(HistoryTest, WindowsFollowEachOtherWithoutGaps) {
  AwaitWindows(4);
  recorder_.Stop();
  const auto windows = store_.windows();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& window = windows[i];
    EXPECT_EQ(window.target, "all +kernel");
    EXPECT_EQ(window.on_cpu_period_ns, 1'000'000'000u / 19);
    if (i > 0) {
      EXPECT_EQ(window.start_ns, windows[i - 1].end_ns);
    }
    ASSERT_EQ(window.threads.size(), 3u);
    for (const auto& thread : window.threads) {
      EXPECT_EQ(thread.begin_ns, window.start_ns);
      EXPECT_EQ(thread.end_ns, window.end_ns);
      EXPECT_EQ(aggregate::ClockTotal(thread.clock), window.end_ns - window.start_ns);
    }
  }
  // The last one was ended by Stop, and is kept: everything since the first one's start.
  const auto all = recorder_.store().Query({}, {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->end_ns - all->start_ns, windows.back().end_ns - windows.front().start_ns);
  for (const auto& thread : all->threads)
    EXPECT_EQ(aggregate::ClockTotal(thread.clock), all->end_ns - all->start_ns);
  EXPECT_EQ(kernel_.running(), 0u);
}

TEST_F(HistoryTest, AQuestionIsAnsweredAsACollectionIs) {
  AwaitWindows(3);
  v1::QueryRequest request;
  request.mutable_filter()->add_pid(100);
  v1::Profile profile;
  const auto status = Query(*history_stub_, request, profile);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(profile.processes_size(), 1);
  EXPECT_EQ(profile.threads_size(), 2);
  std::uint64_t weight_ns = 0;
  for (const auto ns : profile.samples().weight_ns()) weight_ns += ns;
  EXPECT_EQ(weight_ns, 2 * (profile.end_ns() - profile.start_ns()));
  // By the time of day, to a second or so.
  const std::uint64_t now_ns = clock_.RealtimeNs();
  EXPECT_LT(profile.start_unix_ns(), now_ns);
  EXPECT_GT(profile.start_unix_ns(), now_ns - 120'000'000'000);

  request.mutable_filter()->set_state(v1::STATE_ON_CPU);
  ASSERT_TRUE(Query(*history_stub_, request, profile).ok());
  for (const auto state : profile.samples().state()) EXPECT_EQ(state, v1::STATE_ON_CPU);
}

TEST_F(HistoryTest, IsJudgedByTheRulesOfNow) {
  AwaitWindows(2);
  const auto decided = [&] {
    v1::Profile profile;
    EXPECT_TRUE(Query(*history_stub_, {}, profile).ok());
    return profile.samples().rule_size() == 0
               ? 0
               : profile.samples().rule_size() - std::ranges::count(profile.samples().rule(), 0u);
  };
  EXPECT_EQ(decided(), 0);
  rules_.Set(
      RulesOf("[[rule]]\nclass = 'spin'\nfunction = '.*'\n"
              "[[rule]]\nclass = 'spin'\nfunction = ''\n"));
  EXPECT_GT(decided(), 0);
}

TEST_F(HistoryTest, WhatIsNotKeptIsNotFound) {
  AwaitWindows(1);
  v1::QueryRequest request;
  request.set_from_unix_ns(1);
  request.set_to_unix_ns(1'000'000'000);
  v1::Profile profile;
  EXPECT_EQ(Query(*history_stub_, request, profile).error_code(), grpc::StatusCode::NOT_FOUND);
  // No process matches: an empty profile with the time that it covers.
  v1::QueryRequest none;
  none.mutable_filter()->add_comm("no-such-comm");
  ASSERT_TRUE(Query(*history_stub_, none, profile).ok());
  EXPECT_EQ(profile.threads_size(), 0);
  EXPECT_GT(profile.end_ns(), profile.start_ns());
}

TEST_F(HistoryTest, BadQuestionsAreRefusedWithWords) {
  const auto refused = [&](const v1::QueryRequest& request) {
    v1::Profile profile;
    const auto status = Query(*history_stub_, request, profile);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  v1::QueryRequest request;
  request.set_from_unix_ns(10);
  request.set_to_unix_ns(10);
  EXPECT_THAT(refused(request), HasSubstr("ends before it begins"));
  request.set_since_ns(5);
  EXPECT_THAT(refused(request), HasSubstr("both"));
  v1::QueryRequest many;
  for (int i = 0; i < 1001; ++i) many.mutable_filter()->add_unit("x");
  EXPECT_THAT(refused(many), HasSubstr("more than 1000"));
  v1::QueryRequest longest;
  longest.mutable_filter()->add_cgroup(std::string(5'000, 'x'));
  EXPECT_THAT(refused(longest), HasSubstr("longer than 4096"));
  v1::QueryRequest label;
  label.mutable_filter()->add_label("service.name");
  EXPECT_THAT(refused(label), HasSubstr("no NAME=VALUE"));
  v1::QueryRequest state;
  state.mutable_filter()->set_state(static_cast<v1::State>(77));
  EXPECT_THAT(refused(state), HasSubstr("no such state"));
}

TEST_F(HistoryTest, ADaemonWithoutOneSaysSo) {
  v1::Profile profile;
  const auto status = Query(*stub_, {}, profile);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("keeps no history"));
}

TEST_F(HistoryTest, WhatTheStoreLosesIsLoggedOnce) {
  store_.Lose("3 windows could not be read");
  AwaitWindows(2);
  log_.Await("history: 3 windows could not be read");
  store_.Lose("the rest, too");
  log_.Await("history: the rest, too");
  const auto text = log_.Text();
  const auto first = text.find("3 windows");
  EXPECT_EQ(text.find("3 windows", first + 1), std::string::npos);
}

TEST_F(HistoryTest, StatusDescribesIt) {
  AwaitWindows(2);
  grpc::ClientContext context;
  v1::StatusResponse response;
  ASSERT_TRUE(history_stub_->Status(&context, {}, &response).ok());
  ASSERT_TRUE(response.has_history());
  EXPECT_GE(response.history().windows(), 2u);
  EXPECT_GT(response.history().last_unix_ns(), response.history().first_unix_ns());
  EXPECT_EQ(response.history().on_cpu_period_ns(), 1'000'000'000u / 19);
  EXPECT_EQ(response.history().window_ns(), static_cast<std::uint64_t>(kWindow.count()));
  EXPECT_EQ(response.sessions_size(), 0) << "it is no client's session";
}

TEST_F(HistoryTest, CollectionsGoOnBesideIt) {
  AwaitWindows(1);
  const auto collected = Collect(RequestFor(100, milliseconds(350)));
  ASSERT_TRUE(collected.status.ok()) << collected.status.error_message();
  for (const auto& thread : collected.profile->threads()) EXPECT_EQ(thread.closure_error(), 0.0);
  EXPECT_EQ(collected.profile->threads_size(), 2);
}

TEST_F(HistoryTest, AStoreThatFailsEndsNothing) {
  AwaitWindows(1);
  store_.Refuse(true);
  const auto before = store_.windows().size();
  ASSERT_TRUE(test::Eventually([&] { return store_.refusals() >= 2; }));
  store_.Refuse(false);
  AwaitWindows(before + 2);
  recorder_.Stop();
  EXPECT_GT(recorder_.Status().store.windows, 1u);
}

TEST_F(HistoryTest, WindowsThatASlowStoreCannotTakeAreCounted) {
  AwaitWindows(1);
  store_.Hold(true);
  ASSERT_TRUE(test::Eventually([&] { return recorder_.Status().windows_lost >= 2; }));
  EXPECT_GT(recorder_.Status().on_cpu_period_ns, 0u) << "it runs on";
  store_.Hold(false);
  const auto before = store_.windows().size();
  AwaitWindows(before + 2);
}

class LongWindow : public HistoryTest {
 protected:
  LongWindow() : HistoryTest(std::chrono::hours(1)) {}
};

TEST_F(LongWindow, IsKeptAtTheEnd) {
  ASSERT_TRUE(test::Eventually([&] { return kernel_.running() == 1; }));
  EXPECT_THAT(store_.windows(), IsEmpty());
  recorder_.Stop();
  EXPECT_EQ(store_.windows().size(), 1u);
  recorder_.Stop();
  EXPECT_EQ(store_.windows().size(), 1u);
}

TEST_F(LongWindow, IsLostAndCountedWhereThereIsNoTimeToKeepIt) {
  ASSERT_TRUE(test::Eventually([&] { return kernel_.running() == 1; }));
  recorder_.BeginStop(std::chrono::steady_clock::now());
  recorder_.Stop();
  EXPECT_THAT(store_.windows(), IsEmpty());
  EXPECT_EQ(recorder_.Status().windows_lost, 1u);
}

}  // namespace
}  // namespace profd::test
