// Names of code objects that the BPF side could not read at the sample. The process whose memory
// is read is this one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/python/feed/code_backfill.h"
#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/raw_events.h"
#include "tests/unit/python/found_process.h"

namespace profd::python {
namespace {

constexpr std::uint32_t kVersion = 0x030c01f0;
constexpr std::uint32_t kAsciiCompact = 1 << 2 | 1 << 5 | 1 << 6;  // state of a str, 3.12
constexpr std::uint32_t kElsewhere = 1;  // a pid whose memory is not looked at

std::uint64_t AddressOf(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

// As much of an object of CPython's as a CodeReader reads.
class Object {
 public:
  explicit Object(const char* type = "") {
    Set(kTypeName, AddressOf(type));  // it is its own type, too
    Set(kObjectType, AddressOf(this));
  }
  template <typename T>
  void Set(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
  }
  void SetText(std::size_t offset, std::string_view text) {
    Set(kObjectLength, std::uint64_t{text.size()});
    text.copy(reinterpret_cast<char*>(bytes_.data()) + offset, text.size());
  }

 private:
  std::array<std::byte, 512> bytes_{};
};

class UnreadCodeTest : public testing::Test {
 protected:
  UnreadCodeTest() {
    const Layout layout = *LayoutOf(kVersion);
    code_.Set(kObjectType, AddressOf(&code_type_));
    for (Object* text : {&name_, &file_}) {
      text->Set(kObjectType, AddressOf(&str_type_));
      text->Set(kStringState, kAsciiCompact);
    }
    lines_.Set(kObjectType, AddressOf(&bytes_type_));
    name_.SetText(layout.ascii_bytes, "work");
    file_.SetText(layout.ascii_bytes, "work.py");
    code_.Set(layout.process.code_name, AddressOf(&name_));
    code_.Set(layout.code_qualname, AddressOf(&name_));
    code_.Set(layout.code_file, AddressOf(&file_));
    code_.Set(layout.code_lines, AddressOf(&lines_));
    SetVersion(7);
    clock_.Set(kNow, 0);
    backfill_.BeginRound();
    profd_session_event begin{};
    begin.event = test::RawHeader(1, kElsewhere);
    Pass(test::RawEventBytes(PROFD_EVENT_SESSION_START, begin));
  }
  void SetVersion(std::uint32_t version) {
    code_.Set(LayoutOf(kVersion)->process.code_version, version);
  }
  // The service has found an interpreter in it.
  void Find(std::uint32_t pid) { ASSERT_TRUE(facts_.Push(FoundProcess(pid, kVersion))); }
  void Fork(std::uint32_t parent, std::uint32_t child, std::uint64_t time_ns) {
    profd_task_event task{};
    task.event = test::RawHeader(time_ns, child);
    task.event.flags = PROFD_TASK_NEW_PROCESS;
    task.parent_pid = parent;
    task.parent_process_start_ns = test::RawHeader(0, parent).process_start_ns;
    Pass(test::RawEventBytes(PROFD_EVENT_FORK, task));
  }
  // What is reported of the code before a sample of the process; "-": nothing.
  std::string Reported(std::uint32_t pid, std::uint64_t time_ns, std::uint32_t validator) {
    PassSample(pid, time_ns, validator);
    backfill_.EndRound(sink_);
    return std::exchange(reported_, "");
  }
  void PassSample(std::uint32_t pid, std::uint64_t time_ns, std::uint32_t validator) {
    profd_sample_event fixed{};
    fixed.event = test::RawHeader(time_ns, pid);
    fixed.python_words = 2;
    reported_ = "-";
    Pass(test::RawEventBytes(
        PROFD_EVENT_ON_CPU, fixed,
        test::RawNumbers({AddressOf(&code_), std::uint64_t{validator} << 32 | 4})));
  }
  void Pass(const test::EventBytes& bytes) { backfill_.Pass({bytes}, sink_); }
  void Take(const wire::RawEvent& event) {
    profd_python_code_event code{};
    if (event.bytes.size() < sizeof code) return;
    std::memcpy(&code, event.bytes.data(), sizeof code);
    if (code.event.kind != PROFD_EVENT_PYTHON_CODE) return;
    EXPECT_EQ(code.code, AddressOf(&code_));
    event_ns_ = code.event.time_ns;
    const auto* text = reinterpret_cast<const char*>(event.bytes.data() + sizeof code);
    reported_ = std::to_string(code.validator) + " " + std::string(text, code.text_bytes[0]);
  }

  static constexpr std::uint64_t kSecond = 1'000'000'000;
  static constexpr std::uint64_t kNow = kSecond;
  const std::uint32_t self_ = static_cast<std::uint32_t>(::getpid());
  Object code_type_{"code"};
  Object str_type_{"str"};
  Object bytes_type_{"bytes"};
  Object code_;
  Object name_;
  Object file_;
  Object lines_;
  test::ManualClock clock_;
  FactQueue facts_;
  // Readers of a process that may stop answering.
  class MoodyReaders : public reader::Readers {
   public:
    Result<std::string> Ask(const reader::ReaderRequest& request,
                            std::chrono::milliseconds patience) override {
      ++requests;
      if (!answer) return Error{ErrorCode::kUnavailable, "is being read", ""};
      return direct_.Ask(request, patience);
    }
    bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }
    bool answer = true;
    int requests = 0;

   private:
    test::DirectReaders direct_{std::make_unique<PythonParser>()};
  };
  MoodyReaders readers_;
  CodeShares shares_{clock_};
  CodeBackfill backfill_{facts_, readers_, clock_, shares_};
  const wire::EventSource::Sink sink_ = [this](const wire::RawEvent& event) { Take(event); };
  std::string reported_;
  std::uint64_t event_ns_ = 0;
};

TEST_F(UnreadCodeTest, WhatItWasAndIsItWasInBetween) {
  Find(self_);
  EXPECT_EQ(Reported(self_, 10, 7), "7 work");
  EXPECT_EQ(Reported(self_, 11, 7), "-") << "once";
  EXPECT_EQ(Reported(self_, 12, 0), "0 work");
  EXPECT_EQ(Reported(self_, 13, 0), "0 work") << "each time";
}

TEST_F(UnreadCodeTest, CodeThatWasNotSeenBeforeIsNotNamed) {
  Find(self_);
  EXPECT_EQ(Reported(self_, 10, 0), "0 ");
  EXPECT_EQ(Reported(self_, 20, 7), "7 work");
  EXPECT_EQ(Reported(self_, 19, 0), "0 ") << "seen later";
  EXPECT_EQ(Reported(self_, 21, 0), "0 work");
}

TEST_F(UnreadCodeTest, WhatHasBecomeAnotherIsNotNamed) {
  Find(self_);
  EXPECT_EQ(Reported(self_, 10, 7), "7 work");
  SetVersion(8);
  EXPECT_EQ(Reported(self_, 11, 0), "0 ");
}

TEST_F(UnreadCodeTest, AForkedChildHasWhatItsParentHadBefore) {
  // The validator in the parent's sample decides, even if its memory could not be read.
  const std::uint32_t parent = static_cast<std::uint32_t>(::getppid());
  Find(parent);
  EXPECT_EQ(Reported(parent, 10, 7), "7 ") << "not its memory";
  Fork(parent, self_, 20);
  EXPECT_EQ(Reported(self_, 21, 0), "0 work");
}

TEST_F(UnreadCodeTest, AForkedChildHasNotWhatItsParentHasSince) {
  const std::uint32_t parent = static_cast<std::uint32_t>(::getppid());
  Find(parent);
  Fork(parent, self_, 20);
  EXPECT_EQ(Reported(parent, 30, 7), "7 ");
  EXPECT_EQ(Reported(self_, 31, 0), "0 ");
}

TEST_F(UnreadCodeTest, AllOfARoundIsOneRequestAndEventsComeBeforeTheirSamples) {
  Find(self_);
  PassSample(self_, 10, 7);
  PassSample(self_, 11, 0);
  PassSample(self_, 12, 9);
  EXPECT_EQ(readers_.requests, 0);
  backfill_.EndRound(sink_);
  EXPECT_EQ(readers_.requests, 1);
  EXPECT_LT(event_ns_, 12u);
}

TEST_F(UnreadCodeTest, WhatHasNoAnswerYetIsReportedWhenItIsThere) {
  Find(self_);
  readers_.answer = false;
  EXPECT_EQ(Reported(self_, 10, 7), "-");
  EXPECT_EQ(Reported(self_, 11, 7), "-");
  EXPECT_EQ(readers_.requests, 1) << "not at once again";
  readers_.answer = true;
  clock_.Set(clock_.MonotonicNs() + kSecond, 0);
  EXPECT_EQ(Reported(self_, 12, 7), "7 work");
  EXPECT_LT(event_ns_, 10u) << "before the first sample that needs it";
  EXPECT_EQ(Reported(self_, 13, 7), "-");
}

TEST_F(UnreadCodeTest, WhatASessionNeedsStandsBeforeItsEnd) {
  Find(self_);
  PassSample(self_, 10, 7);
  profd_session_event end{};
  end.event = test::RawHeader(20, kElsewhere);
  Pass(test::RawEventBytes(PROFD_EVENT_SESSION_END, end));
  EXPECT_EQ(reported_, "7 work");
}

TEST_F(UnreadCodeTest, AProcessThatNeverAnswersIsForgottenWhenItHasEnded) {
  Find(self_);
  readers_.answer = false;
  EXPECT_EQ(Reported(self_, 10, 7), "-");
  auto header = test::RawHeader(20, self_);
  header.flags = PROFD_TASK_LAST_THREAD;
  Pass(test::RawTask(PROFD_EVENT_EXIT, header, "python"));
  for (int round = 0; round < 4; ++round) {
    clock_.Set(clock_.MonotonicNs() + 2 * kSecond, 0);
    backfill_.BeginRound();
    backfill_.EndRound(sink_);
  }
  const int requests = readers_.requests;
  clock_.Set(clock_.MonotonicNs() + 2 * kSecond, 0);
  backfill_.EndRound(sink_);
  EXPECT_EQ(readers_.requests, requests);
}

}  // namespace
}  // namespace profd::python
