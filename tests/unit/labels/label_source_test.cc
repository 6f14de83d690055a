// When processes are looked at, and what goes into the stream.
#include "daemon/labels/label_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <string>
#include <variant>
#include <vector>

#include "daemon/reader/message.h"
#include "daemon/wire/decoder.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/support/raw_events.h"

namespace profd::labels {
namespace {

using reader::Packer;
using test::EventBytes;
using test::RawEventBytes;
using test::RawHeader;
using ::testing::ElementsAre;

constexpr std::chrono::seconds kLong{60};
constexpr std::uint32_t kPid = 100;  // RawHeader's

// Every process publishes the first `names` of "a", "b", ...
class Readers : public reader::Readers {
 public:
  Result<std::string> Ask(const reader::ReaderRequest& /*request*/,
                          std::chrono::milliseconds /*patience*/) override {
    ++requests;
    Packer answer;
    answer.Number(true).Number(std::int64_t{-64}).Number(std::uint32_t{0});
    answer.Number(std::uint32_t{16}).Text("").Number(std::uint32_t{names});
    for (char name = 'a'; name < static_cast<char>('a' + names); ++name)
      answer.Text(std::string(1, name));
    return answer.Take();
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }

  std::atomic<std::uint32_t> names = 1;
  std::atomic<int> requests = 0;
};

class Processes : public LabelProcesses {
 public:
  bool Put(std::uint32_t /*pid*/, const profd_label_process& /*process*/) override {
    ++known;
    return true;
  }
  void Remove(std::uint32_t /*pid*/) override { --known; }
  std::atomic<int> known = 0;
};

// Hands over what is put into it.
class Source : public wire::EventSource {
 public:
  Result<wire::PollStatus> Poll(std::chrono::milliseconds /*timeout*/, const Sink& sink) override {
    for (const EventBytes& event : events) sink(wire::RawEvent{event});
    events.clear();
    return wire::PollStatus::kEvents;
  }
  std::vector<EventBytes> events;
};

EventBytes Session(bool begins, std::uint32_t mode = PROFD_SESSION_ON_CPU) {
  profd_session_event session{};
  session.event = RawHeader(10);
  session.mode = mode;
  return RawEventBytes(begins ? PROFD_EVENT_SESSION_START : PROFD_EVENT_SESSION_END, session);
}

EventBytes Sample(std::uint16_t flags = 0, const std::string& labels = "") {
  profd_sample_event sample{};
  sample.event = RawHeader(20);
  sample.event.flags = flags;
  sample.syscall = -1;
  sample.label_bytes = static_cast<__u16>(labels.size());
  return RawEventBytes(PROFD_EVENT_ON_CPU, sample, labels);
}

// A record with an attribute of this number.
std::string Record(char key) {
  profd_label_head head{};
  head.valid = 1;
  head.attribute_bytes = 3;
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + key + "\x01x";
}

class LabelSourceTest : public ::testing::Test {
 protected:
  LabelSourceTest() { clock_.Set(15, 0); }

  // The events that come out; the service has done its work by then.
  std::vector<wire::Event> Pass(std::vector<EventBytes> events) {
    std::vector<wire::Event> passed;
    source_.events = std::move(events);
    (void)labels_.Poll(std::chrono::milliseconds(0), [&](const wire::RawEvent& event) {
      auto decoded = wire::DecodeEvent(event);
      EXPECT_TRUE(decoded) << decoded.error().message;
      if (decoded) passed.push_back(*std::move(decoded));
    });
    EXPECT_TRUE(service_.Await(kLong));
    return passed;
  }

  test::ManualClock clock_;
  Readers readers_;
  Processes processes_;
  LabelService service_{processes_, readers_, clock_};
  Source source_;
  LabelSource labels_{source_, service_};
};

TEST_F(LabelSourceTest, TheFirstSampleForAClientHasTheProcessLookedAt) {
  EXPECT_EQ(Pass({Session(true), Sample(), Sample()}).size(), 3u);
  EXPECT_EQ(readers_.requests, 1);
  EXPECT_EQ(processes_.known, 1);
  const auto passed = Pass({Sample()});
  ASSERT_EQ(passed.size(), 2u);
  const auto& found = std::get<wire::LabelProcessEvent>(passed[0]);
  EXPECT_EQ(found.header.time_ns, 15u);
  EXPECT_EQ(found.header.process.pid, kPid);
  EXPECT_THAT(found.keys, ElementsAre("a"));
}

TEST_F(LabelSourceTest, SamplesOfTheHistoryAndOfTheKernelDoNot) {
  Pass({Session(true, PROFD_SESSION_ON_CPU | PROFD_SESSION_BACKGROUND), Sample()});
  Pass({Session(true), Sample(PROFD_SAMPLE_BACKGROUND), Sample(PROFD_SAMPLE_KTHREAD)});
  EXPECT_EQ(readers_.requests, 0);
}

TEST_F(LabelSourceTest, ANameThatIsNotKnownYet) {
  Pass({Session(true), Sample()});
  Pass({Sample(0, Record('\0'))});
  EXPECT_EQ(readers_.requests, 1);
  readers_.names = 2;
  Pass({Sample(0, Record('\1'))});
  std::vector<wire::Event> passed;
  ASSERT_TRUE(test::Eventually([&] {
    passed = Pass({});
    return !passed.empty();
  }));
  EXPECT_THAT(std::get<wire::LabelProcessEvent>(passed[0]).keys, ElementsAre("a", "b"));
}

TEST_F(LabelSourceTest, AFileThatIsMappedMayBringLabels) {
  Pass({Session(true), Sample()});
  profd_mmap_event mmap{};
  mmap.event = RawHeader(30);
  mmap.event.process_start_ns = 0;
  mmap.bytes = 4096;
  mmap.prot = PROT_READ;
  Pass({RawEventBytes(PROFD_EVENT_MMAP, mmap, std::string(1, '\0'))});
  EXPECT_EQ(readers_.requests, 1);
  mmap.prot = PROT_READ | PROT_EXEC;
  Pass({RawEventBytes(PROFD_EVENT_MMAP, mmap, std::string(1, '\0'))});
  EXPECT_TRUE(test::Eventually([&] { return readers_.requests == 2; }));
}

TEST_F(LabelSourceTest, AProgramThatIsExecutedIsLookedAtAgain) {
  Pass({Session(true), Sample()});
  Pass({test::RawTask(PROFD_EVENT_EXEC, RawHeader(30), "sh", "/bin/sh")});
  EXPECT_EQ(processes_.known, 0);
  Pass({Sample()});
  EXPECT_EQ(readers_.requests, 2);
  EXPECT_EQ(processes_.known, 1);
}

TEST_F(LabelSourceTest, WithTheLastSessionEverythingIsForgotten) {
  Pass({Session(true), Session(true), Sample()});
  Pass({Session(false)});
  EXPECT_EQ(processes_.known, 1);
  Pass({Session(false)});
  EXPECT_EQ(processes_.known, 0);
  Pass({Session(true), Sample()});
  EXPECT_EQ(processes_.known, 1);
}

}  // namespace
}  // namespace profd::labels
