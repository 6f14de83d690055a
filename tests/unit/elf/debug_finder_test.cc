// Where separate debug files are found, and which ones are refused.
#include "daemon/elf/debug/debug_finder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <span>
#include <string>

#include "tests/support/direct_objects.h"
#include "tests/support/eventually.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_folder.h"

namespace profd::elf {
namespace {

using ::testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The fixture split as packages are: /usr/lib/fixture.so without symbols, and its debug file, in a
// root that process 7 has.
class DebugFinderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (profd::testing::Run({"sh", "-c", "objcopy --version"}).exit_code != 0)
      GTEST_SKIP() << "needs objcopy (binutils)";
    tree_.Write("root/usr/lib/keep", "");
    Shell("objcopy --only-keep-debug '" PROFD_INLINES_DWARF5 "' fixture.debug");
    Shell("cp '" PROFD_INLINES_DWARF5 "' root/usr/lib/fixture.so");
    Shell("strip root/usr/lib/fixture.so");
    tree_.Link("proc/7/root", tree_.Path("root"));
    tree_.Write("proc/7/status", "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t0\n");
    Inspect();
  }

  void Shell(const std::string& command) {
    const auto outcome =
        profd::testing::Run({"sh", "-c", "cd '" + tree_.path().string() + "' && " + command});
    ASSERT_EQ(outcome.exit_code, 0) << command << ": " << outcome.err;
  }
  void Link() {
    Shell("objcopy --add-gnu-debuglink=fixture.debug root/usr/lib/fixture.so");
    Inspect();
  }
  void Inspect() {
    const std::string path = tree_.Path("root/usr/lib/fixture.so");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    id_.path = "/usr/lib/fixture.so";
    id_.pid = 7;
    id_.inode = status.st_ino;
    id_.device_major = major(status.st_dev);
    id_.device_minor = minor(status.st_dev);
    const std::string bytes = ReadAll(path);
    auto contents = ReadElfContents(MemoryBytes(std::as_bytes(std::span(bytes))));
    ASSERT_TRUE(contents) << contents.error().message;
    contents_ = std::move(contents).value();
  }
  [[nodiscard]] std::string ById() const { return BuildIdPath(contents_.info.build_id); }
  [[nodiscard]] Result<FoundDebugFile> Find() const {
    reader::Opener opener(ProcFs(tree_.Path("proc")));
    return DebugFinder(opener).Find(id_, contents_.info.build_id, contents_.links, {});
  }

  test::TempFolder tree_;
  ObjectId id_;
  ElfContents contents_;
};

TEST_F(DebugFinderTest, ByBuildIdInTheRootOfTheTarget) {
  Shell("mkdir -p root$(dirname " + ById() + ") && cp fixture.debug root" + ById());
  const auto found = Find();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->path, ById());
  EXPECT_TRUE(found->contents.links.has_dwarf);
}

TEST_F(DebugFinderTest, ByLinkInEachOfItsFolders) {
  Link();
  for (const std::string folder : {"/usr/lib", "/usr/lib/.debug", "/usr/lib/debug/usr/lib"}) {
    Shell("mkdir -p root" + folder + " && cp fixture.debug root" + folder + "/");
    const auto found = Find();
    ASSERT_TRUE(found) << folder << ": " << found.error().message;
    EXPECT_EQ(found->path, folder + "/fixture.debug");
    Shell("rm root" + folder + "/fixture.debug");
  }
}

TEST_F(DebugFinderTest, SaysWhatWasTried) {
  Link();
  const auto found = Find();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr(ById() + ": none"));
  EXPECT_THAT(found.error().message, HasSubstr("/usr/lib/.debug/fixture.debug: none"));
}

TEST_F(DebugFinderTest, AnotherBuildIsRefused) {
  Shell("mkdir -p root$(dirname " + ById() + ") && cp '" PROFD_INLINES_DWARF4 "' root" + ById());
  const auto found = Find();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("of another build"));
}

TEST_F(DebugFinderTest, WithoutBuildIdsTheChecksumDecides) {
  Shell("objcopy --remove-section=.note.gnu.build-id fixture.debug fixture.debug");
  Link();
  Shell("objcopy --remove-section=.note.gnu.build-id root/usr/lib/fixture.so");
  Inspect();
  Shell("cp fixture.debug root/usr/lib/");
  contents_.info.build_id.clear();
  ASSERT_TRUE(Find());
  Shell("printf x >> root/usr/lib/fixture.debug");
  const auto found = Find();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("checksum"));
}

