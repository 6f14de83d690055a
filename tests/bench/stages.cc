// What one event costs in user space, stage by stage: stages [EVENTS]
// Samples of 32 kernel and user frames, and a clock reading for every eighth of them, of 64 threads
// in 16 processes with 40 mappings each, as four CPUs would send them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/process_table.h"
#include "daemon/process/sampler.h"
#include "daemon/recording/recording_reader.h"
#include "daemon/recording/recording_writer.h"
#include "daemon/wire/decoder.h"
#include "daemon/wire/orderer.h"
#include "tests/support/process_events.h"
#include "tests/support/raw_events.h"

namespace profd::test {
namespace {

constexpr std::uint32_t kProcesses = 16;
constexpr std::uint64_t kMappings = 40;
constexpr std::uint64_t kMappingBytes = 0x10000;

EventBytes MakeSample(std::uint64_t time_ns, std::mt19937_64& random) {
  const auto pid = static_cast<std::uint32_t>(1 + random() % kProcesses);
  profd_sample_event fixed{};
  fixed.event = RawHeader(time_ns, pid, static_cast<std::uint32_t>(1'000 + pid * 4 + random() % 4));
  fixed.event.process_start_ns = pid + 1'000;
  fixed.begin_ns = time_ns - 1'000'000;
  fixed.period_ns = 1'000'000;
  fixed.blocked_points = 1;
  fixed.syscall = 202;
  fixed.task_state = 1;
  fixed.kernel_frames = 10;
  fixed.user_frames = 22;
  std::vector<std::uint64_t> frames;
  for (int i = 0; i < 10; ++i) frames.push_back(0xffffffff81000000 + random() % 4'096 * 64);
  for (int i = 0; i < 22; ++i)
    frames.push_back(kMappingBytes + random() % kMappings * kMappingBytes + random() % 1'024 * 16);
  return RawEventBytes(PROFD_EVENT_OFF_CPU, fixed, RawNumbers(frames));
}

std::vector<EventBytes> MakeEvents(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<EventBytes> events;
  std::uint64_t time_ns = 1'000'000'000;
  while (events.size() < count) {
    time_ns += 10'000;
    // Four rings, each in order of time, up to 1 ms apart.
    const std::uint64_t sent_ns = time_ns - random() % 4 * 333'000;
    if (events.size() % 8 == 7) {
      profd_clock_event clock{};
      clock.event = RawHeader(sent_ns, 1, 1'004);
      clock.event.process_start_ns = 1'001;
      events.push_back(RawEventBytes(PROFD_EVENT_CLOCK, clock));
    } else {
      events.push_back(MakeSample(sent_ns, random));
    }
  }
  return events;
}

void FillProcesses(process::ProcessTable& table) {
  for (std::uint32_t pid = 1; pid <= kProcesses; ++pid) {
    table.Apply(ProcessAt(1, pid, ""));
    for (std::uint64_t i = 0; i < kMappings; ++i) {
      table.Apply(MmapAt(2, pid, kMappingBytes * (i + 1), kMappingBytes,
                         "/usr/lib/lib" + std::string(i, 'x') + ".so"));
    }
  }
}

// CPU time of this process: what it costs, not how long it had to wait for a CPU.
double CpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Stage {
 public:
  explicit Stage(const char* name) : name_(name) {}

  template <typename Work>
  void Run(const Work& work) {
    const double begin = CpuSeconds();
    work();
    seconds_ += CpuSeconds() - begin;
  }
  void Print(std::size_t events) const {
    std::printf("%-28s %10.0f events/s %7.0f ns/event\n", name_,
                static_cast<double>(events) / seconds_,
                seconds_ * 1e9 / static_cast<double>(events));
  }

 private:
  const char* name_;
  double seconds_ = 0;
};

// Events go through in batches, as they do in life, so that memory stays warm.
void RunPipeline(const std::vector<EventBytes>& raw) {
  constexpr std::size_t kBatch = 4'096;
  Stage decode("decode");
  Stage order("order");
  Stage place("process table and samples");
  std::vector<wire::Event> events;
  std::vector<wire::Event> ordered;
  wire::Decoder decoder;
  wire::Orderer orderer({}, [&](wire::Event&& event) { ordered.push_back(std::move(event)); });
  process::ProcessTable table;
  FillProcesses(table);
  process::Sampler sampler(table);
  std::size_t frames = 0;
  for (std::size_t begin = 0; begin < raw.size(); begin += kBatch) {
    const std::size_t end = std::min(raw.size(), begin + kBatch);
    decode.Run([&] {
      events.clear();
      for (std::size_t i = begin; i < end; ++i) events.push_back(decoder.Decode({raw[i]}).value());
    });
    order.Run([&] {
      ordered.clear();
      for (wire::Event& event : events) orderer.Push(std::move(event));
      if (end == raw.size()) orderer.Flush();
    });
    place.Run([&] {
      for (const wire::Event& event : ordered) {
        table.Apply(event);
        const auto* stack = std::get_if<wire::StackEvent>(&event);
        if (stack != nullptr) frames += sampler.Place(*stack).frames.size();
      }
    });
  }
  if (frames == 0 || sampler.Counters().unknown_process > 0) std::abort();
  for (const Stage* stage : {&decode, &order, &place}) stage->Print(raw.size());
}

void RunRecording(const std::vector<EventBytes>& raw) {
  const std::string path = std::filesystem::temp_directory_path() / "profd_stages_bench";
  const SystemClock clock;
  recording::RecordingWriter::Options options;
  options.max_queued_event_bytes = std::size_t{4} << 30;
  auto writer = recording::RecordingWriter::Create(path, recording::DescribeThisMachine(clock),
                                                   options, clock);
  if (!writer) std::abort();
  Stage record("record, both threads");
  record.Run([&] {
    for (const EventBytes& bytes : raw) (*writer)->Write({bytes});
    if (!(*writer)->Close()) std::abort();
  });
  record.Print(raw.size());
  auto reader = recording::RecordingReader::Open(path);
  if (!reader) std::abort();
  std::size_t read = 0;
  Stage replay("replay");
  replay.Run([&] {
    while ((*reader)->NextEvents([&](const wire::RawEvent&) { ++read; }).value()) {
    }
  });
  replay.Print(raw.size());
  if (read != raw.size()) std::abort();
  const auto count = static_cast<double>(raw.size());
  std::printf("%-28s %10.1f bytes/event, %.1f before compression\n", "recording",
              static_cast<double>(std::filesystem::file_size(path)) / count,
              static_cast<double>((*reader)->totals()->event_bytes) / count);
  std::filesystem::remove(path);
}

void Run(std::size_t count) {
  const std::vector<EventBytes> raw = MakeEvents(count);
  RunPipeline(raw);
  RunRecording(raw);
}

}  // namespace
}  // namespace profd::test

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 300'000;
  profd::test::Run(count > 0 ? count : 1);
}
