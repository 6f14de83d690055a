// The remains of sessions while the background session runs for ever.
#include "daemon/pipeline/symbolizer_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "tests/support/manual_clock.h"
#include "tests/support/numbering_symbolizer.h"

namespace profd::pipeline {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr ProcessKey kProcess{100, 7};
constexpr ThreadKey kThread{100, 7};
constexpr std::size_t kIdleFrames = 100;
constexpr std::uint64_t kSamples = 60;  // of a window, each with an address of its own

class BackgroundSession : public testing::Test {
 protected:
  static std::uint64_t BitOf(std::uint32_t slot) { return std::uint64_t{1} << slot; }
  static std::uint64_t EpochNs(std::uint64_t window) { return (window + 1) * kSecond; }

  wire::SessionEvent SessionEvent(std::uint32_t slot, bool end, std::uint64_t window) {
    wire::SessionEvent event;
    event.end = end;
    event.session = slot;
    event.header.sessions = BitOf(slot);
    event.epoch = window + 1;
    event.epoch_ns = event.header.time_ns = EpochNs(window);
    event.on_cpu_period_ns = event.off_cpu_period_ns = kSecond / 60;
    return event;
  }
  void Clock(std::uint64_t sessions, std::uint64_t window) {
    wire::ClockEvent event;
    event.header.process = kProcess;
    event.header.thread = kThread;
    event.header.sessions = sessions;
    event.header.time_ns = event.epoch_ns = EpochNs(window);
    event.epoch = window + 1;
    event.begin_ns = 1;
    event.at_epoch.on_cpu_ns = event.final.on_cpu_ns = EpochNs(window);
    stage_.Handle({std::move(event), nullptr});
  }
  void Samples(std::uint64_t sessions, std::uint64_t window) {
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      process::Sample sample;
      sample.process = kProcess;
      sample.thread = kThread;
      sample.sessions = sessions;
      sample.time_ns = EpochNs(window) + 1 + i * (kSecond / kSamples);
      sample.period_ns = kSecond / kSamples;
      process::AddressFrame frame;
      frame.address = frame.file_offset = window * kSamples + i;
      frame.kernel = true;
      sample.frames.push_back(frame);
      stage_.Handle({std::move(sample), nullptr});
    }
  }
  // The window that begins where the one before it ends.
  void Start(std::uint32_t slot, std::uint64_t window, std::uint64_t follows) {
    auto start = SessionEvent(slot, false, window);
    start.header.sessions |= follows;
    sessions_.push_back(std::make_shared<pipeline::Session>(slot, session::SessionSpec{},
                                                            pipeline::SessionStart{}, clock_));
    stage_.Handle({std::move(start), nullptr});
    Clock(BitOf(slot) | follows, window);
  }
  void End(std::uint32_t slot, std::uint64_t window) {
    stage_.Handle({SessionEvent(slot, true, window), nullptr});
  }

  test::ManualClock clock_;
  test::NumberingSymbolizer symbolizer_;
  pipeline::StageCounters counters_;
  std::vector<std::shared_ptr<pipeline::Session>> sessions_;
  pipeline::SymbolizerStage stage_{
      symbolizer_,
      counters_,
      [this](const wire::SessionEvent&) {
        return pipeline::SymbolizerStage::Waiting{sessions_.back(), {}};
      },
      {.session = {}, .idle_frames = kIdleFrames}};
};

TEST_F(BackgroundSession, KeepsNoMoreFramesThanItsWindowsHave) {
  constexpr std::uint32_t kWindows = 40;
  Start(0, 0, 0);
  for (std::uint32_t window = 0; window < kWindows; ++window) {
    const std::uint32_t slot = window % 2;
    Samples(BitOf(slot), window);
    Start(1 - slot, window + 1, BitOf(slot));
    End(slot, window + 1);
    EXPECT_LE(stage_.frames(), kIdleFrames + kSamples);
    const auto profile = sessions_[window]->result();
    ASSERT_TRUE(profile);
    ASSERT_EQ((*profile)->samples.size(), kSamples);
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      const auto& sample = (*profile)->samples[i];
      EXPECT_EQ((*profile)->frames[(*profile)->nodes[sample.node].frame].name,
                "f_" + std::to_string(window * kSamples + i));
    }
  }
}

