#include "daemon/unwind/service/cfi_remote.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/unique_fd.h"
#include "daemon/elf/sources/object_contents.h"
#include "daemon/reader/answer_cache.h"
#include "daemon/reader/message.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/reader/zygote.h"
#include "daemon/unwind/tables/chunk_builder.h"
#include "tests/support/direct_reader.h"
#include "tests/support/temp_folder.h"

namespace profd::unwind {
namespace {

Result<FrameRows> ReadChunk(CfiClient& client, const FrameFile& file, std::uint64_t begin,
                            std::chrono::milliseconds patience) {
  auto chunks = client.ReadChunks(file, {&begin, 1}, /*requested=*/true, patience);
  return chunks ? Result<FrameRows>(std::move(chunks->front())) : chunks.error();
}

FileMapping MappingOf(const void* address) {
  FileMapping mapping;
  const auto maps = ProcFs().Read("self/maps");
  ParseMaps(*maps, [&](MapsLine&& line) {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    if (at >= line.start && at < line.end)
      mapping = {static_cast<std::uint32_t>(::getpid()), line.start, line.end};
  });
  return mapping;
}

std::string PathOf(const FileMapping& mapping) {
  std::string path;
  const auto maps = ProcFs().Read("self/maps");
  ParseMaps(*maps, [&](MapsLine&& line) {
    if (line.start == mapping.begin) path = line.path;
  });
  return path;
}

TEST(CfiRemote, RowsAreThoseThatAReaderInThisProcessFinds) {
  test::DirectReaders readers(std::make_unique<CfiParser>());
  CfiClient client(readers);
  const auto file = client.Open(MappingOf(reinterpret_cast<const void*>(&std::qsort)), {});
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->has_tables()) << file->missing;

  auto opened = reader::Opener().Open({.what = reader::OpenRequest::What::kMapped,
                                       .pid = file->mapping.pid,
                                       .begin = file->mapping.begin,
                                       .end = file->mapping.end});
  ASSERT_TRUE(opened) << opened.error().message;
  auto direct = CfiReader::Open(std::move(opened->fd), opened->bytes);
  ASSERT_TRUE(direct);
  EXPECT_EQ(file->text, direct->text());
  EXPECT_EQ(file->small, direct->small());

