// Real processes, with a parser that does what the request says.
#include "daemon/reader/reader_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/reader/zygote.h"
#include "tests/support/eventually.h"

namespace profd::reader {
namespace {

using std::chrono::milliseconds;

// "echo TEXT", "pid", "fail", "abort", "hang", "wait" for a byte of the descriptor, "hold MIB",
// "read" the descriptor, "open PATH" of this test's process.
class Puppet : public Parser {
 public:
  Result<std::string> Answer(std::string_view request, ParserContext context) override {
    const std::string_view verb = request.substr(0, request.find(' '));
    const std::string rest(request.substr(std::min(request.size(), verb.size() + 1)));
    if (verb == "echo") return rest;
    if (verb == "pid") return std::to_string(::getpid());
    if (verb == "fail") return Error{ErrorCode::kUnsupported, rest, ""};
    if (verb == "abort") std::abort();
    if (verb == "hang") ::poll(nullptr, 0, -1);
    if (verb == "wait" || verb == "read") {
      std::string got(16, '\0');
      got.resize(static_cast<std::size_t>(
          std::max<ssize_t>(::read(context.descriptors.at(0).get(), got.data(), got.size()), 0)));
      return got;
    }
    if (verb == "hold") {
      held_.assign(std::stoul(rest) << 20, 'h');
      return std::string("held");
    }
    if (verb == "open") {
      const auto space = rest.find(' ');
      const auto file =
          context.opener.Open({.what = OpenRequest::What::kInRoot,
                               .pid = static_cast<std::uint32_t>(std::stoul(rest.substr(0, space))),
                               .path = rest.substr(space + 1)});
      if (!file) return file.error();
      std::string bytes(file->bytes, '\0');
      bytes.resize(static_cast<std::size_t>(
          std::max<ssize_t>(::pread(file->fd.get(), bytes.data(), bytes.size(), 0), 0)));
      return bytes;
    }
    return Error{ErrorCode::kInvalidArgument, "?", ""};
  }

 private:
  std::string held_;
};

constexpr milliseconds kLong{60'000};
constexpr milliseconds kNone{0};

class ReaderPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    auto zygote =
        Zygote::Start({{"test-reader", {}, [] { return std::make_unique<Puppet>(); }},
                       {"test-bounded", {.address_space_bytes = 256u << 20, .cpu_seconds = 60}, [] {
                          return std::make_unique<Puppet>();
                        }}});
    ASSERT_TRUE(zygote) << zygote.error().message;
    zygote_ = *std::move(zygote);
  }
  void Make(const ReaderPool::Options& options, std::uint32_t role = 0) {
    pool_ = std::make_unique<ReaderPool>(*zygote_, role, options);
  }
  Result<std::string> Ask(const std::string& body, std::uint64_t target = 1,
                          milliseconds timeout = kLong, std::uint32_t user = 0) {
    return pool_->Ask({.body = body,
                       .name = "file " + std::to_string(target),
                       .target = target,
                       .user = user,
                       .descriptors = {}},
                      timeout);
  }
  static std::string TextOf(const Result<std::string>& result) {
    return result ? *result : result.error().message;
  }

  std::unique_ptr<Zygote> zygote_;
  std::unique_ptr<ReaderPool> pool_;
};

TEST_F(ReaderPoolTest, AnAnswerAndAnErrorComeBack) {
  Make({});
  EXPECT_EQ(TextOf(Ask("echo hello")), "hello");
  const auto failed = Ask("fail no such thing");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(failed.error().message, "no such thing");
  EXPECT_TRUE(pool_->troubles().empty());
}

TEST_F(ReaderPoolTest, AReaderIsUsedAgain) {
  Make({});
  const auto first = Ask("pid");
  ASSERT_TRUE(first);
  EXPECT_NE(*first, std::to_string(::getpid()));
  EXPECT_EQ(TextOf(Ask("pid", 2)), *first);
  EXPECT_EQ(pool_->counters().started.value(), 1u);
}

TEST_F(ReaderPoolTest, ADescriptorReachesTheReader) {
  Make({});
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd from(ends[0]);
  const UniqueFd to(ends[1]);
  ASSERT_EQ(::write(to.get(), "through", 7), 7);
  EXPECT_EQ(TextOf(pool_->Ask({"read", "pipe", 1, 0, {from.get()}}, kLong)), "through");
}

TEST_F(ReaderPoolTest, ACrashCostsOneRequestAndIsNamed) {
  Make({});
  const auto crashed = Ask("abort", 1);
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(crashed.error().message.find("file 1: the process that reads it ended: signal 6"),
            std::string::npos)
      << crashed.error().message;
  EXPECT_NE(crashed.error().message.find("tried once"), std::string::npos);
  // Others go on; the same one waits for its next try.
  EXPECT_EQ(TextOf(Ask("echo b", 2)), "b");
  EXPECT_NE(TextOf(Ask("echo a", 1)).find("signal 6"), std::string::npos);
  EXPECT_EQ(pool_->counters().refused.value(), 1u);
  ASSERT_EQ(pool_->troubles().size(), 1u);
  EXPECT_EQ(pool_->troubles()[0].name, "file 1");
}

TEST_F(ReaderPoolTest, AnAnswerThatIsLateIsThereForTheNextCall) {
  Make({});
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd from(ends[0]);
  const UniqueFd to(ends[1]);
  const ReaderRequest request{"wait", "slow file", 1, 0, {from.get()}};
  const auto early = pool_->Ask(request, kNone);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().message, "slow file: is being read");
  // It holds up no other request.
  EXPECT_EQ(TextOf(Ask("echo other", 2)), "other");
  ASSERT_EQ(::write(to.get(), "now", 3), 3);
  std::string late;
  ASSERT_TRUE(test::Eventually(
      [&] { return (late = TextOf(pool_->Ask(request, kLong))) != "slow file: is being read"; }));
  EXPECT_EQ(late, "now");
  EXPECT_TRUE(pool_->troubles().empty());
}