TEST_F(DebugFinderTest, LinksStayInsideTheRoot) {
  Shell("mkdir -p root/elsewhere root$(dirname " + ById() + ")");
  Shell("cp fixture.debug root/elsewhere/real && ln -s /elsewhere/real root" + ById());
  const auto found = Find();
  ASSERT_TRUE(found) << found.error().message;
  Shell("rm root/elsewhere/real && cp fixture.debug real");
  Shell("ln -sf '" + tree_.Path("real") + "' root" + ById());
  EXPECT_FALSE(Find()) << "an absolute link leads out of the root";
}

TEST_F(DebugFinderTest, WhatLiesBesideOneNameOfAFileDoesNotShowUnderAnother) {
  Link();
  Shell("mkdir -p root/secret/.debug && cp fixture.debug root/secret/.debug/");
  Shell("ln root/usr/lib/fixture.so root/secret/fixture.so");
  test::DirectObjects source(ProcFs(tree_.Path("proc")), test::WithDebugFiles());
  ObjectId secret = id_;
  secret.path = "/secret/fixture.so";
  const auto first = source.Load(secret);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->info().debug_file, "/secret/.debug/fixture.debug");
  const auto other = source.Load(id_);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ((*other)->info().symbols_from, SymbolOrigin::kDynsym);
  const ObjectInfo& info = (*other)->info();
  for (const auto& text :
       {info.symbols_file, info.debug_file, info.symbols_missing, info.debug_missing})
    EXPECT_THAT(text, ::testing::Not(HasSubstr("/secret")));
  EXPECT_EQ(*source.Load(secret), *first) << "its own users share it";
}

TEST_F(DebugFinderTest, WhatAFileHasByItselfIsSharedByItsNamesAndNamesNone) {
  Shell("mkdir -p root/secret && cp '" PROFD_INLINES_DWARF5 "' root/secret/whole.so");
  Shell("ln root/secret/whole.so root/usr/lib/whole.so");
  test::DirectObjects source(ProcFs(tree_.Path("proc")), test::WithDebugFiles());
  ObjectId secret = id_;
  struct stat status {};
  ASSERT_EQ(::stat(tree_.Path("root/secret/whole.so").c_str(), &status), 0);
  secret.inode = status.st_ino;
  secret.path = "/secret/whole.so";
  ObjectId open = secret;
  open.path = "/usr/lib/whole.so";
  const auto first = source.Load(secret);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->info().debug_file, kOwnDebugInfo);
  EXPECT_EQ(*source.Load(open), *first);
}

TEST_F(DebugFinderTest, TheObjectHasSymbolsAndInlinedFunctionsOfIt) {
  Shell("mkdir -p root$(dirname " + ById() + ") && cp fixture.debug root" + ById());
  test::DirectObjects source(ProcFs(tree_.Path("proc")), test::WithDebugFiles());
  const auto object = source.Load(id_);
  ASSERT_TRUE(object) << object.error().message;
  const ObjectInfo& info = (*object)->info();
  EXPECT_EQ(info.symbols_from, SymbolOrigin::kSymtab);
  EXPECT_EQ(info.symbols_file, ById());
  EXPECT_EQ(info.debug_file, ById());
  EXPECT_EQ(info.debug_missing, "");
  std::size_t inlined = 0;
  std::size_t functions = 0;
  for (const LoadSegment& segment : info.segments) {
    if (!segment.executable) continue;
    for (std::uint64_t at = 0; at < segment.file_bytes; at += 3) {
      const auto symbol = (*object)->FindSymbol(segment.vaddr + at);
      if (symbol && symbol->name.find("InlinesWork") != std::string_view::npos) ++functions;
      if ((*object)->FindSource(segment.vaddr + at).size() > 2) ++inlined;
    }
  }
  EXPECT_GT(functions, 10u);
  EXPECT_GT(inlined, 50u);
}