TEST_F(BackgroundSession, EachSampleIsDeliveredOnceOrNotWanted) {
  constexpr std::uint32_t kOther = 5;
  Samples(BitOf(0), 0);
  EXPECT_EQ(counters_.samples_delivered.value(), 0u);
  EXPECT_EQ(counters_.unwanted_items.value(), kSamples);
  Start(0, 0, 0);
  Start(kOther, 0, 0);
  Samples(BitOf(0) | BitOf(kOther), 0);
  End(0, 1);
  Samples(BitOf(0) | BitOf(kOther), 1);
  End(kOther, 2);
  Samples(BitOf(0) | BitOf(kOther), 2);
  EXPECT_EQ(counters_.samples_delivered.value(), 2 * kSamples);
  EXPECT_EQ(counters_.unwanted_items.value(), 2 * kSamples);
}

TEST_F(BackgroundSession, AWindowThatWaitsHasNoRowsOfShortLivedThreads) {
  constexpr std::uint32_t kThreads = 20;
  for (const bool waits : {false, true}) {
    Start(0, 0, 0);
    if (waits) sessions_.back()->GroupShortLived();
    for (std::uint32_t i = 0; i < kThreads; ++i) {
      wire::EventHeader header;
      header.process = kProcess;
      header.thread = {200 + i, 7};
      header.sessions = BitOf(0);
      header.time_ns = EpochNs(0) + 1 + i;
      wire::ForkEvent fork;
      fork.header = header;
      fork.comm = "request";
      stage_.Handle({std::move(fork), nullptr});
      wire::ExitEvent exit;
      exit.header = header;
      exit.header.time_ns += kSecond / 2;  // long enough to be scaled by itself
      stage_.Handle({std::move(exit), nullptr});
    }
    Clock(BitOf(0), 1);
    End(0, 1);
    const auto profile = sessions_.back()->result();
    ASSERT_TRUE(profile);
    std::uint32_t threads = 0;
    for (const auto& thread : (*profile)->threads) threads += std::max(thread.group_size, 1u);
    EXPECT_EQ(threads, kThreads + 1);
    EXPECT_EQ((*profile)->threads.size(), waits ? 2u : kThreads + 1);
    const auto& notes = (*profile)->counters;
    const auto note = std::ranges::find(notes, "grouped_early", &NamedCount::name);
    ASSERT_EQ(note != notes.end(), waits);
    if (waits) {
      EXPECT_EQ(note->count, kThreads);
    }
  }
}

TEST_F(BackgroundSession, OthersKeepTheirNamesWhenFramesAreForgotten) {
  constexpr std::uint32_t kOther = 5;
  constexpr std::uint32_t kWindows = 6;
  Start(kOther, 0, 0);
  const auto other = sessions_.back();
  Start(0, 0, 0);
  for (std::uint32_t window = 0; window < kWindows; ++window) {
    const std::uint32_t slot = window % 2;
    // The other one is there for every second window.
    Samples(BitOf(slot) | (window % 2 == 0 ? BitOf(kOther) : 0), window);
    Start(1 - slot, window + 1, BitOf(slot));
    End(slot, window + 1);
  }
  Clock(BitOf(kOther), kWindows);
  End(kOther, kWindows);
  const auto profile = other->result();
  ASSERT_TRUE(profile);
  std::size_t named = 0;
  for (const auto& sample : (*profile)->samples) {
    const std::uint64_t window = (sample.time_ns - kSecond) / kSecond;
    const std::uint64_t i = (sample.time_ns - EpochNs(window)) / (kSecond / kSamples);
    EXPECT_EQ((*profile)->frames[(*profile)->nodes[sample.node].frame].name,
              "f_" + std::to_string(window * kSamples + i));
    ++named;
  }
  EXPECT_EQ(named, kWindows / 2 * kSamples);
}

}  // namespace
}  // namespace profd::pipeline