  const std::uint64_t begin = file->text.front().begin / kChunkBytes * kChunkBytes;
  const auto chunk = ReadChunk(client, *file, begin, {});
  ASSERT_TRUE(chunk) << chunk.error().message;
  const auto rows = direct->ReadRows(begin, begin + kChunkBytes).rows;
  ASSERT_EQ(chunk->part.rows.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(chunk->part.rows[i].offset, rows[i].offset);
}

// What the next daemon finds on disk is what this one has read, and costs no request.
TEST(CfiRemote, RowsOfAnEarlierDaemonAreTheSame) {
  const test::TempFolder folder;
  const reader::AnswerCacheSettings settings{folder.Path("files.db"), 64u << 20, "profd", "boot"};
  test::DirectReaders readers(std::make_unique<CfiParser>());
  const auto file =
      CfiClient(readers).Open(MappingOf(reinterpret_cast<const void*>(&std::qsort)), {});
  ASSERT_TRUE(file) << file.error().message;
  const std::uint64_t begin = file->text.front().begin / kChunkBytes * kChunkBytes;
  const std::vector<std::uint64_t> begins{begin, begin + kChunkBytes, begin + 2 * kChunkBytes};
  std::vector<FrameRows> read;
  {
    reader::AnswerCache cache(settings);
    auto first = CfiClient(readers, &cache).ReadChunks(*file, {begins.data(), 2}, true, {});
    ASSERT_TRUE(first) << first.error().message;
    read = *std::move(first);
  }
  reader::AnswerCache cache(settings);
  test::LateReaders silent;
  const auto kept = CfiClient(silent, &cache).ReadChunks(*file, {begins.data(), 2}, true, {});
  ASSERT_TRUE(kept) << kept.error().message;
  for (std::size_t chunk = 0; chunk < 2; ++chunk) {
    ASSERT_EQ((*kept)[chunk].part.rows.size(), read[chunk].part.rows.size());
    for (std::size_t row = 0; row < read[chunk].part.rows.size(); ++row) {
      EXPECT_EQ((*kept)[chunk].part.rows[row].offset, read[chunk].part.rows[row].offset);
      EXPECT_TRUE(Same((*kept)[chunk].part.rows[row].rule, read[chunk].part.rows[row].rule));
    }
  }
  // What is not known is requested, in its place.
  EXPECT_FALSE(CfiClient(silent, &cache).ReadChunks(*file, begins, true, {}));
  const auto all = CfiClient(readers, &cache).ReadChunks(*file, begins, true, {});
  const auto third = ReadChunk(*std::make_unique<CfiClient>(readers), *file, begins[2], {});
  ASSERT_TRUE(all && third);
  EXPECT_EQ(all->at(2).part.rows.size(), third->part.rows.size());
  FrameFile other = *file;
  ++other.stamp.changed_ns;
  EXPECT_FALSE(CfiClient(silent, &cache).ReadChunks(other, {begins.data(), 1}, true, {}));
}

// That libc has its functions.
void ExpectNamesOf(const Result<std::string>& symbols) {
  ASSERT_TRUE(symbols) << symbols.error().message;
  const auto contents = elf::UnpackContents(*symbols);
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_NE(contents->symbols.names().find("qsort"), std::string_view::npos);
  EXPECT_FALSE(contents->info.segments.empty());
}

TEST(CfiRemote, SymbolsAreThoseOfTheStamp) {
  test::DirectReaders readers(std::make_unique<CfiParser>());
  CfiClient client(readers);
  const std::uint64_t before = SystemClock().MonotonicNs();
  auto file = client.Open(MappingOf(reinterpret_cast<const void*>(&std::qsort)), {});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_GE(file->opened_ns, before);
  EXPECT_LE(file->opened_ns, SystemClock().MonotonicNs());
  ExpectNamesOf(client.ReadSymbols(*file, {}));
  ++file->stamp.modified_ns;
  EXPECT_EQ(client.ReadSymbols(*file, {}).error().code, ErrorCode::kNotFound);
}

// By readers as profd has them: with no right, and few system calls.
TEST(CfiRemote, ASandboxedParserReadsTheVdsoAndFiles) {
  constexpr std::chrono::milliseconds kPatience{60'000};
  auto zygote =
      reader::Zygote::Start({{"test-rules", {}, [] { return std::make_unique<CfiParser>(); }}});
  ASSERT_TRUE(zygote) << zygote.error().message;
  reader::ReaderPool readers(**zygote, 0, {.deadline = kPatience});
  CfiClient client(readers);

  const auto vdso = client.Open({}, kPatience);
  ASSERT_TRUE(vdso) << vdso.error().message;
  EXPECT_EQ(vdso->key.inode, PROFD_VDSO_INODE);
  ASSERT_TRUE(vdso->has_tables()) << vdso->missing;
  const auto rows = ReadChunk(client, *vdso, 0, kPatience);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_FALSE(rows->part.rows.empty());

  const auto file = client.Open(MappingOf(reinterpret_cast<const void*>(&std::qsort)), kPatience);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->has_tables()) << file->missing;
  std::vector<std::uint64_t> begins;
  for (std::uint64_t begin = file->text.front().begin / kChunkBytes * kChunkBytes;
       begin < file->text.back().end && begins.size() < CfiClient::kMaxChunks; begin += kChunkBytes)
    begins.push_back(begin);
  const auto together = client.ReadChunks(*file, begins, /*requested=*/true, kPatience);
  ASSERT_TRUE(together) << together.error().message;
  ASSERT_EQ(together->size(), begins.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto alone = ReadChunk(client, *file, begins[i], kPatience);
    ASSERT_TRUE(alone) << alone.error().message;
    ASSERT_EQ(alone->part.rows.size(), (*together)[i].part.rows.size());
    for (std::size_t row = 0; row < alone->part.rows.size(); ++row)
      ASSERT_EQ(alone->part.rows[row].offset, (*together)[i].part.rows[row].offset);
  }
  ExpectNamesOf(client.ReadSymbols(*file, kPatience));
  EXPECT_EQ(readers.counters().ended.value(), 0u);
}

// Every process that maps a file has it opened.
TEST(CfiRemote, AFileIsOpenOnceHoweverOftenItIsMapped) {
  auto made = std::make_unique<CfiParser>();
  const CfiParser& parser = *made;
  test::DirectReaders readers(std::move(made));
  CfiClient client(readers);
  const auto mapping = MappingOf(reinterpret_cast<const void*>(&std::qsort));
  const auto first = client.Open(mapping, {});
  ASSERT_TRUE(first) << first.error().message;
  const std::uint64_t bytes = parser.bytes();
  EXPECT_GT(bytes, 0u);
  const UniqueFd libc(::open(PathOf(mapping).c_str(), O_RDONLY | O_CLOEXEC));
  constexpr std::size_t kPage = 4096;
  void* again = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE, libc.get(), 0);
  ASSERT_NE(again, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uint64_t>(again);
  const auto second = client.Open({mapping.pid, begin, begin + kPage}, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(parser.bytes(), bytes);
  EXPECT_EQ(second->stamp, first->stamp);
  EXPECT_GT(second->opened_ns, first->opened_ns);
  EXPECT_EQ(second->text, first->text);
  ::munmap(again, kPage);
  const std::uint64_t at = first->text.front().begin / kChunkBytes * kChunkBytes;
  EXPECT_TRUE(ReadChunk(client, *first, at, {}));
}

TEST(CfiRemote, AMappingThatIsGoneIsNotFound) {
  test::DirectReaders readers(std::make_unique<CfiParser>());
  auto mapping = MappingOf(reinterpret_cast<const void*>(&std::qsort));
  mapping.end += 4096;
  const auto file = CfiClient(readers).Open(mapping, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
}

TEST(CfiRemote, ADataMappingIsNoReasonToReadAFile) {
  static const int kConstant = 7;  // in .rodata: mapped, and not executable
  test::DirectReaders readers(std::make_unique<CfiParser>());
  EXPECT_FALSE(CfiClient(readers).Open(MappingOf(&kConstant), {}));
}

TEST(CfiRemote, AnswersThatMakeNoSenseAreRefused) {
  test::LyingReaders liar;
  CfiClient client(liar);
  for (const std::string& answer :
       {std::string(), std::string("x"), std::string(1000, '\xff'), std::string(1000, '\0')}) {
    liar.answers = {answer};
    EXPECT_FALSE(client.Open({1, 2, 3}, {})) << answer.size();
    EXPECT_FALSE(ReadChunk(client, {}, 0, {})) << answer.size();
  }
  const auto rows = [](std::uint64_t first, std::uint64_t second) {
    return reader::Packer()
        .Number(std::uint64_t{0})  // damaged entries
        .Number(std::uint64_t{0})  // bytes of code, with rules and without
        .Number(std::uint64_t{0})
        .Number(false)  // deferred
        .Plain(RefusedFunctions{})
        .Number(std::uint32_t{2})
        .Plain(Row{first, {}})
        .Plain(Row{second, {}})
        .Take();
  };
  liar.answers = {rows(kChunkBytes, kChunkBytes + 1)};
  EXPECT_TRUE(ReadChunk(client, {}, kChunkBytes, {}));
  for (const auto& [first, second] :
       {std::pair{kChunkBytes + 1, kChunkBytes}, std::pair{kChunkBytes, kChunkBytes},
        std::pair{std::uint64_t{0}, kChunkBytes}, std::pair{kChunkBytes, 2 * kChunkBytes}}) {
    liar.answers = {rows(first, second)};
    EXPECT_FALSE(ReadChunk(client, {}, kChunkBytes, {})) << first << ' ' << second;
  }
}

// On overlayfs the kernel's inode is another; what else is known must be the same.
TEST(CfiRemote, FitsByInodeButOnOverlays) {
  FrameFile file;
  file.stamp = {.device = 1, .inode = 2, .bytes = 3, .modified_ns = 4, .changed_ns = 5};
  profd_file_key right{};
  right.inode = 2;
  right.size = 3;
  right.mtime_ns = 4;
  profd_file_key inode = right;
  ++inode.inode;
  profd_file_key size = right;
  ++size.size;
  profd_file_key time = right;
  ++time.mtime_ns;
  EXPECT_TRUE(Fits(file, right));
  EXPECT_FALSE(Fits(file, inode));
  file.overlay = true;
  EXPECT_TRUE(Fits(file, inode));
  EXPECT_FALSE(Fits(file, size));
  EXPECT_FALSE(Fits(file, time));
}

}  // namespace
}  // namespace profd::unwind
