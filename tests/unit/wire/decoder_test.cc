#include "daemon/wire/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "daemon/wire/event_names.h"
#include "tests/support/raw_events.h"
#include "tests/unit/wire/error_of.h"

namespace profd::wire {
namespace {

using test::EventBytes;
using std::string_literals::operator""s;
using test::RawEventBytes;
using test::RawHeader;
using test::RawNumbers;
using test::RawSample;
using test::RawTask;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

wire::RawEvent Raw(const EventBytes& bytes) { return {bytes}; }

template <typename T>
T Decoded(const EventBytes& bytes) {
  Result<wire::Event> event = wire::DecodeEvent(Raw(bytes));
  if (!event) {
    ADD_FAILURE() << event.error().message;
    return T{};
  }
  if (!std::holds_alternative<T>(*event)) {
    ADD_FAILURE() << "another alternative: " << event->index();
    return T{};
  }
  return std::get<T>(*event);
}

profd_sample_event OffCpuFixed() {
  profd_sample_event fixed{};
  fixed.event = RawHeader(5'000);
  fixed.event.flags = PROFD_SAMPLE_IOWAIT;
  fixed.begin_ns = 1'000;
  fixed.runnable_ns = 500;
  fixed.period_ns = 100;
  fixed.blocked_points = 35;
  fixed.runnable_points = 5;
  fixed.syscall = 0;
  fixed.task_state = 2;
  fixed.syscall_args[0] = 3;
  fixed.syscall_args[1] = 4;
  fixed.syscall_args[2] = 5;
  fixed.fd_kind = PROFD_FD_REGULAR;
  fixed.stack_flags = PROFD_STACK_USER_FAULT;
  fixed.kernel_frames = 2;
  fixed.user_frames = 3;
  return fixed;
}

profd_mmap_event MmapFixed(std::string_view path) {
  profd_mmap_event fixed{};
  fixed.event = RawHeader(9);
  fixed.address = 0x7000;
  fixed.bytes = 0x2000;
  fixed.file_offset = 0x1000;
  fixed.device_major = 8;
  fixed.device_minor = 1;
  fixed.inode = 4711;
  fixed.inode_generation = 3;
  fixed.prot = 5;
  fixed.path_bytes = static_cast<__u32>(path.size());
  return fixed;
}

const std::string kMmapPath("/usr/lib/libc.so\0", 17);

profd_process_event ProcessFixed() {
  profd_process_event fixed{};
  fixed.event = RawHeader(10);
  fixed.blob_bytes[PROFD_BLOB_COMM] = 3;
  fixed.blob_bytes[PROFD_BLOB_MAPS] = 4;
  return fixed;
}

profd_session_event SessionFixed() {
  profd_session_event fixed{};
  fixed.event = RawHeader(11);
  fixed.session = 63;
  fixed.mode = 2;
  fixed.epoch = 7;
  fixed.epoch_ns = 70;
  fixed.on_cpu_period_ns = 1;
  fixed.off_cpu_period_ns = 2;
  fixed.bpf_cost_ns = 3;
  fixed.own_cpu_ns = 4;
  fixed.hook = 1;
  fixed.target_bytes = 6;
  return fixed;
}

profd_clock_event ClockFixed() {
  profd_clock_event fixed{};
  fixed.event = RawHeader(12);
  fixed.epoch = 2;
  fixed.epoch_ns = 11;
  fixed.begin_ns = 1;
  fixed.since_ns = 10;
  fixed.state = PROFD_STATE_BLOCKED;
  fixed.at_epoch.on_cpu_ns = 20;
  fixed.final.migrations = 30;
  fixed.at_epoch.stolen_ns[PROFD_STOLEN_SPREAD] = 31;
  std::string_view("worker").copy(fixed.comm, sizeof(fixed.comm));
  fixed.own_tid = 32;
  return fixed;
}

profd_counters_event CountersFixed(std::uint32_t count) {
  profd_counters_event fixed{};
  fixed.event = RawHeader(13);
  fixed.count = count;
  return fixed;
}

profd_periods_event PeriodsFixed() {
  profd_periods_event fixed{};
  fixed.event = RawHeader(77);
  return fixed;
}

profd_beyond_share_event BeyondShareFixed(std::uint32_t kind = PROFD_SHARE_THREADS) {
  profd_beyond_share_event fixed{};
  fixed.event = RawHeader(78);
  fixed.kind = kind;
  fixed.uid = 4;
  fixed.count = 5;
  return fixed;
}

profd_label_process_event LabelProcessFixed(std::uint32_t keys, std::uint32_t reason_bytes) {
  profd_label_process_event fixed{};
  fixed.event = RawHeader(11);
  fixed.keys = keys;
  fixed.reason_bytes = reason_bytes;
  return fixed;
}

profd_switch_event SwitchFixed() {
  profd_switch_event fixed{};
  fixed.event = RawHeader(81);
  fixed.begin_ns = 40;
  fixed.runnable_ns = 5;
  fixed.state = PROFD_STATE_RUNNABLE;
  fixed.kind = PROFD_AFTER_YIELD;
  return fixed;
}

profd_wake_event WakeFixed() {
  profd_wake_event fixed{};
  fixed.event = RawHeader(82);
  fixed.event.flags = PROFD_WAKE_INTERRUPT;
  fixed.begin_ns = 40;
  fixed.wakee_start_ns = 3;
  fixed.wakee_tid = 9;
  return fixed;
}

profd_step_event StepFixed() {
  profd_step_event fixed{};
  fixed.event = RawHeader(79);
  fixed.event.flags = PROFD_STEP_NAME_CUT;
  fixed.object = 0x7f00;
  fixed.source = 3;
  fixed.name_bytes = 4;
  return fixed;
}

profd_step_source_event StepSourceFixed() {
  profd_step_source_event fixed{};
  fixed.event = RawHeader(80);
  fixed.event.flags = PROFD_STEP_SOURCE_NAMES | PROFD_STEP_SOURCE_REFUSED;
  fixed.source = 3;
  fixed.text_bytes = 2;
  fixed.reason_bytes = 3;
  return fixed;
}

// One whole event of every kind, with a tail where the kind has one.
std::vector<EventBytes> EveryKind() {
  const std::string frames = RawNumbers({11, 12, 21, 22, 23});
  return {
      RawSample(PROFD_EVENT_ON_CPU, RawHeader(1), {1}, {2, 3}),
      RawEventBytes(PROFD_EVENT_OFF_CPU, OffCpuFixed(), frames),
      RawEventBytes(PROFD_EVENT_SNAPSHOT, OffCpuFixed(), frames),
      RawEventBytes(PROFD_EVENT_WAKER, OffCpuFixed(), frames),
      RawEventBytes(PROFD_EVENT_THREAD_END, ClockFixed()),
      RawEventBytes(PROFD_EVENT_CLOCK, ClockFixed()),
      RawTask(PROFD_EVENT_FORK, RawHeader(2), "sh"),
      RawTask(PROFD_EVENT_EXEC, RawHeader(3), "cat", "/bin/cat"),
      RawTask(PROFD_EVENT_COMM, RawHeader(4), "worker"),
      RawTask(PROFD_EVENT_EXIT, RawHeader(5), "cat"),
      RawEventBytes(PROFD_EVENT_MMAP, MmapFixed(kMmapPath), kMmapPath),
      RawEventBytes(PROFD_EVENT_PROCESS, ProcessFixed(), "cattext"),
      RawEventBytes(PROFD_EVENT_SESSION_START, SessionFixed(), "pid 12"),
      RawEventBytes(PROFD_EVENT_SESSION_END, SessionFixed(), "pid 12"),
      RawEventBytes(PROFD_EVENT_COUNTERS, CountersFixed(2), RawNumbers({5, 6})),
      RawEventBytes(PROFD_EVENT_PERIODS, PeriodsFixed()),
      RawEventBytes(PROFD_EVENT_BEYOND_SHARE, BeyondShareFixed()),
      RawEventBytes(PROFD_EVENT_LABEL_PROCESS, LabelProcessFixed(2, 3), "why\4step\0"s),
      RawEventBytes(PROFD_EVENT_SWITCH, SwitchFixed()),
      RawEventBytes(PROFD_EVENT_WAKE, WakeFixed()),
      RawEventBytes(PROFD_EVENT_STEP, StepFixed(), "step"),
      RawEventBytes(PROFD_EVENT_STEP_SOURCE, StepSourceFixed(), "upwhy"),
  };
}

std::uint16_t KindOf(const EventBytes& bytes) {
  profd_event header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header.kind;
}

void SetSize(EventBytes& bytes, std::uint32_t size) {
  std::memcpy(bytes.data() + offsetof(profd_event, size), &size, sizeof(size));
}

// PERIODS had another length once.
bool IsWholeOlderEvent(const EventBytes& whole, std::size_t length) {
  return KindOf(whole) == PROFD_EVENT_PERIODS &&
         (length == offsetof(profd_periods_event, background_on_cpu_period_ns) ||
          length == offsetof(profd_periods_event, point_seed));
}

TEST(DecoderTest, HeaderIsTakenOverForEveryKind) {
  for (const EventBytes& bytes : EveryKind()) {
    SCOPED_TRACE(wire::KindName(KindOf(bytes)));
    const Result<wire::Event> event = wire::DecodeEvent(Raw(bytes));
    ASSERT_TRUE(event) << event.error().message;
    const wire::EventHeader& header = wire::HeaderOf(*event);
    EXPECT_GT(header.time_ns, 0u);
    EXPECT_EQ(header.process, (ProcessKey{100, 1'000'100}));
    EXPECT_EQ(header.thread, (ThreadKey{101, 2'000'101}));
    EXPECT_EQ(header.sessions, 1u);
    EXPECT_EQ(header.cpu, 3u);
  }
}

TEST(DecoderTest, LabelsStandAtTheEndOfASample) {
  profd_sample_event fixed = OffCpuFixed();
  fixed.label_bytes = 3;
  const std::string tail = RawNumbers({11, 12, 21, 22, 23}) + "abc";
  const auto event = Decoded<wire::StackEvent>(RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, tail));
  EXPECT_EQ(event.labels, "abc");
  EXPECT_THAT(event.user_frames, ElementsAre(21, 22, 23));
  fixed.label_bytes = static_cast<__u16>(tail.size() + 1);
  EXPECT_FALSE(wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, tail))));
  fixed.label_bytes = PROFD_MAX_LABEL_BYTES + 1;
  EXPECT_FALSE(wire::DecodeEvent(
      Raw(RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, std::string(fixed.label_bytes, 'x')))));
}

