#include "daemon/recording/recording_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/recording/recording_reader.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"
#include "tests/support/recording_files.h"
#include "tests/support/temp_folder.h"

namespace profd::recording {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

class RecordingWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordingWriter> Create(const RecordingWriter::Options& options = {}) {
    auto writer = RecordingWriter::Create(path_, Info(), options, clock_);
    if (!writer) {
      ADD_FAILURE() << writer.error().message;
      return nullptr;
    }
    return *std::move(writer);
  }

  static RecordingInfo Info() {
    RecordingInfo info;
    info.events_version = PROFD_EVENTS_VERSION;
    info.host = "here";
    return info;
  }

  std::unique_ptr<RecordingReader> Open() {
    auto reader = RecordingReader::Open(path_);
    if (!reader) {
      ADD_FAILURE() << reader.error().message;
      return nullptr;
    }
    return *std::move(reader);
  }

  static void Write(RecordingWriter& writer, const std::string& text) {
    writer.Write({std::as_bytes(std::span(text))});
  }

  // Nothing is written before Close, so what is queued does not depend on the writing thread.
  static RecordingWriter::Options Lazy() {
    RecordingWriter::Options options;
    options.flush_interval = std::chrono::hours(1);
    return options;
  }

  TempFolder folder_;
  std::string path_ = folder_.Path("recording");
  test::ManualClock clock_;
};

TEST_F(RecordingWriterTest, WhatIsWrittenIsRead) {
  auto writer = Create();
  Write(*writer, "one");
  writer->AddEnvironment("elf", "file", "first");
  Write(*writer, "two");
  writer->AddEnvironment("kallsyms", "", "symbols");
  writer->AddEnvironment("elf", "file", "second");
  clock_.Set(99, 0);
  const auto closed = writer->Close();
  EXPECT_TRUE(closed);

  auto reader = Open();
  EXPECT_EQ(reader->info(), Info());
  EXPECT_EQ(reader->cut(), "");
  EXPECT_THAT(EventsOf(*reader), ElementsAre("one", "two"));
  EXPECT_THAT(EnvironmentOf(*reader, "elf"),
              ElementsAre(Pair("file", "first"), Pair("file", "second")));
  EXPECT_THAT(EnvironmentOf(*reader, "kallsyms"), ElementsAre(Pair("", "symbols")));
  EXPECT_THAT(EnvironmentOf(*reader, "other"), SizeIs(0));
  ASSERT_TRUE(reader->totals());
  EXPECT_EQ(reader->totals()->events, 2u);
  EXPECT_EQ(reader->totals()->environment, 3u);
  EXPECT_EQ(reader->totals()->dropped_events, 0u);
  EXPECT_EQ(reader->totals()->end_monotonic_ns, 99u);
  EXPECT_EQ(reader->totals()->write_error, 0u);
  EXPECT_EQ(writer->Status().file_bytes, std::filesystem::file_size(path_));
}

TEST_F(RecordingWriterTest, EventsOfAnyLengthInAnyNumberOfBlocks) {
  RecordingWriter::Options options;
  options.block_bytes = 4'096;
  auto writer = Create(options);
  std::mt19937 random(1);
  EventTexts events;
  for (int i = 0; i < 5'000; ++i) {
    std::string event(random() % 600, '\0');
    for (char& c : event) c = static_cast<char>(random());
    Write(*writer, event);
    events.push_back(std::move(event));
  }
  events.push_back(std::string(3'000'000, 'x'));
  Write(*writer, events.back());
  ASSERT_TRUE(writer->Close());
  auto reader = Open();
  EXPECT_EQ(EventsOf(*reader), events);
  EXPECT_EQ(reader->totals()->events, events.size());
}

TEST_F(RecordingWriterTest, AnEmptyRecordingIsComplete) {
  ASSERT_TRUE(Create()->Close());
  auto reader = Open();
  EXPECT_EQ(reader->cut(), "");
  EXPECT_THAT(EventsOf(*reader), SizeIs(0));
}

TEST_F(RecordingWriterTest, DestructionCloses) {
  {
    auto writer = Create();
    Write(*writer, "one");
  }
  auto reader = Open();
  EXPECT_TRUE(reader->totals());
  EXPECT_THAT(EventsOf(*reader), ElementsAre("one"));
}

TEST_F(RecordingWriterTest, WhatComesAfterTheEndIsDropped) {
  auto writer = Create();
  ASSERT_TRUE(writer->Close());
  Write(*writer, "late");
  writer->AddEnvironment("elf", "", "late");
  EXPECT_TRUE(writer->Close());
  EXPECT_EQ(writer->Status().totals.dropped_events, 1u);
  EXPECT_EQ(writer->Status().totals.dropped_environment, 1u);
  EXPECT_THAT(EventsOf(*Open()), SizeIs(0));
}

