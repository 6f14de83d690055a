// Inlined functions and lines, held against what elfutils and binutils read; damaged and cut files.
#include "daemon/elf/debug/dwarf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/elf/symbols/elf_reader.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_folder.h"
#include "tests/support/temporary_file.h"

namespace profd::elf {
namespace {

using ::testing::HasSubstr;

UniqueFd OpenFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(fd.valid()) << path;
  return fd;
}

Result<std::unique_ptr<DwarfFile>> OpenDwarf(const std::string& path,
                                             const DebugLimits& limits = {}) {
  return DwarfFile::Open(OpenFile(path), UniqueFd(), limits);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Text(const std::vector<SourceFrame>& frames) {
  std::string text;
  for (const SourceFrame& frame : frames) {
    const std::string place =
        frame.file.empty() ? "??" : frame.file + ":" + std::to_string(frame.line);
    text += (frame.name.empty() ? "??" : frame.name) + " " + place + "\n";
  }
  return text;
}

// What `tool -f -i` says of each address, in the same words. It prints a function and its
// place on two lines, innermost first; "name inlined at ... in ..." and ":column" are left out.
std::map<std::uint64_t, std::string> Addr2Line(const std::string& tool, const std::string& path,
                                               const std::vector<std::uint64_t>& addresses) {
  test::TempFolder tree;
  std::string input;
  for (const std::uint64_t address : addresses) {
    std::ostringstream line;
    line << "0x" << std::hex << address << '\n';
    input += line.str();
  }
  const std::string list = tree.Write("addresses", input);
  const auto outcome = profd::testing::Run(
      {"sh", "-c", "exec \"$3\" -e \"$1\" -a -f -i <\"$2\"", "sh", path, list, tool});
  std::map<std::uint64_t, std::string> answers;
  std::istringstream lines(outcome.out);
  std::string* answer = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      answer = &answers[std::stoull(line, nullptr, 16)];
      continue;
    }
    std::string place;
    if (answer == nullptr || !std::getline(lines, place)) break;
    line = line.substr(0, line.find(" inlined at "));
    place = place.substr(0, place.find(" (discriminator"));
    if (place == "??:0" || place == "??:?") place = "??";
    const std::size_t slash = place.rfind('/');
    const std::size_t colon = place.find(':', slash == std::string::npos ? 0 : slash);
    const std::size_t column =
        colon == std::string::npos ? std::string::npos : place.find(':', colon + 1);
    *answer += line + " " + (place == "??" ? "??" : place.substr(0, column)) + "\n";
  }
  return answers;
}

// A copy without symbol tables: addr2line takes names that the debug information lacks
// from them.
std::string WithoutSymbols(const std::string& path) {
  std::string bytes = ReadAll(path);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    char* at = bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, at, sizeof section);
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
      section.sh_type = SHT_PROGBITS;
    std::memcpy(at, &section, sizeof section);
  }
  return bytes;
}

// Equal, but that addr2line puts the build folder before a file even if that is relative; and that
// it may have names from the symbols, where it has them.
bool SameText(const std::string& ours, const std::string& theirs, bool from_symbols = false) {
  std::istringstream our_words(ours);
  std::istringstream their_words(theirs);
  std::string a;
  std::string b;
  while (our_words >> a) {
    if (!(their_words >> b)) return false;
    if (a == "??" && from_symbols) continue;
    if (a != b && !(b[0] == '.' && b.ends_with("/" + a))) return false;
  }
  return !(their_words >> b);
}

// Whether they know a function, or a line of assembly, which has none. A line without a function is
// that of padding: the last row of lines holds until the next function.
bool HaveAnswer(const std::string& theirs) {
  return !theirs.empty() && (!theirs.starts_with("?? ") || theirs.find(".S:") != std::string::npos);
}

// Where eu-addr2line says something else (it looks inlined calls up by their origin, which is not
// unique: the place of another call may come out), binutils must agree with us.
void ExpectSameAsOthers(const std::string& path, const std::vector<std::uint64_t>& addresses,
                        std::size_t at_least) {
  const auto file = OpenDwarf(path);
  ASSERT_TRUE(file) << file.error().message;
  std::map<std::uint64_t, std::string> ours;
  std::map<std::uint64_t, std::string> others;
  std::vector<std::uint64_t> differ;
  std::vector<std::uint64_t> lacking;
  test::TempFolder tree;
  const std::string copy = tree.Write("copy", WithoutSymbols(path));
  std::size_t inlined = 0;
  for (const auto& [address, expected] : Addr2Line("eu-addr2line", copy, addresses)) {
    const auto frames = (*file)->Find(address);
    if (frames.empty()) {
      if (HaveAnswer(expected)) lacking.push_back(address);
      continue;
    }
    inlined += frames.size() > 1 ? 1 : 0;
    ours[address] = Text(frames);
    if (SameText(ours[address], expected)) continue;
    differ.push_back(address);
    others[address] = expected;
  }
  EXPECT_THAT(lacking, ::testing::IsEmpty());
  EXPECT_GT(inlined, at_least);
  EXPECT_LT(differ.size(), ours.size() / 50 + 1);
  for (const auto& [address, expected] : Addr2Line("addr2line", path, differ))
    EXPECT_TRUE(SameText(ours[address], expected, !HaveAnswer(others[address])))
        << std::hex << address << "\n"
        << ours[address] << "is not\n"
        << expected;
}