TEST(DecoderTest, NamesOfLabels) {
  const auto event = Decoded<wire::LabelProcessEvent>(
      RawEventBytes(PROFD_EVENT_LABEL_PROCESS, LabelProcessFixed(3, 3), "why\4step\0\5phase"s));
  EXPECT_EQ(event.reason, "why");
  EXPECT_THAT(event.keys, ElementsAre("step", "", "phase"));
  EXPECT_FALSE(wire::DecodeEvent(
      Raw(RawEventBytes(PROFD_EVENT_LABEL_PROCESS, LabelProcessFixed(PROFD_MAX_LABEL_KEYS + 1, 0),
                        std::string(PROFD_MAX_LABEL_KEYS + 1, '\0')))));
  EXPECT_FALSE(wire::DecodeEvent(
      Raw(RawEventBytes(PROFD_EVENT_LABEL_PROCESS, LabelProcessFixed(1, 0), "\5phas"s))));
  const std::vector<std::string> keys{"step", std::string(300, 'x')};
  profd_label_process_event fixed = LabelProcessFixed(0, 0);
  const auto laid_out = Decoded<wire::LabelProcessEvent>(LayOutLabelProcess(fixed, keys, "no"));
  EXPECT_THAT(laid_out.keys, ElementsAre("step", std::string(255, 'x')));
  EXPECT_EQ(laid_out.reason, "no");
}