TEST_F(RecordingWriterTest, WhatDoesNotFitIntoMemoryIsDroppedAndCounted) {
  RecordingWriter::Options options = Lazy();
  options.max_queued_event_bytes = 48;  // two events of 16 with their frames
  options.max_queued_environment_bytes = 32;
  auto writer = Create(options);
  for (const char* event : {"0123456789abcdef", "ABCDEF0123456789", "too much"})
    Write(*writer, event);
  writer->AddEnvironment("k", "", "fits");
  writer->AddEnvironment("k", "", "too much too much");
  writer->AddEnvironment("k", "", "");
  ASSERT_TRUE(writer->Close());
  auto reader = Open();
  EXPECT_THAT(EventsOf(*reader), ElementsAre("0123456789abcdef", "ABCDEF0123456789"));
  EXPECT_EQ(reader->totals()->dropped_events, 1u);
  EXPECT_EQ(reader->totals()->dropped_event_bytes, 8u);
  EXPECT_EQ(reader->totals()->dropped_environment, 2u);
  EXPECT_THAT(EnvironmentOf(*reader, "k"), ElementsAre(Pair("", "fits")));
}

TEST_F(RecordingWriterTest, MemoryIsFreeAgainOnceWritten) {
  RecordingWriter::Options options;
  options.block_bytes = 64;
  options.max_queued_event_bytes = 1'024;
  options.flush_interval = std::chrono::milliseconds(1);
  auto writer = Create(options);
  std::uint64_t tried = 0;
  // Many times the bound passes through, whatever the pace of the writing thread.
  while (writer->Status().totals.events < 1'000) {
    Write(*writer, "an event");
    ++tried;
  }
  ASSERT_TRUE(writer->Close());
  auto reader = Open();
  const RecordingTotals totals = *reader->totals();
  EXPECT_EQ(EventsOf(*reader).size(), totals.events);
  EXPECT_EQ(totals.events + totals.dropped_events, tried);
}

TEST_F(RecordingWriterTest, RecordsLargerThanAnyMayBeAreDropped) {
  auto writer = Create();
  Write(*writer, std::string(kMaxEventBytes + 1, 'x'));
  writer->AddEnvironment("k", "", std::string(kMaxEnvironmentBytes, 'x'));
  EXPECT_EQ(writer->Status().totals.dropped_events, 1u);
  EXPECT_EQ(writer->Status().totals.dropped_environment, 1u);
  writer->AddEnvironment("k", "", std::string(kMaxEnvironmentBytes - 1, 'x'));
  writer->AddEnvironment("k", "", std::string(kMaxEnvironmentBytes - 1, 'x'));
  ASSERT_TRUE(writer->Close());
  EXPECT_THAT(EnvironmentOf(*Open(), "k"), SizeIs(2));
}

TEST_F(RecordingWriterTest, AFileThatGrowsIsReadUpToItsLastBlock) {
  RecordingWriter::Options options;
  options.block_bytes = 1;
  auto writer = Create(options);
  Write(*writer, "one");
  ASSERT_TRUE(test::Eventually([&] { return writer->Status().totals.events > 0; }));
  auto reader = Open();
  EXPECT_THAT(EventsOf(*reader), ElementsAre("one"));
  EXPECT_FALSE(reader->totals());
  EXPECT_THAT(reader->cut(), HasSubstr("cut short at byte "));
}

TEST_F(RecordingWriterTest, EventsReachTheFileWithoutMoreOfThem) {
  RecordingWriter::Options options;
  options.flush_interval = std::chrono::milliseconds(1);
  auto writer = Create(options);
  Write(*writer, "only one");
  writer->AddEnvironment("k", "", "v");
  ASSERT_TRUE(test::Eventually([&] {
    const auto totals = writer->Status().totals;
    return totals.events > 0 && totals.environment > 0;
  }));
  EXPECT_THAT(EventsOf(*Open()), ElementsAre("only one"));
}

TEST_F(RecordingWriterTest, ManyThreadsAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  RecordingWriter::Options options;
  options.block_bytes = 1'024;
  auto writer = Create(options);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < kEach; ++i) {
          Write(*writer, std::to_string(t) + " " + std::to_string(i));
          writer->AddEnvironment("k", std::to_string(t), std::to_string(i));
        }
      });
    }
  }
  ASSERT_TRUE(writer->Close());
  auto reader = Open();
  EXPECT_THAT(EventsOf(*reader), SizeIs(kThreads * kEach));
  std::vector<int> next(kThreads);
  for (const auto& [key, value] : EnvironmentOf(*reader, "k"))
    EXPECT_EQ(std::stoi(value), next[static_cast<std::size_t>(std::stoi(key))]++);
  EXPECT_EQ(next, std::vector<int>(kThreads, kEach));
}

