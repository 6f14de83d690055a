// A file system that never answers: its readers wait in the kernel, where no signal ends them.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "daemon/reader/reader_pool.h"
#include "tests/support/eventually.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_folder.h"

namespace profd::reader {
namespace {

using profd::testing::Subprocess;
using std::chrono::milliseconds;

// Answers with the number of bytes that it could read of a file, as its opener opens it.
class SizeParser : public Parser {
 public:
  Result<std::string> Answer(std::string_view path, ParserContext context) override {
    const auto file = context.opener.Open(
        {.what = OpenRequest::What::kOnHost, .pid = 0, .path = std::string(path)});
    if (!file) return file.error();
    std::string bytes(1 << 20, '\0');
    return std::to_string(::pread(file->fd.get(), bytes.data(), bytes.size(), 0));
  }
};

class HangingRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "this kernel has no /dev/fuse";
    auto zygote =
        Zygote::Start({{"test-reader", {}, [] { return std::make_unique<SizeParser>(); }}});
    ASSERT_TRUE(zygote) << zygote.error().message;
    zygote_ = *std::move(zygote);
    const std::string script = test::SourceDirectory() + "/tests/e2e/hostile/hanging_files.py";
    auto files = Subprocess::Start({"/usr/bin/python3", script, mount_.path().string(), data_,
                                    other_, folder_.Write("third", "3"),
                                    folder_.Write("fourth", "4"), folder_.Write("fifth", "5")});
    ASSERT_TRUE(files) << files.error().message;
    files_ = std::make_unique<Subprocess>(*std::move(files));
    const auto ready = files_->ReadLine();
    ASSERT_TRUE(ready) << files_->Wait().err;
  }
  void TearDown() override {
    files_.reset();  // all waits end with it
    pool_.reset();
    ::umount2(mount_.path().c_str(), MNT_DETACH);
  }
  void Hang() {
    files_->WriteInput("hang\n");
    ASSERT_EQ(files_->ReadLine().value(), "hangs\n");
  }
  Result<std::string> Ask(const std::string& path, std::uint64_t target, std::uint32_t user = 0) {
    return pool_->Ask(
        {.body = path, .name = path, .target = target, .user = user, .descriptors = {}},
        milliseconds(0));
  }
  // What a user hears who asks for a file for the first time.
  std::string Refusal(const std::string& path, std::uint64_t target, std::uint32_t user) {
    const auto answer = Ask(path, target, user);
    return answer ? *answer : answer.error().message;
  }
  // Asks for a file of the file system that hangs, and waits until no signal ends who reads it.
  std::string AnswerForHeld(const std::string& path, std::uint64_t target, std::uint32_t user = 0) {
    (void)Ask(path, target, user);
    EXPECT_EQ(files_->ReadLine().value(), "holds\n");
    return AnswerFor(path, target, user);
  }
  // Asks until there is an answer, or the deadline has made one.
  std::string AnswerFor(const std::string& path, std::uint64_t target, std::uint32_t user = 0) {
    std::string said;
    EXPECT_TRUE(test::Eventually([&] {
      const auto answer = Ask(path, target, user);
      said = answer ? *answer : answer.error().message;
      return !said.ends_with("is being read");
    }));
    return said;
  }

  const test::TempFolder mount_;
  const test::TempFolder folder_;
  const std::string data_ = folder_.Write("data", "12345");
  const std::string other_ = folder_.Write("other", "123456");
  const std::string on_fuse_ = mount_.Path("data");
  const std::string other_on_fuse_ = mount_.Path("other");
  std::unique_ptr<Zygote> zygote_;
  std::unique_ptr<Subprocess> files_;
  std::unique_ptr<ReaderPool> pool_;
};

TEST_F(HangingRootTest, AFileThatAnswersIsRead) {
  pool_ = std::make_unique<ReaderPool>(*zygote_, 0, ReaderPool::Options{});
  EXPECT_EQ(AnswerFor(on_fuse_, 1), "5");
}