TEST(DecoderTest, BeyondShareSaysWhatAndHowMuch) {
  const auto event = wire::DecodeEvent(
      Raw(RawEventBytes(PROFD_EVENT_BEYOND_SHARE, BeyondShareFixed(PROFD_SHARE_MAPPINGS))));
  ASSERT_TRUE(event) << event.error().message;
  const auto& beyond = std::get<wire::BeyondShareEvent>(*event);
  EXPECT_EQ(beyond.kind, PROFD_SHARE_MAPPINGS);
  EXPECT_EQ(beyond.uid, 4u);
  EXPECT_EQ(beyond.count, 5u);
  for (const std::uint32_t kind : {0u, std::uint32_t{PROFD_SHARE_KINDS}, ~0u})
    EXPECT_FALSE(
        wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_BEYOND_SHARE, BeyondShareFixed(kind)))))
        << kind;
}

TEST(DecoderTest, ASwitchAndAWakeUpHaveTheirTimes) {
  const auto event = wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_SWITCH, SwitchFixed())));
  ASSERT_TRUE(event) << event.error().message;
  const auto& one = std::get<wire::SwitchEvent>(*event);
  EXPECT_EQ(one.begin_ns, 40u);
  EXPECT_EQ(one.runnable_ns, 5u);
  EXPECT_EQ(one.state, PROFD_STATE_RUNNABLE);
  EXPECT_EQ(one.kind, PROFD_AFTER_YIELD);
  const auto woken = wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_WAKE, WakeFixed())));
  ASSERT_TRUE(woken) << woken.error().message;
  const auto& wake = std::get<wire::WakeEvent>(*woken);
  EXPECT_TRUE(wake.interrupt);
  EXPECT_FALSE(wake.hidden);
  EXPECT_EQ(wake.begin_ns, 40u);
  EXPECT_EQ(wake.wakee, (ThreadKey{9, 3}));
  for (const auto& [state, kind] :
       {std::pair(PROFD_STATE_ON_CPU, 0), std::pair(PROFD_STATE_DEAD, 0),
        std::pair(PROFD_STATE_BLOCKED, int{PROFD_BLOCKED_MAX})}) {
    profd_switch_event wrong = SwitchFixed();
    wrong.state = state;
    wrong.kind = static_cast<std::uint32_t>(kind);
    EXPECT_FALSE(wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_SWITCH, wrong))));
  }
}

