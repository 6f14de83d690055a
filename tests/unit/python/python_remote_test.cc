#include "daemon/python/feed/python_remote.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "daemon/reader/message.h"
#include "tests/support/direct_reader.h"

namespace profd::python {
namespace {

using reader::Packer;

constexpr std::uint32_t kVersion = 0x030c01f0;
constexpr ProcessKey kProcess{1, 2};

Candidate SomeCandidate() {
  auto file = std::make_shared<RuntimeFile>();
  file->segments.push_back({.file_offset = 0, .vaddr = 0, .bytes = 0x1000});
  file->version = kVersion;
  return {.file = file, .mapping = {.begin = 0x400000, .end = 0x401000, .file_offset = 0}};
}

struct FileFields {
  std::uint64_t mapping_end = 0x401000;
  std::uint64_t eval_end = 20;
  std::string refused{};
  std::uint32_t segments = 1;
};

std::string FoundFile(const FileFields& file, std::uint32_t count = 1) {
  Packer answer;
  answer.Number(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    answer.Number(std::uint64_t{0x400000}).Number(file.mapping_end).Number(std::uint64_t{0});
    answer.Number(std::uint64_t{1}).Number(std::uint64_t{10}).Number(file.eval_end);
    answer.Number(kVersion).Text(file.refused).Number(file.segments);
    for (std::uint32_t n = 0; n < 3 * file.segments; ++n) answer.Number(std::uint64_t{n});
  }
  return answer.Take();
}

TEST(PythonClient, FilesThatMakeNoSenseAreRefused) {
  test::LyingReaders liar;
  PythonClient client(liar);
  const auto finds = [&](std::string answer) {
    liar.answers = {std::move(answer)};
    return client.Find(kProcess, 0, {}, {}).ok();
  };
  EXPECT_TRUE(finds(FoundFile({})));
  EXPECT_TRUE(finds(FoundFile({}, 8)));
  EXPECT_TRUE(finds(FoundFile({}, 0)));
  EXPECT_FALSE(finds(FoundFile({}, 9))) << "more than a process may have";
  EXPECT_FALSE(finds(FoundFile({.mapping_end = 0x400000})));
  EXPECT_FALSE(finds(FoundFile({.mapping_end = ~std::uint64_t{0}})));
  EXPECT_FALSE(finds(FoundFile({.eval_end = 9})));
  EXPECT_FALSE(finds(FoundFile({.refused = "\x1b[2J"})));
  EXPECT_FALSE(finds(FoundFile({.refused = std::string(300, 'x')})));
  EXPECT_FALSE(finds(FoundFile({.segments = 17})));
  EXPECT_FALSE(finds(FoundFile({}) + "x"));
  for (const char byte : {'\0', '\1', '\xff'}) EXPECT_FALSE(finds(std::string(1'001, byte)));
}

std::string State(std::uint32_t version, const std::vector<std::uint64_t>& offsets,
                  std::uint64_t gil) {
  Packer answer;
  answer.Number(true).Number(version).Number(static_cast<std::uint32_t>(offsets.size()));
  for (const std::uint64_t word : offsets) answer.Number(word);
  return answer.Number(std::int64_t{8}).Number(0u).Number(true).Number(gil).Take();
}

TEST(PythonClient, TheLayoutIsMadeOfTheVersionAndNotBelieved) {
  test::LyingReaders liar;
  PythonClient client(liar);
  const auto attach = [&](std::string answer) {
    liar.answers = {std::move(answer)};
    return client.Attach(kProcess, 0, SomeCandidate(), {});
  };
  const auto good = attach(State(kVersion, {}, 0x1000));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->layout.process.frame_bytes, LayoutOf(kVersion)->process.frame_bytes);
  EXPECT_EQ(good->layout.process.slot, 8);
  EXPECT_EQ(attach(State(0x036300f0, {}, 0)).error().code, ErrorCode::kUnsupported);
  std::vector<std::uint64_t> offsets(kDebugOffsetWords, ~std::uint64_t{0});
  EXPECT_EQ(attach(State(0x030d01f0, offsets, 0)).error().code, ErrorCode::kUnsupported);
  // These are no answers.
  offsets.pop_back();
  for (const std::string& answer :
       {State(0x030d01f0, offsets, 0), State(kVersion, {}, ~std::uint64_t{0}),
        State(kVersion, {}, 0) + "x", std::string(), std::string(100, '\xff'),
        Packer().Number(false).Number(ErrorCode::kInternal).Text("x").Take(),
        Packer().Number(false).Number(ErrorCode::kUnavailable).Text("\n").Take()}) {
    const auto attached = attach(answer);
    ASSERT_FALSE(attached);
    EXPECT_EQ(attached.error().message, kNoAnswer);
  }
  EXPECT_EQ(attach(Packer().Number(false).Number(ErrorCode::kUnavailable).Text("why").Take())
                .error()
                .message,
            "why");
}

std::string Code(std::size_t name_bytes, std::size_t lines_bytes) {
  return Packer()
      .Number(7u)
      .Number(true)
      .Number(std::int32_t{1})
      .Text(std::string(name_bytes, 'x'))
      .Text("")
      .Text("file")
      .Text(std::string(lines_bytes, 'x'))
      .Take();
}

TEST(PythonClient, CodeObjectsThatMakeNoSenseAreRefused) {
  test::LyingReaders liar;
  PythonClient client(liar);
  const std::array<CodeQuery, 2> queries{};
  const auto reads = [&](std::uint32_t count, const std::string& codes) {
    liar.answers = {Packer().Number(count).Take() + codes};
    return client.Read(kProcess, 0, {}, queries, {}).ok();
  };
  EXPECT_TRUE(reads(1, Code(5, 5)));
  EXPECT_TRUE(reads(2, Code(5, 5) + Code(5, 5)));
  EXPECT_FALSE(reads(3, Code(5, 5) + Code(5, 5) + Code(5, 5))) << "more than were asked for";
  EXPECT_FALSE(reads(0, "")) << "it would be asked for ever";
  EXPECT_FALSE(reads(2, Code(5, 5)));
  EXPECT_FALSE(reads(1, Code(5, 5) + "x"));
  EXPECT_FALSE(reads(1, Code(CodeReader::kMaxNameBytes + 1, 5)));
  EXPECT_FALSE(reads(1, Code(5, CodeReader::kMaxLinesBytes + 1)));
  EXPECT_FALSE(reads(0xffffffff, ""));
}

// A file that hangs must not keep the memory from being read.
TEST(PythonClient, FilesAndMemoryOfAProcessAreTwoTargets) {
  test::LyingReaders liar;
  PythonClient client(liar);
  (void)client.Find(kProcess, 1, {}, {});
  (void)client.Find(kProcess, 2, {}, {});
  (void)client.Attach(kProcess, 1, SomeCandidate(), {});
  (void)client.Read(kProcess, 1, {}, std::array<CodeQuery, 1>{}, {});
  (void)client.Read({1, 3}, 1, {}, std::array<CodeQuery, 1>{}, {});
  ASSERT_EQ(liar.targets.size(), 5u);
  EXPECT_EQ(liar.targets[0], liar.targets[1]);
  EXPECT_NE(liar.targets[1], liar.targets[2]);
  EXPECT_EQ(liar.targets[2], liar.targets[3]);
  EXPECT_NE(liar.targets[3], liar.targets[4]) << "another process with its pid";
}

TEST(PythonParser, RequestsThatMakeNoSenseEnd) {
  PythonParser parser;
  reader::Opener opener;
  std::vector<UniqueFd> none;
  for (const char first : {'\0', '\1', '\2', '\3', '\4', '\xff'}) {
    for (const char rest : {'\0', '\1', '\xff'}) {
      for (const std::size_t bytes : {0u, 8u, 100u})
        (void)parser.Answer(std::string(1, first) + std::string(bytes, rest), {opener, none});
    }
  }
}

TEST(PythonParser, AProcessThatIsGoneHasNoInterpreterAndNoCode) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  test::DirectReaders readers(std::make_unique<PythonParser>());
  PythonClient client(readers);
  const ProcessKey gone{static_cast<std::uint32_t>(child), 0};
  const auto found = client.Find(gone, 0, {}, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->empty());
  EXPECT_EQ(client.Attach(gone, 0, SomeCandidate(), {}).error().code, ErrorCode::kNotFound);
  const auto codes = client.Read(gone, 0, std::array{RuntimeVersion{kVersion, {}}},
                                 std::array{CodeQuery{.address = 8, .validator = 7, .runtime = 0},
                                            CodeQuery{.address = 8, .validator = 7, .runtime = 3}},
                                 {});
  ASSERT_TRUE(codes) << codes.error().message;
  ASSERT_EQ(codes->size(), 2u);
  EXPECT_FALSE(codes->front().text);
}

}  // namespace
}  // namespace profd::python
