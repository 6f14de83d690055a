#include "daemon/recording/recording_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "tests/support/recording_files.h"
#include "tests/support/temp_folder.h"

namespace profd::recording {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Puts a file together block by block, right or wrong.
class FileMaker {
 public:
  FileMaker() {
    const FileHeader header;
    Append(std::as_bytes(std::span(&header, 1)));
  }

  FileMaker& Info(std::uint32_t events_version = PROFD_EVENTS_VERSION) {
    RecordingInfo info;
    info.events_version = events_version;
    return Block({.kind = BlockKind::kInfo, .records = 1, .bytes = EncodeInfo(info)});
  }
  FileMaker& Events(const std::vector<std::string>& events) {
    RawBlock block;
    for (const std::string& event : events) AppendEvent(BytesOf(event), block);
    return Block(block);
  }
  FileMaker& Environment(const std::string& kind, const std::string& key,
                         const std::string& value) {
    RawBlock block{.kind = BlockKind::kEnvironment, .records = 0, .bytes = {}};
    AppendEnvironment(kind, key, value, block);
    return Block(block);
  }
  FileMaker& Footer() {
    return Block({.kind = BlockKind::kFooter, .records = 1, .bytes = EncodeTotals({.events = 3})});
  }
  FileMaker& Block(const RawBlock& block) {
    block_ends_.push_back(content_.size());
    Append(compressor_.Compress(block, next_++));
    return *this;
  }
  FileMaker& SkipNumber() {
    ++next_;
    return *this;
  }

  [[nodiscard]] const std::string& content() const { return content_; }
  // Where each block begins.
  [[nodiscard]] const std::vector<std::size_t>& begins() const { return block_ends_; }

 private:
  void Append(std::span<const std::byte> bytes) {
    content_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  std::string content_;
  std::vector<std::size_t> block_ends_;
  BlockCompressor compressor_{1};
  std::uint32_t next_ = 0;
};

FileMaker Whole() {
  FileMaker maker;
  maker.Info().Events({"one", "two"}).Environment("elf", "a", "early").Events({"three"});
  maker.Environment("elf", "b", "late").Footer();
  return maker;
}

class RecordingReaderTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<RecordingReader>> Open(const std::string& content,
                                                const ReaderLimits& limits = {}) {
    WriteFile(path_, content);
    return RecordingReader::Open(path_, limits);
  }
  // "byte N: what", without the name of the file.
  std::string ErrorOf(const std::string& content, const ReaderLimits& limits = {}) {
    const auto reader = Open(content, limits);
    if (!reader) return reader.error().message.substr(path_.size() + 2);
    std::string error = "none";
    EventsOf(**reader, &error);
    return error == "none" ? error : error.substr(path_.size() + 2);
  }

  TempFolder folder_;
  std::string path_ = folder_.Path("recording");
};

TEST_F(RecordingReaderTest, EnvironmentIsThereBeforeTheFirstEvent) {
  auto reader = Open(Whole().content());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_THAT(EnvironmentOf(**reader, "elf"), ElementsAre(Pair("a", "early"), Pair("b", "late")));
  EXPECT_THAT(EventsOf(**reader), ElementsAre("one", "two", "three"));
  EXPECT_EQ((*reader)->totals()->events, 3u);
  // The end stays the end.
  EXPECT_THAT(EventsOf(**reader), SizeIs(0));
}

TEST_F(RecordingReaderTest, CutAnywhereItIsReadUpToTheLastWholeBlock) {
  const FileMaker maker = Whole();
  const std::string& content = maker.content();
  const auto& begins = maker.begins();
  for (std::size_t length = 0; length < content.size(); ++length) {
    SCOPED_TRACE(length);
    auto reader = Open(content.substr(0, length));
    if (length < begins[1]) {
      ASSERT_FALSE(reader);
      EXPECT_EQ(reader.error().code, ErrorCode::kCorrupt);
      continue;
    }
    ASSERT_TRUE(reader) << reader.error().message;
    std::size_t end = begins[1];
    for (const std::size_t begin : begins) {
      if (begin <= length) end = begin;
    }
    EXPECT_THAT((*reader)->cut(), EndsWith(": cut short at byte " + std::to_string(end) + " of " +
                                           std::to_string(length) + ", without a footer"));
    EXPECT_FALSE((*reader)->totals());
    std::string error;
    const EventTexts events = EventsOf(**reader, &error);
    EXPECT_EQ(error, "");
    const std::size_t expected = length < begins[2] ? 0 : length < begins[4] ? 2 : 3;
    EXPECT_EQ(events.size(), expected);
  }
}

// One bit of each byte; block_test changes every bit of a block.
TEST_F(RecordingReaderTest, AnyChangedByteIsAnErrorOrDoesNotMatter) {
  const std::string content = Whole().content();
  std::size_t errors = 0;
  for (std::size_t at = 0; at < content.size(); ++at) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    auto reader = Open(damaged);
    if (!reader) {
      ++errors;
      EXPECT_THAT(reader.error().message, HasSubstr(path_ + ": "));
      continue;
    }
    std::string error;
    const EventTexts events = EventsOf(**reader, &error);
    if (!error.empty()) {
      ++errors;
      EXPECT_THAT(error, HasSubstr(path_ + ": byte "));
      continue;
    }
    EXPECT_THAT(events, ElementsAre("one", "two", "three")) << "byte " << at;
    EXPECT_THAT(EnvironmentOf(**reader, "elf"), ElementsAre(Pair("a", "early"), Pair("b", "late")))
        << "byte " << at;
  }
  EXPECT_GT(errors, content.size() * 7 / 8);
}