TEST(DecoderTest, SumsOfHardwareCountersAreOfAnEpochOrAnEnd) {
  profd_pmu_event fixed{};
  fixed.event = RawHeader(9);
  fixed.epoch = 4;
  fixed.at_epoch = {.counted_ns = 1, .counts = {2, 3, 4}};
  fixed.final = {.counted_ns = 5, .counts = {6, 7, 8}};
  const auto sums = Decoded<wire::PmuEvent>(RawEventBytes(PROFD_EVENT_PMU, fixed));
  EXPECT_FALSE(sums.end);
  EXPECT_EQ(sums.epoch, 4u);
  EXPECT_EQ(sums.at_epoch.counted_ns, 1u);
  EXPECT_EQ(sums.at_epoch.counts[PROFD_PMU_CACHE_MISSES], 4u);
  EXPECT_EQ(sums.final.counts[PROFD_PMU_CYCLES], 6u);
  fixed.event.flags = PROFD_PMU_END;
  EXPECT_TRUE(Decoded<wire::PmuEvent>(RawEventBytes(PROFD_EVENT_PMU, fixed)).end);
  auto cut = RawEventBytes(PROFD_EVENT_PMU, fixed);
  cut.resize(cut.size() - 1);
  EXPECT_FALSE(wire::DecodeEvent(Raw(cut)));
}

TEST(DecoderTest, ASampleMustHaveTheCountsThatItClaims) {
  profd_sample_event fixed{};
  fixed.event = RawHeader(9);
  fixed.event.flags = PROFD_SAMPLE_COUNTED;
  fixed.uncertain_from = PROFD_ALL_CERTAIN;
  EXPECT_FALSE(wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_ON_CPU, fixed, "too short"))));
  const auto counted =
      Decoded<wire::StackEvent>(RawEventBytes(PROFD_EVENT_ON_CPU, fixed, RawNumbers({1, 2, 3, 4})));
  ASSERT_TRUE(counted.counts);
  EXPECT_EQ(counted.counts->counts[PROFD_PMU_INSTRUCTIONS], 3u);
  fixed.event.flags = 0;
  EXPECT_FALSE(
      Decoded<wire::StackEvent>(RawEventBytes(PROFD_EVENT_ON_CPU, fixed, RawNumbers({1, 2, 3, 4})))
          .counts);
}

TEST(DecoderTest, AStepHasItsNameAndItsSource) {
  const auto event = wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_STEP, StepFixed(), "step")));
  ASSERT_TRUE(event) << event.error().message;
  const auto& step = std::get<wire::StepEvent>(*event);
  EXPECT_EQ(step.source, 3u);
  EXPECT_EQ(step.object, 0x7f00u);
  EXPECT_EQ(step.name, "step");
  EXPECT_TRUE(step.name_cut);
  EXPECT_FALSE(step.end);
  const auto said =
      wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_STEP_SOURCE, StepSourceFixed(), "upwhy")));
  ASSERT_TRUE(said) << said.error().message;
  const auto& source = std::get<wire::StepSourceEvent>(*said);
  EXPECT_EQ(source.text, "up");
  EXPECT_EQ(source.refused, "why");
  EXPECT_TRUE(source.names);
  EXPECT_FALSE(source.ends);
  profd_step_event far = StepFixed();
  far.source = PROFD_MAX_STEP_SOURCES;
  EXPECT_FALSE(wire::DecodeEvent(Raw(RawEventBytes(PROFD_EVENT_STEP, far, "step"))));
}

