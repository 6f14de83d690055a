// Writes seeds for the fuzz targets: make_corpus FOLDER (tests/fuzz/corpus). Run it by hand when
// the wire format or the recording format changes, and commit what it writes.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "daemon/recording/block.h"
#include "daemon/recording/recording_writer.h"
#include "tests/support/manual_clock.h"
#include "tests/support/raw_events.h"

namespace profd::test {
namespace {

using Named = std::pair<std::string, EventBytes>;

EventBytes OffCpu(profd_event_kind kind) {
  profd_sample_event fixed{};
  fixed.event = RawHeader(9'000'000);
  fixed.begin_ns = 1'000'000;
  fixed.runnable_ns = 1'000;
  fixed.period_ns = 1'000'000;
  fixed.blocked_points = 7;
  fixed.task_state = 1;
  fixed.syscall = 202;
  fixed.kernel_frames = 2;
  fixed.user_frames = 3;
  return RawEventBytes(kind, fixed,
                       RawNumbers({0xffffffff81000000, 0xffffffff81000100, 0x401000, 0x402000, 0}));
}

// Two frames, the CFA of the second, a Python frame and its anchor.
EventBytes Packed() {
  return RawPackedSample(
      PROFD_EVENT_ON_CPU, 1u << 2 | 1u << 8 | 1u << 10,
      {10'000'000, std::uint64_t{2} << 48, PROFD_ALL_CERTAIN | 1u << 16 | std::uint64_t{3} << 32},
      {0xc4d6, 0xa2b3, 0xf891, 0x0003, 0xfffa, 0xffff, 0x8006, 0x0000, 0xffe0, 0x000b, 0x8006,
       0x0000, 0xf802, 0x0003, 0xbeef, 0xdead, 0x0020, 0x8207, 0x0000, 0xffe0, 0x0003});
}

EventBytes Clock(profd_event_kind kind) {
  profd_clock_event fixed{};
  fixed.event = RawHeader(9'100'000);
  fixed.epoch = 1;
  fixed.epoch_ns = 9'000'000;
  fixed.state = PROFD_STATE_BLOCKED;
  std::string_view("worker").copy(fixed.comm, sizeof(fixed.comm) - 1);
  return RawEventBytes(kind, fixed);
}

EventBytes Fork() {
  profd_task_event fixed{};
  fixed.event = RawHeader(2'000'000, 200, 200);
  fixed.event.flags = PROFD_TASK_NEW_PROCESS;
  fixed.parent_pid = 100;
  fixed.parent_tid = 101;
  fixed.parent_process_start_ns = 1'000'100;
  std::string_view("sh").copy(fixed.comm, sizeof(fixed.comm) - 1);
  return RawEventBytes(PROFD_EVENT_FORK, fixed);
}

EventBytes Exit() {
  profd_task_event fixed{};
  fixed.event = RawHeader(8'000'000, 200, 200);
  fixed.event.flags = PROFD_TASK_LAST_THREAD;
  return RawEventBytes(PROFD_EVENT_EXIT, fixed);
}

EventBytes Mmap() {
  const std::string path("/usr/bin/true\0", 14);
  profd_mmap_event fixed{};
  fixed.event = RawHeader(3'100'000, 200, 200);
  fixed.address = 0x401000;
  fixed.bytes = 0x2000;
  fixed.file_offset = 0x1000;
  fixed.device_major = 8;
  fixed.inode = 5;
  fixed.prot = 5;
  fixed.path_bytes = static_cast<__u32>(path.size());
  return RawEventBytes(PROFD_EVENT_MMAP, fixed, path);
}

EventBytes Process() {
  const std::vector<std::string> blobs = {
      "sh\n",
      "/bin/sh",
      std::string("sh\0-c\0", 6),
      "0::/user.slice\n",
      "100\t1",
      "400000-500000 r-xp 00001000 08:00 5 /bin/sh\n7000-8000 r-xp 00000000 00:00 0 [vdso]\n",
      "100\tsh\n101\tworker\n"};
  profd_process_event fixed{};
  fixed.event = RawHeader(1'000'000);
  std::string tail;
  for (std::size_t blob = 0; blob < blobs.size(); ++blob) {
    fixed.blob_bytes[blob] = static_cast<__u32>(blobs[blob].size());
    tail += blobs[blob];
  }
  return RawEventBytes(PROFD_EVENT_PROCESS, fixed, tail);
}

EventBytes Session(profd_event_kind kind, std::uint64_t time_ns) {
  profd_session_event fixed{};
  fixed.event = RawHeader(time_ns);
  fixed.mode =
      3 | PROFD_SESSION_COUNTED | PROFD_SESSION_COUNTERS_MASK << PROFD_SESSION_COUNTERS_SHIFT;
  fixed.epoch = 1;
  fixed.epoch_ns = time_ns;
  fixed.hook = 1;
  fixed.target_bytes = 7;
  return RawEventBytes(kind, fixed, "pid 100");
}

// A sample with what hardware counters have counted behind its frames, and a label behind that.
EventBytes Counted() {
  const std::string value{'\0', '\1', '7'};  // the first attribute, one byte
  profd_label_head head{};
  head.valid = 1;
  head.attribute_bytes = static_cast<__u16>(value.size());
  const std::string label = std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + value;
  profd_sample_event fixed{};
  fixed.event = RawHeader(4'100'000, 200, 200);
  fixed.event.flags = PROFD_SAMPLE_COUNTED;
  fixed.syscall = -1;
  fixed.period_ns = 10'000'000;
  fixed.user_frames = 1;
  fixed.uncertain_from = PROFD_ALL_CERTAIN;
  fixed.label_bytes = static_cast<__u16>(label.size());
  return RawEventBytes(PROFD_EVENT_ON_CPU, fixed,
                       RawNumbers({0x401100, 9'000'000, 27'000'000, 18'000'000, 40'000}) + label);
}

// The sums of hardware counters at an epoch and at the end of a thread.
EventBytes Pmu() {
  profd_pmu_event fixed{};
  fixed.event = RawHeader(9'200'000);
  fixed.event.flags = PROFD_PMU_END;
  fixed.epoch = 1;
  fixed.epoch_ns = 9'000'000;
  fixed.at_epoch = {.counted_ns = 5'000'000, .counts = {15'000'000, 9'000'000, 10'000}};
  fixed.final = {.counted_ns = 6'000'000, .counts = {18'000'000, 12'000'000, 30'000}};
  return RawEventBytes(PROFD_EVENT_PMU, fixed);
}

EventBytes Counters() {
  profd_counters_event fixed{};
  fixed.event = RawHeader(9'500'000);
  fixed.count = PROFD_COUNTER_MAX;
  return RawEventBytes(PROFD_EVENT_COUNTERS, fixed,
                       RawNumbers(std::vector<std::uint64_t>(PROFD_COUNTER_MAX, 3)));
}

// One event of every kind, as a session would have them.
std::vector<Named> EveryKind() {
  return {
      {"session_start", Session(PROFD_EVENT_SESSION_START, 900'000)},
      {"process", Process()},
      {"fork", Fork()},
      {"comm", RawTask(PROFD_EVENT_COMM, RawHeader(3'000'000, 200, 200), "true")},
      {"mmap", Mmap()},
      {"exec", RawTask(PROFD_EVENT_EXEC, RawHeader(3'200'000, 200, 200), "true", "/usr/bin/true")},
      {"on_cpu", RawSample(PROFD_EVENT_ON_CPU, RawHeader(4'000'000, 200, 200), {}, {0x401100, 0})},
      {"counted", Counted()},
      {"exit", Exit()},
      {"off_cpu", OffCpu(PROFD_EVENT_OFF_CPU)},
      {"clock", Clock(PROFD_EVENT_CLOCK)},
      {"thread_end", Clock(PROFD_EVENT_THREAD_END)},
      {"pmu", Pmu()},
      {"packed", Packed()},
      {"snapshot", OffCpu(PROFD_EVENT_SNAPSHOT)},
      {"counters", Counters()},
      {"session_end", Session(PROFD_EVENT_SESSION_END, 9'600'000)},
  };
}

void Save(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

void MakeRecording(const std::string& path) {
  test::ManualClock clock;
  recording::RecordingInfo info;
  info.events_version = PROFD_EVENTS_VERSION;
  info.host = "host";
  recording::RecordingWriter::Options options;
  options.flush_interval = std::chrono::hours(1);
  auto writer = recording::RecordingWriter::Create(path, info, options, clock);
  if (!writer) std::abort();
  for (const auto& [name, bytes] : EveryKind()) (*writer)->Write({bytes});
  (*writer)->AddEnvironment("elf", "8:0:5:/bin/sh", "what it said");
  if (!(*writer)->Close()) std::abort();
}

// A block as blocks_fuzz.cc takes it.
void AppendBlock(const recording::RawBlock& block, std::vector<std::byte>& out) {
  const std::uint16_t numbers[] = {static_cast<std::uint16_t>(block.kind),
                                   static_cast<std::uint16_t>(block.bytes.size()),
                                   static_cast<std::uint16_t>(block.records), 0};
  const auto prefix = std::as_bytes(std::span(numbers));
  out.insert(out.end(), prefix.begin(), prefix.end());
  out.insert(out.end(), block.bytes.begin(), block.bytes.end());
}

void MakeBlocks(const std::filesystem::path& path, const recording::RawBlock& events) {
  recording::RecordingInfo info;
  info.events_version = PROFD_EVENTS_VERSION;
  info.host = "host";
  recording::RawBlock environment{
      .kind = recording::BlockKind::kEnvironment, .records = 0, .bytes = {}};
  recording::AppendEnvironment("elf", "8:0:5:/bin/sh", "what it said", environment);
  std::vector<std::byte> blocks;
  AppendBlock({recording::BlockKind::kInfo, 1, recording::EncodeInfo(info)}, blocks);
  AppendBlock(events, blocks);
  AppendBlock(environment, blocks);
  AppendBlock(
      {recording::BlockKind::kFooter, 1, recording::EncodeTotals({.events = EveryKind().size()})},
      blocks);
  Save(path, blocks);
}

void MakeAll(const std::filesystem::path& folder) {
  recording::RawBlock all;
  for (const auto& [name, bytes] : EveryKind()) {
    Save(folder / "decode" / (name + ".bin"), bytes);
    recording::AppendEvent(bytes, all);
  }
  Save(folder / "pipeline" / "session.bin", all.bytes);
  MakeBlocks(folder / "blocks" / "whole.bin", all);
  std::filesystem::create_directories(folder / "recording");
  MakeRecording(folder / "recording" / "whole.bin");
  const auto size = std::filesystem::file_size(folder / "recording" / "whole.bin");
  std::filesystem::copy_file(folder / "recording" / "whole.bin", folder / "recording" / "cut.bin",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(folder / "recording" / "cut.bin", size - 50);
}

}  // namespace
}  // namespace profd::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  profd::test::MakeAll(argv[1]);
}