TEST_F(RecordingWriterTest, AFileThatWasThereIsReplacedAndPrivate) {
  WriteFile(path_, std::string(100'000, 'x'));
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  ASSERT_TRUE(Create()->Close());
  EXPECT_EQ(Open()->cut(), "");
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(RecordingWriterTest, ANewFileIsPrivateWhateverTheUmaskAndTheFolder) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  for (const mode_t umask : {0u, 0277u}) {
    const mode_t before = ::umask(umask);
    const auto closed = Create()->Close();
    ::umask(before);
    ASSERT_TRUE(closed);
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0600u);
    std::filesystem::remove(path_);
  }
}

TEST_F(RecordingWriterTest, AnotherUsersFileIsRefusedAndLeftAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give files to other users";
  constexpr uid_t kOther = 4'200'700;  // no user of a host has it
  WriteFile(path_, "precious");
  ASSERT_EQ(::chown(path_.c_str(), kOther, kOther), 0);
  const test::ManualClock clock;
  const auto writer = RecordingWriter::Create(path_, {}, {}, clock);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

std::string ErrorOf(const std::string& path, ErrorCode code) {
  const test::ManualClock clock;
  const auto writer = RecordingWriter::Create(path, {}, {}, clock);
  if (writer) return "created";
  EXPECT_EQ(writer.error().code, code) << writer.error().message;
  return writer.error().message;
}

TEST_F(RecordingWriterTest, WhatCannotBeWrittenFailsAtOnce) {
  EXPECT_EQ(ErrorOf(folder_.Path("no/such"), ErrorCode::kNotFound),
            "cannot record into " + folder_.Path("no/such") + ": no such file or directory");
  EXPECT_THAT(ErrorOf(folder_.Path(""), ErrorCode::kIo), HasSubstr("is a directory"));
  EXPECT_THAT(ErrorOf("/dev/full", ErrorCode::kInvalidArgument), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo(folder_.Path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(folder_.Path("fifo"), ErrorCode::kIo), HasSubstr("cannot record into"));
}

TEST_F(RecordingWriterTest, TwoRecordersOfOneFileAreOneTooMany) {
  auto writer = Create();
  Write(*writer, "one");
  EXPECT_THAT(ErrorOf(path_, ErrorCode::kUnavailable), HasSubstr("another process"));
  ASSERT_TRUE(writer->Close());
  EXPECT_THAT(EventsOf(*Open()), ElementsAre("one"));
}

// A limit on the length of files is a disk that is full at a known byte.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_{};
  void (*signal_)(int);
};

std::string Noise(std::size_t bytes) {
  std::mt19937 random(7);
  std::string noise(bytes, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  return noise;
}

TEST_F(RecordingWriterTest, AFullDiskEndsTheRecordingAndLeavesAGoodFile) {
  RecordingWriter::Options options;
  options.block_bytes = 1;  // a block for each event
  auto writer = Create(options);
  Write(*writer, "fits");
  ASSERT_TRUE(test::Eventually([&] { return writer->Status().totals.events > 0; }));
  {
    const FileSizeLimit full(1'024);
    Write(*writer, Noise(4'096));
    ASSERT_TRUE(test::Eventually([&] { return writer->Status().failure; }));
    Write(*writer, "after");
    writer->AddEnvironment("k", "", "after");
    const auto closed = writer->Close();
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().message, "cannot record into " + path_ + ": file too large");
  }
  // The part that was written of the block that did not fit gave its room to the footer.
  auto reader = Open();
  EXPECT_THAT(EventsOf(*reader), ElementsAre("fits"));
  ASSERT_TRUE(reader->totals()) << reader->cut();
  EXPECT_EQ(reader->totals()->events, 1u);
  EXPECT_EQ(reader->totals()->dropped_events, 2u);
  EXPECT_EQ(reader->totals()->dropped_environment, 1u);
  EXPECT_EQ(reader->totals()->write_error, std::uint64_t{EFBIG});
}

TEST_F(RecordingWriterTest, ADiskThatIsFullFromTheStartFailsAtOnce) {
  const FileSizeLimit full(20);
  EXPECT_THAT(ErrorOf(path_, ErrorCode::kIo), HasSubstr("file too large"));
}

TEST_F(RecordingWriterTest, ADiskWithoutRoomForTheFooterLeavesAFileThatIsCut) {
  auto writer = Create(Lazy());
  const FileSizeLimit full(std::filesystem::file_size(path_) + 5);
  ASSERT_FALSE(writer->Close());
  EXPECT_NE(Open()->cut(), "");
}

}  // namespace
}  // namespace profd::recording