TEST(DecoderTest, EveryCutOfEveryKindIsRejected) {
  for (const EventBytes& whole : EveryKind()) {
    SCOPED_TRACE(wire::KindName(KindOf(whole)));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      // The size still says all of it: cut on the way.
      EventBytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_FALSE(wire::DecodeEvent(Raw(cut))) << "cut at " << length;
      if (length < sizeof(profd_event) || IsWholeOlderEvent(whole, length)) continue;
      // The size says the cut is all: the lengths inside contradict it.
      SetSize(cut, static_cast<std::uint32_t>(length));
      EXPECT_FALSE(wire::DecodeEvent(Raw(cut))) << "sized " << length;
      EventBytes resized = whole;
      SetSize(resized, static_cast<std::uint32_t>(length));
      EXPECT_FALSE(wire::DecodeEvent(Raw(resized))) << "resized " << length;
    }
  }
}

TEST(DecoderTest, BytesBeyondTheSizeAndPaddingInsideItAreIgnored) {
  for (const EventBytes& whole : EveryKind()) {
    SCOPED_TRACE(wire::KindName(KindOf(whole)));
    EventBytes padded = whole;
    padded.resize(padded.size() + 13, std::byte{0xff});
    EXPECT_TRUE(wire::DecodeEvent(Raw(padded)));
    SetSize(padded, static_cast<std::uint32_t>(padded.size()));
    EXPECT_TRUE(wire::DecodeEvent(Raw(padded)));
  }
}

TEST(DecoderTest, OffCpuSample) {
  const auto event = Decoded<wire::StackEvent>(
      RawEventBytes(PROFD_EVENT_OFF_CPU, OffCpuFixed(), RawNumbers({11, 12, 21, 22, 23})));
  EXPECT_EQ(event.origin, wire::SampleOrigin::kOffCpu);
  EXPECT_EQ(event.flags, PROFD_SAMPLE_IOWAIT);
  EXPECT_EQ(event.stack_flags, PROFD_STACK_USER_FAULT);
  EXPECT_EQ(event.begin_ns, 1'000u);
  EXPECT_EQ(event.runnable_ns, 500u);
  EXPECT_EQ(event.period_ns, 100u);
  EXPECT_EQ(event.blocked_points, 35u);
  EXPECT_EQ(event.runnable_points, 5u);
  EXPECT_EQ(event.syscall, 0);
  EXPECT_EQ(event.task_state, 2u);
  EXPECT_THAT(event.syscall_args, ElementsAre(3, 4, 5));
  EXPECT_EQ(event.fd_kind, PROFD_FD_REGULAR);
  EXPECT_THAT(event.kernel_frames, ElementsAre(11, 12));
  EXPECT_THAT(event.user_frames, ElementsAre(21, 22, 23));
}

TEST(DecoderTest, OriginFollowsTheKind) {
  EXPECT_EQ(Decoded<wire::StackEvent>(RawSample(PROFD_EVENT_ON_CPU, RawHeader(1), {}, {})).origin,
            wire::SampleOrigin::kOnCpu);
  EXPECT_EQ(Decoded<wire::StackEvent>(RawSample(PROFD_EVENT_SNAPSHOT, RawHeader(1), {}, {})).origin,
            wire::SampleOrigin::kSnapshot);
}

TEST(DecoderTest, SampleWithoutFrames) {
  const auto event = Decoded<wire::StackEvent>(RawSample(PROFD_EVENT_ON_CPU, RawHeader(1), {}, {}));
  EXPECT_THAT(event.kernel_frames, IsEmpty());
  EXPECT_THAT(event.user_frames, IsEmpty());
}

TEST(DecoderTest, AsManyFramesAsMayBeAndNotOneMore) {
  const std::vector<std::uint64_t> kernel(PROFD_MAX_KERNEL_FRAMES, 1);
  std::vector<std::uint64_t> user(PROFD_MAX_USER_FRAMES, 2);
  const auto event =
      Decoded<wire::StackEvent>(RawSample(PROFD_EVENT_ON_CPU, RawHeader(1), kernel, user));
  EXPECT_EQ(event.kernel_frames.size(), kernel.size());
  EXPECT_EQ(event.user_frames.size(), user.size());
  user.push_back(2);
  EXPECT_EQ(ErrorOf(RawSample(PROFD_EVENT_ON_CPU, RawHeader(1), kernel, user)),
            "on-CPU sample event: more frames than there may be");
}

TEST(DecoderTest, IntervalsThatContradictThemselvesAreRejected) {
  const std::string frames = RawNumbers({11, 12, 21, 22, 23});
  profd_sample_event backwards = OffCpuFixed();
  backwards.begin_ns = backwards.event.time_ns + 1;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_OFF_CPU, backwards, frames)),
            "off-CPU sample event: ends before it begins");
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_SNAPSHOT, backwards, frames)),
            "snapshot event: ends before it begins");
  profd_sample_event too_long = OffCpuFixed();
  too_long.runnable_ns = 4'001;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_OFF_CPU, too_long, frames)),
            "off-CPU sample event: longer runnable than it lasted");
  too_long.runnable_ns = 4'000;
  EXPECT_EQ(
      Decoded<wire::StackEvent>(RawEventBytes(PROFD_EVENT_OFF_CPU, too_long, frames)).runnable_ns,
      4'000u);
}

