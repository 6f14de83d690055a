#include "daemon/reader/answer_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "daemon/base/sqlite/database.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_folder.h"

namespace profd::reader {
namespace {

constexpr std::chrono::seconds kLong{60};

class AnswerCacheTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.Path("files.db"); }
  [[nodiscard]] AnswerCacheSettings Settings() const {
    return {.path = path(), .max_bytes = 16u << 20, .program = "profd 1", .boot = "boot 1"};
  }
  // Puts, and waits until it is on disk.
  static void Keep(AnswerCache& cache, const AnswerKey& key, const std::string& answer) {
    cache.Put(key, answer);
    ASSERT_TRUE(cache.Flush(kLong));
  }
  // A host may be slow; the cache must not be.
  static std::optional<std::string> Find(AnswerCache& cache, const AnswerKey& key) {
    std::optional<std::string> answer;
    (void)test::Eventually([&] { return (answer = cache.Find(key)).has_value(); });
    return answer;
  }

  test::TempFolder folder_;
};

TEST_F(AnswerCacheTest, TheNextDaemonHasWhatTheFirstOneHasKept) {
  {
    AnswerCache cache(Settings());
    cache.Put({"a"}, std::string("x\0y", 3));
  }
  AnswerCache cache(Settings());
  EXPECT_EQ(Find(cache, {"a"}), std::string("x\0y", 3));
  EXPECT_EQ(cache.Find({"b"}), std::nullopt);
  EXPECT_EQ(cache.trouble(), "");
}

TEST_F(AnswerCacheTest, TwoDaemonsShareTheFile) {
  AnswerCache one(Settings());
  AnswerCache other(Settings());
  Keep(one, {"a"}, "1");
  EXPECT_EQ(Find(other, {"a"}), "1");
  Keep(other, {"a"}, "2");
  EXPECT_EQ(Find(one, {"a"}), "2");
}

TEST_F(AnswerCacheTest, AnotherProgramHasAnswersOfItsOwn) {
  AnswerCache cache(Settings());
  Keep(cache, {"a"}, "1");
  AnswerCacheSettings settings = Settings();
  settings.program = "profd 2";
  AnswerCache other(settings);
  EXPECT_EQ(other.Find({"a"}), std::nullopt);
}

TEST_F(AnswerCacheTest, SomeAnswersHoldForOneBoot) {
  AnswerCache cache(Settings());
  Keep(cache, {.text = "lasting"}, "1");
  Keep(cache, {.text = "passing", .of_this_boot = true}, "2");
  EXPECT_EQ(Find(cache, {.text = "passing", .of_this_boot = true}), "2");
  AnswerCacheSettings settings = Settings();
  settings.boot = "boot 2";
  AnswerCache later(settings);
  EXPECT_EQ(Find(later, {.text = "lasting"}), "1");
  EXPECT_EQ(later.Find({.text = "passing", .of_this_boot = true}), std::nullopt);
}

TEST_F(AnswerCacheTest, AnAnswerThatWasChangedIsNotFound) {
  { Keep(*std::make_unique<AnswerCache>(Settings()), {"a"}, "1"); }
  {
    auto database = Database::Open(path(), true, nullptr);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->Execute("UPDATE answer SET bytes = x'32'").ok());
  }
  AnswerCache cache(Settings());
  EXPECT_EQ(cache.Find({"a"}), std::nullopt);
  Keep(cache, {"a"}, "3");
  EXPECT_EQ(Find(cache, {"a"}), "3") << "it begins again";
}

TEST_F(AnswerCacheTest, AFileThatIsNoDatabaseIsMadeAgain) {
  std::ofstream(path()) << std::string(8192, 'x');
  AnswerCache cache(Settings());
  Keep(cache, {"a"}, "1");
  EXPECT_EQ(Find(cache, {"a"}), "1");
}

TEST_F(AnswerCacheTest, TheFileStaysWithinItsBound) {
  AnswerCache cache(Settings());
  const std::string answer(1u << 20, 'x');
  for (int i = 0; i < 64; ++i) Keep(cache, {std::to_string(i)}, answer);
  EXPECT_EQ(Find(cache, {"63"}), answer) << "the last one stays";
  EXPECT_EQ(cache.Find({"0"}), std::nullopt) << "the first one has left";
  EXPECT_LE(std::filesystem::file_size(path()), Settings().max_bytes);
}

TEST_F(AnswerCacheTest, WhatIsTooLargeIsDropped) {
  AnswerCache cache(Settings());
  Keep(cache, {"a"}, std::string(AnswerCache::kMaxAnswerBytes + 1, 'x'));
  EXPECT_EQ(cache.Find({"a"}), std::nullopt);
  EXPECT_EQ(cache.counters().dropped.value(), 1u);
}

TEST_F(AnswerCacheTest, OnlyItsOwnerMayReadTheFile) {
  AnswerCache cache(Settings());
  Keep(cache, {"a"}, "1");
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AnswerCacheTest, AFolderInWhichOthersWriteIsNotUsed) {
  ASSERT_EQ(::chmod(folder_.Path("").c_str(), 0777), 0);
  AnswerCache cache(Settings());
  ASSERT_TRUE(test::Eventually([&] { return !cache.trouble().empty(); }));
  EXPECT_NE(cache.trouble().find("others may write there"), std::string::npos) << cache.trouble();
  cache.Put({"a"}, "1");
  EXPECT_EQ(cache.Find({"a"}), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace profd::reader