TEST_F(HangingRootTest, AReaderThatNoSignalEndsIsCountedAndTheOthersGoOn) {
  pool_ = std::make_unique<ReaderPool>(
      *zygote_, 0, ReaderPool::Options{.deadline = milliseconds(3'000), .stuck_of_root = 2});
  Hang();
  EXPECT_EQ(AnswerForHeld(on_fuse_, 1), on_fuse_ + ": does not answer, tried once");
  ASSERT_TRUE(test::Eventually([&] { return pool_->stuck() == 1; }));
  EXPECT_TRUE(pool_->IsHeldBy(1));
  EXPECT_EQ(AnswerFor(data_, 2), "5");

  // Beyond the limit none is started; what runs goes on.
  EXPECT_EQ(AnswerForHeld(other_on_fuse_, 3), other_on_fuse_ + ": does not answer, tried once");
  ASSERT_TRUE(test::Eventually([&] { return pool_->stuck() == 2; }));
  ASSERT_TRUE(test::Eventually([&] {
    pool_->memory().RequestReclaim(1);  // what runs and has nothing to do ends
    const auto refused = Ask(data_, 4);
    return !refused && refused.error().code == ErrorCode::kExhausted;
  }));

  // When the file system is gone the readers end, and others are started.
  files_.reset();
  ASSERT_TRUE(test::Eventually([&] { return pool_->stuck() == 0; }));
  EXPECT_EQ(AnswerFor(data_, 4), "5");
}

TEST_F(HangingRootTest, UsersWhoseFilesHangLeaveReadersForTheOthers) {
  pool_ = std::make_unique<ReaderPool>(
      *zygote_, 0, ReaderPool::Options{.deadline = milliseconds(3'000), .stuck_of_users = 4});
  Hang();
  constexpr std::uint32_t kFirst = 1000;
  constexpr std::uint32_t kSecond = 1001;
  constexpr std::uint32_t kThird = 1002;
  constexpr std::uint32_t kFourth = 1003;
  const std::string late = ": does not answer, tried once";
  const std::string share = ": other files of its user do not answer";
  // Of three readers two are a user's share.
  EXPECT_EQ(AnswerForHeld(on_fuse_, 1, kFirst), on_fuse_ + late);
  EXPECT_EQ(AnswerForHeld(other_on_fuse_, 2, kFirst), other_on_fuse_ + late);
  ASSERT_TRUE(test::Eventually([&] { return pool_->stuck() == 2; }));
  EXPECT_EQ(Refusal(data_, 10, kFirst), data_ + share);
  EXPECT_EQ(AnswerFor(data_, 11, kSecond), "5");
  EXPECT_EQ(pool_->WhyNoneStarts(), "");
  // Half of the limit is used up: one for each of the others.
  EXPECT_EQ(AnswerForHeld(mount_.Path("third"), 3, kSecond), mount_.Path("third") + late);
  EXPECT_EQ(Refusal(data_, 12, kSecond), data_ + share);
  EXPECT_EQ(AnswerForHeld(mount_.Path("fourth"), 4, kThird), mount_.Path("fourth") + late);
  ASSERT_TRUE(test::Eventually([&] { return pool_->stuck() == 4; }));
  // Now none is started for users, and that is said; root's files are read.
  EXPECT_EQ(pool_->WhyNoneStarts(),
            "4 processes wait for files of 3 users and cannot be ended: none is started for users");
  EXPECT_EQ(AnswerFor(data_, 13), "5");
  ASSERT_TRUE(test::Eventually([&] {
    pool_->memory().RequestReclaim(1);  // what runs and has nothing to do ends
    const auto refused = Ask(data_, 14, kFourth);
    return !refused && refused.error().code == ErrorCode::kExhausted;
  }));
  EXPECT_EQ(AnswerFor(data_, 13), "5");
  files_.reset();
  ASSERT_TRUE(test::Eventually([&] { return pool_->stuck() == 0; }));
  EXPECT_EQ(AnswerFor(data_, 14, kFourth), "5");
}

}  // namespace
}  // namespace profd::reader