TEST_F(ReaderPoolTest, AReaderThatMissesItsDeadlineIsKilledAndTheTargetWaits) {
  Make({.deadline = milliseconds(1)});
  std::string said;
  ASSERT_TRUE(test::Eventually(
      [&] { return (said = TextOf(Ask("hang", 1, kNone))) != "file 1: is being read"; }));
  EXPECT_EQ(said, "file 1: does not answer, tried once");
  EXPECT_EQ(pool_->counters().late.value(), 1u);
  EXPECT_EQ(TextOf(Ask("hang", 1)), "file 1: does not answer, tried once");
  EXPECT_EQ(pool_->counters().refused.value(), 1u);
  EXPECT_EQ(pool_->stuck(), 0u);
}

TEST_F(ReaderPoolTest, SlowRequestsOfUsersLeaveAReaderForRoot) {
  Make({.processes = 2});
  constexpr std::uint32_t kUser = 1000;
  constexpr std::uint32_t kAnother = 1001;
  ASSERT_FALSE(Ask("hang", 1, kNone, kUser));
  EXPECT_EQ(TextOf(Ask("echo x", 2, kLong, kUser)),
            "file 2: other files of its user do not answer");
  EXPECT_FALSE(Ask("echo x", 3, kLong, kAnother));
  EXPECT_EQ(TextOf(Ask("echo root", 4)), "root");
}

