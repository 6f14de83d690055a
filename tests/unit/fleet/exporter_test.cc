#include "daemon/fleet/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>

#include "tests/unit/store/store_fixture.h"
#include "tests/unit/store/window_maker.h"

namespace profd::fleet {
namespace {

using store::kSecond;
using store::kStartUnixNs;
using ::testing::HasSubstr;
using Kind = Verdict::Kind;

constexpr std::uint64_t kMinute = 60 * kSecond;

// What the receiver has; it outlives the target, which ends with its exporter.
struct Received {
  std::deque<Verdict> verdicts;  // of the next tries; empty: all are taken
  std::uint64_t tries = 0;
  std::vector<std::uint64_t> taken;  // begins, in minutes
  std::vector<std::uint64_t> numbers;
  std::vector<Gaps> gaps;
  std::size_t parts = 1;  // requests of a profile
  std::size_t bytes = 100;
  std::size_t limit = SIZE_MAX;     // larger ones are to be split
  std::vector<std::size_t> tried;   // sizes
  std::vector<std::size_t> pieces;  // sizes of what was taken
};

class FakeTarget : public Target {
 public:
  explicit FakeTarget(Received& received) : received_(received) {}
  Result<EncodedProfile> Encode(const ExportProfile&) override {
    return EncodedProfile{
        std::vector<std::string>(received_.parts, std::string(received_.bytes, 'x')), 0};
  }
  Verdict Send(const SpoolEntry& entry, std::uint64_t number) override {
    ++received_.tries;
    received_.tried.push_back(entry.payload.size());
    if (entry.payload.size() > received_.limit)
      return {.kind = Kind::kTooLarge, .cause = "refused_large", .message = "too large"};
    Verdict verdict;
    if (!received_.verdicts.empty()) {
      verdict = received_.verdicts.front();
      received_.verdicts.pop_front();
    }
    if (verdict.kind != Kind::kSent) return verdict;
    received_.taken.push_back((entry.from_unix_ns - kStartUnixNs) / kMinute);
    received_.numbers.push_back(number);
    received_.gaps.push_back(entry.gaps);
    received_.pieces.push_back(entry.payload.size());
    return verdict;
  }
  std::vector<std::string> Split(const std::string& payload) override {
    if (payload.size() < 2) return {};
    return {payload.substr(0, payload.size() / 2), payload.substr(payload.size() / 2)};
  }

 private:
  Received& received_;
};

class ExporterTest : public store::StoreFixture {
 protected:
  ExporterTest() {
    settings_.name = "test";
    settings_.to = "test:";
    settings_.spool_bytes = 1u << 20;
  }
  std::unique_ptr<Exporter> Make() {
    return std::make_unique<Exporter>(
        Exporter::Parts{.settings = settings_,
                        .folder = folder_.Path("exports/test"),
                        .history = options_.path,
                        .grace_ns = 140 * kSecond,
                        .relabelling = *Relabelling::Make({}),
                        .rules = nullptr,
                        .target = std::make_unique<FakeTarget>(received_),
                        .random = [this] { return random_; }},
        clock_);
  }
  // Puts windows of whole minutes, and the window that completes the last.
  void PutMinutes(store::SqliteStore& store, std::uint64_t minutes) {
    const std::uint64_t end = next_ + 6 * minutes + (next_ == 0 ? 1 : 0);
    for (; next_ < end; ++next_) {
      At(next_ * 10);
      ASSERT_TRUE(store.Put(store::MakeWindow(next_)).ok());
    }
  }
  // Seconds from the begin on.
  void At(std::uint64_t seconds) {
    now_ = seconds;
    clock_.Set((1000 + seconds) * kSecond, kStartUnixNs + seconds * kSecond);
  }
  // Steps until nothing is due any more.
  void Run(Exporter& exporter) {
    for (int i = 0; i < 100 && exporter.Step() <= clock_.MonotonicNs(); ++i) continue;
  }
  void Later(std::uint64_t seconds) { At(now_ + seconds); }
  // Until nothing waits: the entries of a backlog have pauses between them.
  void Drain(Exporter& exporter) {
    Run(exporter);
    for (int i = 0; i < 100 && exporter.status().spool_entries != 0; ++i) {
      Later(8);
      Run(exporter);
    }
  }
  static Verdict Unavailable() { return {.kind = Kind::kLater, .message = "unavailable: down"}; }

  ExportSettings settings_;
  Received received_;
  std::uint64_t random_ = 0;
  std::uint64_t next_ = 0;  // window
  std::uint64_t now_ = 0;
};

TEST_F(ExporterTest, SendsEachMinuteOnceAndInOrder) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  for (int i = 0; i < 3; ++i) {
    PutMinutes(*store, 2);
    Drain(*exporter);
  }
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(received_.numbers, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
  const auto& status = exporter->status();
  EXPECT_EQ(status.name, "test");
  EXPECT_EQ(status.sent, 6u);
  EXPECT_EQ(status.sent_bytes, 600u);
  EXPECT_EQ(status.sent_until_unix_ns, kStartUnixNs + 6 * kMinute);
  EXPECT_EQ(status.spool_entries, 0u);
  EXPECT_EQ(status.last_error, "");
  EXPECT_TRUE(status.gaps.empty());
}

TEST_F(ExporterTest, HostsComeAtASecondOfTheirOwn) {
  const auto store = Open();
  random_ = 100 * kSecond;  // 40 s of the minute
  const auto exporter = Make();
  Run(*exporter);
  PutMinutes(*store, 1);
  Run(*exporter);
  EXPECT_EQ(exporter->status().spool_entries, 1u);
  Later(39);
  Run(*exporter);
  EXPECT_EQ(received_.tries, 0u);
  Later(1);
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0}));
}