TEST(DecoderTest, UnknownDescriptorKindIsRejected) {
  profd_sample_event fixed = OffCpuFixed();
  fixed.fd_kind = PROFD_FD_DIRECTORY + 1;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, RawNumbers({1, 2, 3, 4, 5}))),
            "off-CPU sample event: unknown kind of descriptor");
}

TEST(DecoderTest, Clock) {
  const auto clock = Decoded<wire::ClockEvent>(RawEventBytes(PROFD_EVENT_CLOCK, ClockFixed()));
  EXPECT_FALSE(clock.end);
  EXPECT_EQ(clock.epoch, 2u);
  EXPECT_EQ(clock.epoch_ns, 11u);
  EXPECT_EQ(clock.begin_ns, 1u);
  EXPECT_EQ(clock.since_ns, 10u);
  EXPECT_EQ(clock.state, PROFD_STATE_BLOCKED);
  EXPECT_EQ(clock.at_epoch.on_cpu_ns, 20u);
  EXPECT_EQ(clock.final.migrations, 30u);
  EXPECT_EQ(clock.at_epoch.stolen_ns[PROFD_STOLEN_SPREAD], 31u);
  EXPECT_EQ(clock.comm, "worker");
  EXPECT_EQ(clock.own_tid, 32u);
  EXPECT_FALSE(clock.moves);
  EXPECT_TRUE(Decoded<wire::ClockEvent>(RawEventBytes(PROFD_EVENT_THREAD_END, ClockFixed())).end);
}

TEST(DecoderTest, ClockWithMigrationsByDistance) {
  profd_clock_event fixed = ClockFixed();
  fixed.event.flags = PROFD_CLOCK_MOVES;
  fixed.moves_at_epoch = {3, 2, 1};
  fixed.moves_final = {6, 5, 4};
  const auto clock = Decoded<wire::ClockEvent>(RawEventBytes(PROFD_EVENT_CLOCK, fixed));
  ASSERT_TRUE(clock.moves);
  EXPECT_EQ(clock.moves->at_epoch.core, 3u);
  EXPECT_EQ(clock.moves->at_epoch.node, 1u);
  EXPECT_EQ(clock.moves->final.core, 6u);
  EXPECT_EQ(clock.moves->final.cache, 5u);
}

TEST(DecoderTest, ClockInAnUnknownStateIsRejected) {
  profd_clock_event fixed = ClockFixed();
  fixed.state = PROFD_STATE_DEAD + 1;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_CLOCK, fixed)), "clock event: unknown state");
}

TEST(DecoderTest, NameWithoutAZeroIsRejected) {
  profd_clock_event clock = ClockFixed();
  std::memset(clock.comm, 'x', sizeof(clock.comm));
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_CLOCK, clock)), "clock event: name without an end");
  profd_task_event task{};
  task.event = RawHeader(1);
  std::memset(task.comm, 'x', sizeof(task.comm));
  for (const auto kind : {PROFD_EVENT_FORK, PROFD_EVENT_EXEC, PROFD_EVENT_COMM, PROFD_EVENT_EXIT}) {
    EXPECT_EQ(ErrorOf(RawEventBytes(kind, task)),
              std::string(wire::KindName(kind)) + " event: name without an end");
  }
}

TEST(DecoderTest, ForkOfAProcessAndOfAThread) {
  profd_task_event fixed{};
  fixed.event = RawHeader(1);
  fixed.event.flags = PROFD_TASK_NEW_PROCESS;
  fixed.parent_pid = 7;
  fixed.parent_tid = 8;
  fixed.parent_process_start_ns = 9;
  const auto process = Decoded<wire::ForkEvent>(RawEventBytes(PROFD_EVENT_FORK, fixed));
  EXPECT_TRUE(process.new_process);
  EXPECT_EQ(process.parent_pid, 7u);
  EXPECT_EQ(process.parent_tid, 8u);
  EXPECT_EQ(process.parent_process_start_ns, 9u);
  fixed.event.flags = 0;
  EXPECT_FALSE(Decoded<wire::ForkEvent>(RawEventBytes(PROFD_EVENT_FORK, fixed)).new_process);
}