// A server of the machine's own, which has the debug file.
TEST_F(DebugFinderTest, LaterLookUpsProfitFromDebuginfod) {
  const std::string folder = "served/buildid/" + contents_.info.build_id;
  Shell("mkdir -p " + folder + " && cp fixture.debug " + folder + "/debuginfo");
  auto server = profd::testing::Subprocess::Start(
      {"python3", "-u", "-c",
       "import http.server, functools, sys\n"
       "handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])\n"
       "server = http.server.HTTPServer(('127.0.0.1', 0), handler)\n"
       "print(server.server_port)\n"
       "server.serve_forever()\n",
       tree_.Path("served")});
  if (!server) GTEST_SKIP() << "needs python3";
  const auto port = server->ReadLine();
  ASSERT_TRUE(port);
  const std::string url = "http://127.0.0.1:" + std::to_string(std::stoi(*port));
  ::setenv("DEBUGINFOD_URLS", url.c_str(), 1);
  ::setenv("DEBUGINFOD_CACHE_PATH", tree_.Path("cache").c_str(), 1);
  const SystemClock clock;
  budget::Shares shares(PROFD_SHARE_DEBUG_FILES, DebugDownload::kShareOfUser, clock);
  test::DirectObjects source(ProcFs(tree_.Path("proc")), test::WithDebugFiles(), &shares);
  {
    const auto first = source.Load(id_);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_THAT((*first)->info().debug_missing,
                HasSubstr("the download from debuginfod is running"));
    EXPECT_THAT((*first)->info().symbols_missing,
                HasSubstr("the download from debuginfod is running"));
  }
  ASSERT_TRUE(test::Eventually([&] { return source.improvements() != 0; }));
  const auto later = source.Load(id_);
  ASSERT_TRUE(later);
  EXPECT_EQ((*later)->info().symbols_missing, "");
  EXPECT_THAT((*later)->info().debug_file, HasSubstr(tree_.Path("cache")));
  ::unsetenv("DEBUGINFOD_URLS");
  ::unsetenv("DEBUGINFOD_CACHE_PATH");
}

TEST(DebugDownloadTest, NoServerIsNamedByNothing) {
  ::unsetenv("DEBUGINFOD_URLS");
  EXPECT_FALSE(DebugDownload::HasServers());
  for (const char* urls : {"", "  "}) {
    ::setenv("DEBUGINFOD_URLS", urls, 1);
    EXPECT_FALSE(DebugDownload::HasServers()) << '"' << urls << '"';
  }
  ::setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9", 1);
  EXPECT_TRUE(DebugDownload::HasServers());
  ::unsetenv("DEBUGINFOD_URLS");
}

TEST_F(DebugFinderTest, PackedSymbolsAreAdded) {
  if (profd::testing::Run({"sh", "-c", "xz --version"}).exit_code != 0)
    GTEST_SKIP() << "needs xz (xz-utils)";
  Shell("objcopy --strip-debug fixture.debug mini && xz -k mini");
  Shell("objcopy --add-section .gnu_debugdata=mini.xz root/usr/lib/fixture.so");
  Inspect();
  test::DirectObjects source(ProcFs(tree_.Path("proc")), test::WithDebugFiles());
  const auto object = source.Load(id_);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ((*object)->info().symbols_file, ".gnu_debugdata");
  EXPECT_EQ((*object)->info().symbols_missing, "");
}

TEST_F(DebugFinderTest, DwzFilesAreFollowed) {
  if (profd::testing::Run({"sh", "-c", "dwz --version"}).exit_code != 0)
    GTEST_SKIP() << "needs dwz";
  Shell("cp '" PROFD_INLINES_DWARF4 "' one && cp '" PROFD_INLINES_DWARF4_AGAIN "' two");
  Shell("dwz -m shared -M /usr/lib/debug/.dwz/shared one two");
  Shell("mkdir -p root/usr/lib/debug/.dwz && cp shared root/usr/lib/debug/.dwz/");
  Shell("cp one root/usr/lib/fixture.so");
  Inspect();
  ASSERT_EQ(contents_.links.alternate, "/usr/lib/debug/.dwz/shared");
  test::DirectObjects source(ProcFs(tree_.Path("proc")), test::WithDebugFiles());
  const auto object = source.Load(id_);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ((*object)->info().debug_missing, "");
  UniqueFd whole(::open(PROFD_INLINES_DWARF4, O_RDONLY | O_CLOEXEC));
  const auto plain = DwarfFile::Open(std::move(whole), UniqueFd());
  ASSERT_TRUE(plain) << plain.error().message;
  std::size_t compared = 0;
  for (std::uint64_t at = 0x1000; at < 0x4000; at += 3) {
    const auto expected = (*plain)->Find(at);
    ASSERT_EQ((*object)->FindSource(at), expected) << std::hex << at;
    compared += expected.size();
  }
  EXPECT_GT(compared, 500u);
}

}  // namespace
}  // namespace profd::elf