TEST_F(RecordingReaderTest, BlocksThatNeverReachedTheDiskAreACut) {
  const FileMaker maker = Whole();
  auto reader = Open(maker.content().substr(0, maker.begins()[3]) + std::string(200'000, '\0'));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_THAT((*reader)->cut(),
              HasSubstr("cut short at byte " + std::to_string(maker.begins()[3]) + " of"));
  EXPECT_THAT(EventsOf(**reader), ElementsAre("one", "two"));
}

TEST_F(RecordingReaderTest, WhatIsNoRecording) {
  EXPECT_EQ(ErrorOf(""), "too short for a recording");
  EXPECT_EQ(ErrorOf("PROFDREC"), "too short for a recording");
  EXPECT_EQ(ErrorOf(std::string(100, 'x')), "not a recording of profd");
  EXPECT_EQ(ErrorOf(FileMaker().content()), "byte 16: cut before the first block ends");
  const auto none = RecordingReader::Open(folder_.Path("none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(RecordingReader::Open(folder_.Path("")));
}

TEST_F(RecordingReaderTest, OtherVersionsAreRefused) {
  std::string format = Whole().content();
  format[8] = 2;
  EXPECT_EQ(ErrorOf(format), "recording format 2, this profd reads 1");
  EXPECT_EQ(ErrorOf(FileMaker().Info(PROFD_EVENTS_VERSION + 1).content()),
            "events of version " + std::to_string(PROFD_EVENTS_VERSION + 1) +
                ", this profd reads 2 to " + std::to_string(PROFD_EVENTS_VERSION));
}

TEST_F(RecordingReaderTest, BlocksInTheWrongPlace) {
  EXPECT_EQ(ErrorOf(FileMaker().Events({"one"}).content()),
            "byte 16: only the first block may, and must, describe the recording");
  FileMaker twice;
  twice.Info().Info();
  EXPECT_EQ(ErrorOf(twice.content()),
            "byte " + std::to_string(twice.begins()[1]) +
                ": only the first block may, and must, describe the recording");
  FileMaker after;
  after.Info().Footer().Events({"one"});
  EXPECT_EQ(ErrorOf(after.content()),
            "byte " + std::to_string(after.begins()[2]) + ": there are bytes after the footer");
  FileMaker missing;
  missing.Info().SkipNumber().Events({"one"});
  EXPECT_EQ(ErrorOf(missing.content()),
            "byte " + std::to_string(missing.begins()[1]) + ": a block is missing before this one");
  FileMaker garbage;
  garbage.Info();
  EXPECT_EQ(ErrorOf(garbage.content() + std::string(32, 'x')),
            "byte " + std::to_string(garbage.content().size()) + ": no block begins here");
}

TEST_F(RecordingReaderTest, CountsOfRecordsThatLie) {
  for (const auto kind : {BlockKind::kEvents, BlockKind::kEnvironment}) {
    RawBlock block{.kind = kind, .records = 0, .bytes = {}};
    if (kind == BlockKind::kEvents) {
      AppendEvent(BytesOf("one"), block);
    } else {
      AppendEnvironment("elf", "a", "b", block);
    }
    block.records = 0xffffffff;
    const std::string more = ErrorOf(FileMaker().Info().Block(block).content());
    EXPECT_THAT(more, EndsWith(kind == BlockKind::kEvents ? ": an event is cut"
                                                          : ": an environment record is cut"));
    block.records = 0;
    const std::string fewer = ErrorOf(FileMaker().Info().Block(block).content());
    EXPECT_THAT(fewer, HasSubstr(": the block holds more than its "));
  }
}

TEST_F(RecordingReaderTest, TheEnvironmentIsBounded) {
  FileMaker maker;
  maker.Info();
  for (int i = 0; i < 100; ++i) maker.Environment("elf", "a", std::string(100'000, 'x'));
  EXPECT_EQ(ErrorOf(maker.content()), "none");
  EXPECT_THAT(ErrorOf(maker.content(), {.environment_bytes = 5'000'000}),
              EndsWith("the environment has more than 5000000 bytes"));
}

TEST_F(RecordingReaderTest, AFileThatShrinksUnderTheReader) {
  const FileMaker maker = Whole();
  auto reader = Open(maker.content());
  ASSERT_TRUE(reader);
  std::filesystem::resize_file(path_, maker.begins()[2] + 3);
  std::string error;
  EXPECT_THAT(EventsOf(**reader, &error), ElementsAre("one", "two"));
  EXPECT_THAT(error, EndsWith("the file has become shorter"));
}

}  // namespace
}  // namespace profd::recording