TEST(DecoderTest, ExecWithAndWithoutAPath) {
  const auto exec =
      Decoded<wire::ExecEvent>(RawTask(PROFD_EVENT_EXEC, RawHeader(1), "cat", "/bin/cat"));
  EXPECT_EQ(exec.path, "/bin/cat");
  EXPECT_EQ(exec.comm, "cat");
  EXPECT_EQ(Decoded<wire::ExecEvent>(RawTask(PROFD_EVENT_EXEC, RawHeader(1), "cat")).path, "");
}

TEST(DecoderTest, PathsMustEndInsideTheirBytes) {
  profd_task_event fixed{};
  fixed.event = RawHeader(1);
  fixed.path_bytes = 4;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_EXEC, fixed, "/bin/cat")),
            "exec event: path beyond its end, or without an end");
  fixed.path_bytes = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_EXEC, fixed, std::string("/bin\0", 5))),
            "exec event: path beyond its end, or without an end");
  fixed.path_bytes = 9;
  const std::string two("/bin\0junk", 9);
  EXPECT_EQ(Decoded<wire::ExecEvent>(RawEventBytes(PROFD_EVENT_EXEC, fixed, two)).path, "/bin");
}

TEST(DecoderTest, ExitSaysWhetherTheProcessIsGone) {
  profd_task_event fixed{};
  fixed.event = RawHeader(1);
  fixed.exit_code = 256;
  EXPECT_FALSE(Decoded<wire::ExitEvent>(RawEventBytes(PROFD_EVENT_EXIT, fixed)).last_thread);
  fixed.event.flags = PROFD_TASK_LAST_THREAD;
  const auto exit = Decoded<wire::ExitEvent>(RawEventBytes(PROFD_EVENT_EXIT, fixed));
  EXPECT_TRUE(exit.last_thread);
  EXPECT_EQ(exit.exit_code, 256u);
}

TEST(DecoderTest, Mmap) {
  const auto mmap =
      Decoded<wire::MmapEvent>(RawEventBytes(PROFD_EVENT_MMAP, MmapFixed(kMmapPath), kMmapPath));
  EXPECT_EQ(mmap.address, 0x7000u);
  EXPECT_EQ(mmap.bytes, 0x2000u);
  EXPECT_EQ(mmap.file_offset, 0x1000u);
  EXPECT_EQ(mmap.device_major, 8u);
  EXPECT_EQ(mmap.device_minor, 1u);
  EXPECT_EQ(mmap.inode, 4711u);
  EXPECT_EQ(mmap.inode_generation, 3u);
  EXPECT_EQ(mmap.prot, 5u);
  EXPECT_EQ(mmap.path, "/usr/lib/libc.so");
}

TEST(DecoderTest, MmapMustBeARange) {
  profd_mmap_event empty = MmapFixed(kMmapPath);
  empty.bytes = 0;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_MMAP, empty, kMmapPath)),
            "mmap event: no range of addresses");
  profd_mmap_event wrapped = MmapFixed(kMmapPath);
  wrapped.bytes = std::numeric_limits<std::uint64_t>::max() - wrapped.address + 1;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_MMAP, wrapped, kMmapPath)),
            "mmap event: no range of addresses");
}

TEST(DecoderTest, ProcessTextsKeepTheirPlaces) {
  const auto process =
      Decoded<wire::ProcessEvent>(RawEventBytes(PROFD_EVENT_PROCESS, ProcessFixed(), "cattext"));
  EXPECT_EQ(process.blobs[PROFD_BLOB_COMM], "cat");
  EXPECT_EQ(process.blobs[PROFD_BLOB_EXE], "");
  EXPECT_EQ(process.blobs[PROFD_BLOB_MAPS], "text");
}

TEST(DecoderTest, ProcessLengthsThatOverflowAreRejected) {
  profd_process_event fixed = ProcessFixed();
  for (auto& bytes : fixed.blob_bytes) bytes = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_PROCESS, fixed, "cattext")),
            "process event: text beyond its end");
}