TEST_F(ExporterTest, ABacklogDoesNotComeAtOnce) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.verdicts = {Unavailable()};
  PutMinutes(*store, 3);
  Run(*exporter);
  Later(1);
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0}));
  Later(7);
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0}));
  Later(1);  // 7.5 s: half of a quarter of what the first one covers
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0, 1}));
}

TEST_F(ExporterTest, ANewExportBeginsWithTheNextWindows) {
  const auto store = Open();
  PutMinutes(*store, 3);
  const auto exporter = Make();
  Run(*exporter);
  EXPECT_TRUE(received_.taken.empty());
  PutMinutes(*store, 1);
  Later(10);
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{3}));
}

TEST_F(ExporterTest, GoesOnAfterARestartWithWhatWaits) {
  const auto store = Open();
  {
    const auto exporter = Make();
    Run(*exporter);
    PutMinutes(*store, 2);
    received_.verdicts = {Unavailable()};
    Run(*exporter);
    EXPECT_EQ(exporter->status().spool_entries, 2u);
    EXPECT_EQ(exporter->status().last_error, "unavailable: down");
  }
  PutMinutes(*store, 1);
  const auto exporter = Make();
  Drain(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(exporter->status().sent, 3u);
}

TEST_F(ExporterTest, PausesGrowAndTheReceiversWishCounts) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  PutMinutes(*store, 1);
  received_.verdicts = {Unavailable(),
                        Unavailable(),
                        {.kind = Kind::kLater, .message = "busy", .retry_after_ns = 7 * kSecond}};
  EXPECT_EQ(exporter->Step(), clock_.MonotonicNs());  // reads, and finds that more may be there
  EXPECT_EQ(received_.tries, 1u);
  const std::uint64_t begin = clock_.MonotonicNs();
  const auto at = [&](std::uint64_t ms) {
    clock_.Set(begin + ms * 1'000'000, kStartUnixNs + 70 * kSecond);
    return exporter->Step();
  };
  EXPECT_EQ(at(1), begin + 100'000'000);  // a tenth of a second: the random number is 0
  EXPECT_EQ(received_.tries, 1u);
  EXPECT_EQ(at(100), begin + 300'000'000);
  EXPECT_EQ(received_.tries, 2u);
  EXPECT_EQ(at(300), begin + 7'300'000'000);
  EXPECT_EQ(received_.tries, 3u);
  at(7'300);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(exporter->status().retries, 3u);
  EXPECT_EQ(exporter->status().last_error, "");
}

TEST_F(ExporterTest, WhatIsRefusedIsCountedByCauseAndTheReceiverLearnsOfIt) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.verdicts = {{.kind = Kind::kRefused, .cause = "refused_x", .message = "x"}};
  PutMinutes(*store, 1);
  Run(*exporter);
  EXPECT_TRUE(received_.taken.empty());
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"refused_x", kMinute}}));
  EXPECT_EQ(exporter->status().spool_entries, 0u);
  PutMinutes(*store, 2);
  Drain(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(received_.gaps[0], (Gaps{{"refused_x", kMinute}}));
  EXPECT_EQ(received_.gaps[1], Gaps());
}

TEST_F(ExporterTest, ATargetThatIsDownLosesWhatNoLongerFits) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.bytes = 300'000;  // three fit
  received_.verdicts = std::deque<Verdict>(1'000, Unavailable());
  for (int i = 0; i < 10; ++i) {
    PutMinutes(*store, 1);
    Run(*exporter);
  }
  EXPECT_EQ(exporter->status().spool_entries, 3u);
  EXPECT_LE(exporter->status().spool_bytes, settings_.spool_bytes);
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"spool_full", 7 * kMinute}}));
  received_.verdicts.clear();
  Later(300);
  Drain(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{7, 8, 9}));
  // All gaps are reported by then or by the next profile.
  PutMinutes(*store, 1);
  Later(300);
  Drain(*exporter);
  std::uint64_t reported = 0;
  for (const Gaps& gaps : received_.gaps)
    if (const auto gap = gaps.find("spool_full"); gap != gaps.end()) reported += gap->second;
  EXPECT_EQ(reported, 7 * kMinute);
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"spool_full", 7 * kMinute}}));
}

TEST_F(ExporterTest, PartsOfAProfileShareItsTime) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.parts = 7;
  for (int i = 0; i < 7; ++i) received_.verdicts.push_back({.kind = Kind::kRefused, .cause = "r"});
  PutMinutes(*store, 1);
  Drain(*exporter);
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"r", kMinute}}));
}

