#include "daemon/recording/recording_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/recording/replay_source.h"
#include "tests/support/manual_clock.h"
#include "tests/support/raw_events.h"
#include "tests/support/recording_files.h"
#include "tests/support/temp_folder.h"
#include "tests/support/vector_source.h"

namespace profd::recording {
namespace {

using namespace test;
using wire::PollStatus;

constexpr std::chrono::milliseconds kNoWait{0};

EventTexts PollAll(wire::EventSource& source) {
  EventTexts events;
  while (true) {
    const auto status =
        source.Poll(kNoWait, [&](const wire::RawEvent& event) { events.push_back(TextOf(event)); });
    if (!status) ADD_FAILURE() << status.error().message;
    if (!status || *status == PollStatus::kEnd) return events;
  }
}

// Delivers prepared events.
class FailingSource : public wire::EventSource {
 public:
  Result<PollStatus> Poll(std::chrono::milliseconds timeout, const Sink&) override {
    if (timeout.count() == 0) return Error{ErrorCode::kUnavailable, "gone", ""};
    return PollStatus::kTimeout;
  }
};

class RecordingSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordingWriter> Create() {
    return RecordingWriter::Create(path_, DescribeThisMachine(clock_), {}, clock_).value();
  }

  test::ManualClock clock_;
  TempFolder folder_;
  std::string path_ = folder_.Path("recording");
};

TEST_F(RecordingSourceTest, WhatPassesThroughComesBackByteForByte) {
  std::vector<std::vector<std::byte>> events;
  for (std::uint64_t i = 0; i < 500; ++i) {
    events.push_back(RawSample(PROFD_EVENT_ON_CPU, RawHeader(i), {}, {i, i + 1, i + 2}));
    events.push_back(RawTask(PROFD_EVENT_COMM, RawHeader(i), "comm"));
  }
  test::VectorSource live(events);
  EventTexts passed;
  {
    auto writer = Create();
    RecordingSource tee(live, *writer);
    passed = PollAll(tee);
    ASSERT_TRUE(writer->Close());
  }
  ASSERT_EQ(passed.size(), events.size());
  auto reader = RecordingReader::Open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  ReplaySource replay(*std::move(reader));
  EXPECT_EQ(replay.recording().totals()->events, events.size());
  EXPECT_EQ(PollAll(replay), passed);
  EXPECT_EQ(*replay.Poll(kNoWait, [](const wire::RawEvent&) { FAIL(); }), PollStatus::kEnd);
}

TEST_F(RecordingSourceTest, TimeoutsAndErrorsPassThrough) {
  FailingSource failing;
  auto writer = Create();
  RecordingSource tee(failing, *writer);
  EXPECT_EQ(*tee.Poll(std::chrono::milliseconds(1), {}), PollStatus::kTimeout);
  const auto status = tee.Poll(kNoWait, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "gone");
}

TEST_F(RecordingSourceTest, AReplayOfADamagedBlockIsAnError) {
  {
    auto writer = Create();
    const std::string event(1'000, 'e');
    writer->Write({std::as_bytes(std::span(event))});
  }
  const auto clean = RecordingReader::Open(path_);
  ASSERT_TRUE(clean);
  // The events block is the second to last; the footer holds few bytes.
  std::string content = ReadFile(path_);
  const std::size_t footer = content.rfind("pBLK");
  content[footer - 1] = static_cast<char>(content[footer - 1] ^ 1);  // zstd's checksum
  WriteFile(path_, content);
  auto damaged = RecordingReader::Open(path_);
  ASSERT_TRUE(damaged) << damaged.error().message;
  ReplaySource replay(*std::move(damaged));
  const auto status = replay.Poll(kNoWait, [](const wire::RawEvent&) { FAIL(); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace profd::recording