TEST(DecoderTest, Session) {
  const auto session =
      Decoded<wire::SessionEvent>(RawEventBytes(PROFD_EVENT_SESSION_END, SessionFixed(), "pid 12"));
  EXPECT_TRUE(session.end);
  EXPECT_EQ(session.session, 63u);
  EXPECT_EQ(session.mode, 2u);
  EXPECT_EQ(session.epoch, 7u);
  EXPECT_EQ(session.epoch_ns, 70u);
  EXPECT_EQ(session.on_cpu_period_ns, 1u);
  EXPECT_EQ(session.off_cpu_period_ns, 2u);
  EXPECT_EQ(session.bpf_cost_ns, 3u);
  EXPECT_EQ(session.own_cpu_ns, 4u);
  EXPECT_EQ(session.hook, 1u);
  EXPECT_EQ(session.target, "pid 12");
  EXPECT_FALSE(Decoded<wire::SessionEvent>(
                   RawEventBytes(PROFD_EVENT_SESSION_START, SessionFixed(), "pid 12"))
                   .end);
}

TEST(DecoderTest, SessionNumbersOutOfRangeAreRejected) {
  profd_session_event number = SessionFixed();
  number.session = PROFD_MAX_SESSIONS;
  EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_SESSION_START, number, "pid 12")),
            "session start event: number out of range");
  for (const std::uint32_t mode : {0u, 4u}) {
    profd_session_event fixed = SessionFixed();
    fixed.mode = mode;
    EXPECT_EQ(ErrorOf(RawEventBytes(PROFD_EVENT_SESSION_START, fixed, "pid 12")),
              "session start event: unknown mode");
  }
}

TEST(DecoderTest, CountersOfOlderAndNewerWritersHaveOneLength) {
  const auto older = Decoded<wire::CountersEvent>(
      RawEventBytes(PROFD_EVENT_COUNTERS, CountersFixed(2), RawNumbers({5, 6})));
  ASSERT_EQ(older.values.size(), std::size_t{PROFD_COUNTER_MAX});
  EXPECT_EQ(older.values[1], 6u);
  EXPECT_EQ(std::accumulate(older.values.begin(), older.values.end(), 0u), 11u);
  const std::vector<std::uint64_t> many(PROFD_COUNTER_MAX + 3, 1);
  const auto newer = Decoded<wire::CountersEvent>(
      RawEventBytes(PROFD_EVENT_COUNTERS, CountersFixed(PROFD_COUNTER_MAX + 3), RawNumbers(many)));
  EXPECT_EQ(newer.values.size(), std::size_t{PROFD_COUNTER_MAX});
}

TEST(DecoderTest, CountersLengthThatOverflowsIsRejected) {
  // 0x20000001 values of 8 bytes are 8 bytes in 32 bits.
  EXPECT_EQ(
      ErrorOf(RawEventBytes(PROFD_EVENT_COUNTERS, CountersFixed(0x20000001), RawNumbers({5, 6}))),
      "counters event: values beyond its end");
}

TEST(DecoderTest, EachRejectionIsCountedUnderItsKind) {
  wire::Decoder decoder;
  for (const EventBytes& bytes : EveryKind()) EXPECT_TRUE(decoder.Decode(Raw(bytes)));
  EXPECT_EQ(decoder.Counters().decoded, EveryKind().size());
  EXPECT_EQ(decoder.Counters().Rejected(), 0u);

  profd_mmap_event empty = MmapFixed(kMmapPath);
  empty.bytes = 0;
  const EventBytes mmap = RawEventBytes(PROFD_EVENT_MMAP, empty, kMmapPath);
  EXPECT_FALSE(decoder.Decode(Raw(mmap)));
  EXPECT_FALSE(decoder.Decode(Raw(mmap)));
  for (const int number : {0, 15, PROFD_EVENT_STEP_SOURCE + 1, 65535}) {
    const auto kind = static_cast<std::uint16_t>(number);
    profd_task_event fixed{};
    const EventBytes unknown = RawEventBytes(static_cast<profd_event_kind>(kind), fixed);
    const Result<wire::Event> event = decoder.Decode(Raw(unknown));
    ASSERT_FALSE(event);
    EXPECT_EQ(event.error().message, "event of unknown kind " + std::to_string(number));
    EXPECT_STREQ(wire::KindName(kind), "unknown");
  }
  EXPECT_FALSE(decoder.Decode(Raw({})));

  const wire::DecodeCounters counters = decoder.Counters();
  EXPECT_EQ(counters.decoded, EveryKind().size());
  EXPECT_EQ(counters.corrupt[PROFD_EVENT_MMAP], 2u);
  EXPECT_EQ(counters.unknown_kind, 4u);
  EXPECT_EQ(counters.no_header, 1u);
  EXPECT_EQ(counters.Rejected(), 7u);
}

}  // namespace
}  // namespace profd::wire