TEST_F(ExporterTest, WhatWasNotRecordedIsReadAgain) {
  const auto store = Open();
  {
    const auto exporter = Make();
    Run(*exporter);
    PutMinutes(*store, 1);
    // An entry that a process had written when it was killed, before it recorded that.
    folder_.Write("exports/test/spool/0000000000000001-60000000000.entry", "{}\nold");
  }
  const auto exporter = Make();
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0}));
}

TEST_F(ExporterTest, TroubleOfTheDiskIsSaidAndTriedAgain) {
  const auto store = Open();
  folder_.Write("exports", "a file");
  const auto exporter = Make();
  Run(*exporter);
  EXPECT_THAT(exporter->status().last_error, HasSubstr("exports"));
  std::filesystem::remove(folder_.Path("exports"));
  Later(10);
  Run(*exporter);
  EXPECT_EQ(exporter->status().last_error, "");
  PutMinutes(*store, 1);
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0}));
}

TEST_F(ExporterTest, ADamagedEntryDoesNotHoldUpTheOthers) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.verdicts = {Unavailable()};
  PutMinutes(*store, 2);
  Run(*exporter);
  folder_.Write("exports/test/spool/0000000000000001-60000000000.entry", "damaged");
  Later(300);
  Run(*exporter);
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"spool_damaged", kMinute}}));
}

TEST_F(ExporterTest, ThatTheLastEntryIsDamagedIsNotForgottenByARestart) {
  const auto store = Open();
  {
    const auto exporter = Make();
    Run(*exporter);
    received_.verdicts = {Unavailable()};
    PutMinutes(*store, 1);
    Run(*exporter);
    folder_.Write("exports/test/spool/0000000000000001-60000000000.entry", "damaged");
    Later(300);
    Run(*exporter);
  }
  const auto exporter = Make();
  Run(*exporter);
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"spool_damaged", kMinute}}));
  PutMinutes(*store, 1);
  Later(300);
  Drain(*exporter);
  ASSERT_EQ(received_.gaps.size(), 1u);
  EXPECT_EQ(received_.gaps[0], (Gaps{{"spool_damaged", kMinute}}));
}

TEST_F(ExporterTest, WhatIsTooLargeIsHalvedUntilTheReceiverTakesIt) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.limit = 30;
  PutMinutes(*store, 2);
  Drain(*exporter);
  // The first entry teaches the limit, the second one is halved before it is sent.
  EXPECT_EQ(received_.tried, (std::vector<std::size_t>{100, 50, 25, 25, 25, 25, 25, 25, 25, 25}));
  EXPECT_EQ(received_.taken, (std::vector<std::uint64_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(exporter->status().spool_entries, 0u);
  EXPECT_EQ(exporter->status().sent, 8u);
  EXPECT_EQ(exporter->status().sent_bytes, 200u);
  EXPECT_TRUE(exporter->status().gaps.empty());
  EXPECT_EQ(exporter->status().last_error, "");
}

TEST_F(ExporterTest, WhatWasTakenOfAnEntryIsNotSentAgain) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.limit = 50;
  received_.verdicts = {Verdict(), Unavailable()};
  PutMinutes(*store, 1);
  Run(*exporter);
  Later(4);  // the pause after a part of the minute
  Run(*exporter);
  EXPECT_EQ(received_.pieces, (std::vector<std::size_t>{50}));
  EXPECT_EQ(exporter->status().spool_entries, 1u);
  EXPECT_EQ(exporter->status().last_error, "unavailable: down");
  Later(300);
  Run(*exporter);
  EXPECT_EQ(received_.pieces, (std::vector<std::size_t>{50, 50}));
  EXPECT_EQ(exporter->status().spool_entries, 0u);
}

TEST_F(ExporterTest, WhatCannotBeHalvedIsRefusedForItsShare) {
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.limit = 0;
  received_.bytes = 4;
  PutMinutes(*store, 1);
  Drain(*exporter);
  EXPECT_TRUE(received_.taken.empty());
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"refused_large", kMinute}}));
  EXPECT_EQ(exporter->status().spool_entries, 0u);
}

TEST_F(ExporterTest, WhatIsTooOldIsPassedOverAndReported) {
  settings_.max_age = std::chrono::hours(1);
  const auto store = Open();
  const auto exporter = Make();
  Run(*exporter);
  received_.verdicts = {Unavailable()};
  PutMinutes(*store, 2);
  Run(*exporter);
  EXPECT_EQ(exporter->status().spool_entries, 2u);
  At(3600 + 61);  // the first begins more than an hour ago, and so does the second
  Run(*exporter);
  EXPECT_TRUE(received_.taken.empty());
  EXPECT_EQ(exporter->status().gaps, (Gaps{{"too_old", 2 * kMinute}}));
  EXPECT_EQ(exporter->status().spool_entries, 0u);
}

TEST_F(ExporterTest, WithoutAHistoryItWaits) {
  const auto exporter = Make();
  Run(*exporter);
  EXPECT_THAT(exporter->status().last_error, HasSubstr("no history yet"));
}

}  // namespace
}  // namespace profd::fleet
