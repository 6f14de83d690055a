// The log: levels for the journal, floods cut and counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "daemon/app/log_sink.h"
#include "daemon/app/rate_limit.h"

namespace profd::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'000'000'000;

std::size_t Admitted(app::RateLimit& limit, const std::string& text, int count,
                     std::uint64_t now_ns) {
  std::size_t admitted = 0;
  for (int i = 0; i < count; ++i) admitted += limit.Admit(text + std::to_string(i), now_ns) ? 1 : 0;
  return admitted;
}

TEST(RateLimitTest, AFloodIsCutAndCountedOnceItsPeriodIsOver) {
  app::RateLimit limit;
  EXPECT_EQ(Admitted(limit, "cannot read process ", 1000, kSecond), app::RateLimit::kBurst);
  EXPECT_THAT(limit.TakeHeld(5 * kSecond), IsEmpty());
  const auto held = limit.TakeHeld(11 * kSecond);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].kind, "cannot read process #");
  EXPECT_EQ(held[0].count, 1000 - app::RateLimit::kBurst);
  EXPECT_THAT(limit.TakeAll(), IsEmpty());
  EXPECT_EQ(Admitted(limit, "cannot read process ", 1, 11 * kSecond), 1u);
}

TEST(RateLimitTest, KindsDoNotCrowdEachOtherOut) {
  app::RateLimit limit;
  EXPECT_EQ(Admitted(limit, "noise ", 1000, kSecond), app::RateLimit::kBurst);
  EXPECT_TRUE(limit.Admit("something else", kSecond));
}

TEST(RateLimitTest, KindsAreBounded) {
  app::RateLimit limit;
  std::size_t admitted = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (int rest = i; rest != 0; rest /= 26) text += static_cast<char>('a' + rest % 26);
    admitted += limit.Admit(text, kSecond) ? 1 : 0;
  }
  EXPECT_EQ(admitted, app::RateLimit::kMostKinds + app::RateLimit::kBurst);
}

struct Log {
  explicit Log(app::LogSink::Style style)
      : sink(std::make_shared<app::LogSink>(
            style, [this](const std::string& line) { lines.push_back(line); },
            [this] { return now_ns; })),
        logger("profd", sink) {
    logger.set_level(spdlog::level::debug);
    logger.set_pattern("%v");
  }
  std::vector<std::string> lines;
  std::uint64_t now_ns = kSecond;
  std::shared_ptr<app::LogSink> sink;
  spdlog::logger logger;
};

TEST(LogSinkTest, TheJournalGetsLevelsOnEveryLine) {
  Log log(app::LogSink::Style::kJournal);
  log.logger.error("bad\nvery bad");
  log.logger.warn("odd");
  log.logger.info("fine");
  log.logger.debug("so");
  EXPECT_THAT(log.lines,
              ElementsAre("<3>bad\n", "<3>very bad\n", "<4>odd\n", "<6>fine\n", "<7>so\n"));
}

TEST(LogSinkTest, AnythingElseGetsPlainLines) {
  Log log(app::LogSink::Style::kPlain);
  log.logger.error("bad");
  EXPECT_THAT(log.lines, ElementsAre("bad\n"));
}

TEST(LogSinkTest, SaysWhatWasHeldBack) {
  Log log(app::LogSink::Style::kJournal);
  for (int i = 0; i < 30; ++i) log.logger.info("session {} ended", i);
  EXPECT_EQ(log.lines.size(), app::RateLimit::kBurst);
  log.lines.clear();
  log.sink->ReportHeld();
  EXPECT_THAT(log.lines, IsEmpty());
  log.now_ns += 11 * kSecond;
  log.sink->ReportHeld();
  EXPECT_THAT(log.lines,
              ElementsAre("<4>20 more messages like this were held back: session # ended\n"));
  for (int i = 0; i < 11; ++i) log.logger.info("session {} ended", i);
  log.lines.clear();
  log.sink->ReportAllHeld();
  EXPECT_THAT(log.lines,
              ElementsAre("<4>1 more messages like this were held back: session # ended\n"));
}

TEST(LogSinkTest, TheJournalIsKnownByItsStream) {
  struct stat status = {};
  ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
  const auto stream = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  setenv("JOURNAL_STREAM", stream.c_str(), 1);
  EXPECT_TRUE(app::StderrIsJournal());
  setenv("JOURNAL_STREAM", "1:2", 1);
  EXPECT_FALSE(app::StderrIsJournal());
  unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(app::StderrIsJournal());
}

}  // namespace
}  // namespace profd::app