std::vector<std::uint64_t> TextAddresses(const std::string& path, std::size_t step) {
  std::vector<std::uint64_t> addresses;
  const auto outcome = profd::testing::Run({"readelf", "-SW", path});
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(" .text ");
    if (at == std::string::npos) continue;
    std::istringstream fields(line.substr(at));
    std::string name, type, vaddr, offset, size;
    fields >> name >> type >> vaddr >> offset >> size;
    const std::uint64_t begin = std::stoull(vaddr, nullptr, 16);
    for (std::uint64_t i = 0; i < std::stoull(size, nullptr, 16); i += step)
      addresses.push_back(begin + i);
  }
  return addresses;
}

bool HaveElfutils() {
  return profd::testing::Run({"sh", "-c", "eu-addr2line --version && addr2line --version"})
             .exit_code == 0;
}

class DwarfOfFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(DwarfOfFixture, IsThatOfAddr2Line) {
  if (!HaveElfutils()) GTEST_SKIP() << "needs eu-addr2line and addr2line to compare with";
  ExpectSameAsOthers(GetParam(), TextAddresses(GetParam(), 5), 300);
}

TEST_P(DwarfOfFixture, IsTheSameWhenPagedAndForgotten) {
  DebugLimits paged;
  paged.eager_bytes = 0;
  paged.make_temporary = test::MakeTemporary;
  const auto plain = OpenDwarf(GetParam());
  const auto lazy = OpenDwarf(GetParam(), paged);
  if (!lazy && lazy.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << lazy.error().message;
  ASSERT_TRUE(plain && lazy) << lazy.error().message;
  std::size_t named = 0;
  for (const std::uint64_t address : TextAddresses(GetParam(), 7)) {
    const auto frames = (*plain)->Find(address);
    ASSERT_EQ((*lazy)->Find(address), frames) << std::hex << address;
    if (named % 50 == 0) (*lazy)->Shrink();
    if (!frames.empty()) ++named;
  }
  EXPECT_GT(named, 100u);
  EXPECT_GT((*lazy)->units_read(), (*lazy)->units());
}

INSTANTIATE_TEST_SUITE_P(Formats, DwarfOfFixture,
                         ::testing::Values(PROFD_INLINES_DWARF5, PROFD_INLINES_DWARF4,
                                           PROFD_INLINES_ZLIB));

TEST(DwarfFile, DebugFilesOfThisMachineAreThoseOfAddr2Line) {
  if (!HaveElfutils()) GTEST_SKIP() << "needs eu-addr2line and addr2line to compare with";
  const std::filesystem::path root = "/usr/lib/debug/.build-id";
  std::error_code error;
  std::filesystem::path largest;
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, error)) {
    if (entry.is_regular_file() && entry.file_size() > bytes) {
      largest = entry.path();
      bytes = entry.file_size();
    }
  }
  if (largest.empty()) GTEST_SKIP() << "no debug package is installed";
  std::mt19937_64 random(4711);
  auto addresses = TextAddresses(largest, 1);
  std::ranges::shuffle(addresses, random);
  addresses.resize(std::min<std::size_t>(addresses.size(), 10'000));
  ExpectSameAsOthers(largest, addresses, 300);
}

TEST(DwarfFile, AFileWithoutSaysSo) {
  const auto file = OpenDwarf("/bin/true");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "no debug information in it");
}

// Asks for some addresses of the fixture, whatever is left of it.
void Use(const std::string& path, const DebugLimits& limits) {
  const auto file = OpenDwarf(path, limits);
  if (!file) {
    EXPECT_NE(file.error().message, "");
    return;
  }
  for (std::uint64_t address = 0x1000; address < 0x8000; address += 61) {
    for (const SourceFrame& frame : (*file)->Find(address)) {
      EXPECT_LE(frame.name.size(), 1u << 20);
    }
  }
}

TEST(DwarfFile, AnyByteMayBeWrong) {
  test::TempFolder tree;
  const std::string whole = ReadAll(PROFD_INLINES_DWARF5);
  const auto sections = profd::testing::Run({"readelf", "-SW", PROFD_INLINES_DWARF5});
  ASSERT_THAT(sections.out, HasSubstr(".debug_info"));
  std::mt19937_64 random(99);
  for (int round = 0; round < 150; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 40; ++i) {
      // The second half is debug information.
      const std::size_t at = bytes.size() / 4 + random() % (bytes.size() * 3 / 4);
      bytes[at] = static_cast<char>(random());
    }
    Use(tree.Write("damaged", bytes), {});
  }
}

TEST(DwarfFile, AnyLengthMayBeMissing) {
  test::TempFolder tree;
  const std::string whole = ReadAll(PROFD_INLINES_DWARF5);
  for (std::size_t length = 1; length < whole.size(); length += whole.size() / 97)
    Use(tree.Write("cut", whole.substr(0, length)), {});
}

TEST(DwarfFile, AFileThatShrinksIsNoFault) {
  test::TempFolder tree;
  const std::string path = tree.Write("library", ReadAll(PROFD_INLINES_DWARF5));
  DebugLimits paged;
  paged.eager_bytes = 0;
  paged.make_temporary = test::MakeTemporary;
  const auto file = OpenDwarf(path, paged);
  if (!file && file.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << file.error().message;
  ASSERT_TRUE(file) << file.error().message;
  (*file)->Shrink();
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  for (const std::uint64_t address : TextAddresses(PROFD_INLINES_DWARF5, 5))
    (void)(*file)->Find(address);
  EXPECT_GE((*file)->units(), 2u);
}

}  // namespace
}  // namespace profd::elf