TEST_F(ReaderPoolTest, TheWatchIsStuckOnlyWhileARequestHasADeadline) {
  Make({.deadline = milliseconds(10'000)});
  const auto in = [](std::chrono::seconds time) {
    return SystemClock().MonotonicNs() +
           static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
  };
  ASSERT_TRUE(Ask("echo x"));
  ASSERT_TRUE(test::Eventually(
      [&] { return pool_->heartbeat().RoundNs(in(std::chrono::seconds(1))) == 0; }));
  ASSERT_FALSE(Ask("hang", 1, kNone));
  ASSERT_TRUE(test::Eventually(
      [&] { return pool_->heartbeat().RoundNs(in(std::chrono::seconds(1))) != 0; }));
  EXPECT_EQ(pool_->heartbeat().Trouble(in(std::chrono::seconds(20))), "");
  EXPECT_EQ(pool_->heartbeat()
                .Trouble(in(std::chrono::seconds(50)))
                .find("watch of reader processes: no"),
            0u);
}

TEST_F(ReaderPoolTest, WithoutAFreeReaderTheCallerWaitsAsLongAsItHasPatience) {
  Make({.processes = 1});
  ASSERT_FALSE(Ask("hang", 1, kNone));
  const auto waiting = Ask("echo x", 2, milliseconds(1));
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().code, ErrorCode::kUnavailable);
}

TEST_F(ReaderPoolTest, AReaderBeyondItsAddressSpaceEndsAlone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#endif
  Make({}, 1);
  EXPECT_FALSE(Ask("hold 300", 1));
  EXPECT_EQ(TextOf(Ask("hold 30", 2)), "held");
}

TEST_F(ReaderPoolTest, AReaderThatHoldsTooMuchMemoryIsReplaced) {
  Make({.process_bytes = 16u << 20});
  EXPECT_EQ(TextOf(Ask("hold 64")), "held");
  // Measured once in a while.
  ASSERT_TRUE(
      test::Eventually([&] { return Ask("echo x") && pool_->counters().oversize.value() == 1; }));
  ASSERT_TRUE(Ask("echo x"));
  EXPECT_EQ(pool_->counters().started.value(), 2u);
}

TEST_F(ReaderPoolTest, WhenMemoryIsShortIdleReadersEndAndAreStartedAgain) {
  Make({});
  const auto first = Ask("pid");
  ASSERT_TRUE(first);
  pool_->memory().RequestReclaim(1);
  EXPECT_EQ(TextOf(Ask("echo x")), "x");
  EXPECT_EQ(TextOf(Ask("echo x")), "x");
  EXPECT_EQ(pool_->counters().started.value(), 2u);
}

TEST_F(ReaderPoolTest, WhenMemoryIsShortMuchOfItGoesBackThoughNoRequestComes) {
  Make({.idle = kLong});
  EXPECT_EQ(TextOf(Ask("hold 64")), "held");
  // Measured once in a while.
  ASSERT_TRUE(test::Eventually([&] { return Ask("echo x") && pool_->bytes() >= 64u << 20; }));
  pool_->memory().RequestReclaim(1);
  EXPECT_TRUE(test::Eventually([&] { return pool_->bytes() == 0; }));
  EXPECT_EQ(TextOf(Ask("echo x")), "x");
  EXPECT_EQ(pool_->counters().started.value(), 2u);
}

TEST_F(ReaderPoolTest, WhatReadersShareCountsOnce) {
  constexpr std::uint64_t kShared = 64u
                                    << 20;  // by four processes: this one, and three that follow
  const std::string shared(kShared, 's');
  zygote_.reset();
  SetUp();
  Make({});
  ASSERT_TRUE(test::Eventually([&] { return Ask("echo x") && pool_->bytes() > 0; }));
  EXPECT_GE(pool_->bytes(), kShared / 2) << "a reader and its opener";
  // Counted whole, it would be twice of it.
  EXPECT_LT(pool_->bytes(), kShared);
  EXPECT_EQ(shared.back(), 's');
}

TEST_F(ReaderPoolTest, ATargetHoldsOneReaderAtMost) {
  Make({.processes = 2});
  ASSERT_FALSE(Ask("hang", 1, kNone));
  EXPECT_EQ(TextOf(Ask("echo x", 1)), "file 1: is being read");
  EXPECT_EQ(TextOf(Ask("echo x", 2)), "x");
}

std::string TextOfProc(const std::string& name) {
  const auto text = ProcFs().Read(name);
  return text ? *text : "";
}

// Processes that the zygote has made, by their names.
std::vector<pid_t> MadeBy(pid_t zygote, const std::string& name) {
  std::vector<pid_t> found;
  const std::string number = std::to_string(zygote);
  std::istringstream pids(TextOfProc(number + "/task/" + number + "/children"));
  for (pid_t pid = 0; pids >> pid;)
    if (TextOfProc(std::to_string(pid) + "/comm") == name + "\n") found.push_back(pid);
  return found;
}

TEST_F(ReaderPoolTest, AReaderWithoutItsOpenerIsReplaced) {
  Make({});
  const std::string request = "open " + std::to_string(::getpid()) + " /etc/passwd";
  ASSERT_TRUE(Ask(request, 1));
  const auto openers = MadeBy(zygote_->pid(), "profd-opener");
  ASSERT_EQ(openers.size(), 1u);
  ASSERT_EQ(::kill(openers.front(), SIGKILL), 0);
  ASSERT_TRUE(test::Eventually([&] {
    return TextOfProc(std::to_string(openers.front()) + "/stat").find(") Z ") != std::string::npos;
  }));
  const auto passwd = Ask(request, 2);
  ASSERT_TRUE(passwd) << passwd.error().message;
  EXPECT_TRUE(pool_->troubles().empty());
}

TEST_F(ReaderPoolTest, ReadersEndWithTheZygoteAndThenNoneIsStarted) {
  Make({});
  ASSERT_TRUE(Ask("echo x"));
  EXPECT_EQ(zygote_->Trouble(), "");
  ASSERT_EQ(::kill(zygote_->pid(), SIGKILL), 0);
  ASSERT_TRUE(test::Eventually([&] { return zygote_->Trouble() == "has ended"; }));
  ASSERT_TRUE(test::Eventually([&] { return !Ask("echo x", 2).ok(); }));
  const auto none = Ask("echo x", 3);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("cannot start a reader process"), std::string::npos)
      << none.error().message;
}

TEST_F(ReaderPoolTest, AnAnswerOfTheZygoteThatIsLateIsForNoOtherRequest) {
  ASSERT_EQ(::kill(zygote_->pid(), SIGSTOP), 0);
  const auto late = zygote_->Make(1);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("does not answer in time"), std::string::npos);
  ASSERT_EQ(::kill(zygote_->pid(), SIGCONT), 0);
  Result<ReaderProcess> made = zygote_->Make(0);
  ASSERT_TRUE(test::Eventually([&] { return made.ok() || (made = zygote_->Make(0)).ok(); }));
  // It has its name a moment later.
  EXPECT_TRUE(test::Eventually(
      [&] { return TextOfProc(std::to_string(made->pid()) + "/comm") == "test-reader\n"; }));
  EXPECT_EQ(zygote_->Trouble(), "");
}

TEST_F(ReaderPoolTest, TheOpenerOpensWhatTheParserMayNot) {
  Make({});
  const auto self = std::to_string(::getpid());
  const auto passwd = Ask("open " + self + " /etc/passwd");
  ASSERT_TRUE(passwd) << passwd.error().message;
  EXPECT_NE(passwd->find("root:"), std::string::npos);
  EXPECT_FALSE(Ask("open " + self + " /proc/version", 2));
  EXPECT_FALSE(Ask("open " + self + " /no/such/file", 3));
}

}  // namespace
}  // namespace profd::reader
