// Names for random addresses of real files, held against binutils' reading of the same files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/elf/sources/object_remote.h"
#include "daemon/elf/symbols/virtual_functions.h"
#include "tests/support/direct_objects.h"
#include "tests/support/listed_symbols.h"
#include "tests/support/subprocess.h"

namespace profd::elf {
namespace {

using profd::testing::ListedSymbol;
using profd::testing::ListSymbols;

// Names of the functions that start last of those that cover an address.
std::set<std::string> RightNames(const std::vector<ListedSymbol>& symbols, std::uint64_t vaddr) {
  std::set<std::string> names;
  std::uint64_t latest = 0;
  for (const ListedSymbol& symbol : symbols) {
    if (!symbol.function || vaddr < symbol.start || vaddr >= symbol.start + symbol.size) continue;
    if (symbol.start > latest) names.clear();
    latest = std::max(latest, symbol.start);
    if (symbol.start == latest) names.insert(symbol.name);
  }
  return names;
}

// Whether a symbol without a size may reach as far as `vaddr`.
bool MayReach(const std::vector<ListedSymbol>& symbols, const std::string& name,
              std::uint64_t vaddr) {
  for (const ListedSymbol& symbol : symbols) {
    if (symbol.name != name || symbol.start > vaddr || (symbol.function && symbol.size != 0))
      continue;
    const bool another_between = std::ranges::any_of(symbols, [&](const ListedSymbol& other) {
      return other.start > symbol.start && other.start <= vaddr;
    });
    if (!another_between) return true;
  }
  return false;
}

// 0: the symbol has none.
std::uint64_t SizeOf(const std::vector<ListedSymbol>& symbols, const std::string& name) {
  const auto found = std::ranges::find(symbols, name, &ListedSymbol::name);
  return found == symbols.end() ? 1 : found->size;
}

// The source outlives the object.
std::optional<ObjectRef> LoadFile(test::DirectObjects& source, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  ObjectId id;
  id.path = path;
  id.device_major = major(status.st_dev);
  id.device_minor = minor(status.st_dev);
  id.inode = status.st_ino;
  Result<ObjectRef> object = source.Load(id);
  EXPECT_TRUE(object) << path << ": " << object.error().message;
  if (!object) return std::nullopt;
  return std::move(object).value();
}

// In a file's code, wherever they come to lie.
constexpr std::uint64_t kRandomAddresses = 500;
constexpr std::size_t kEnoughFiles = 20;

// Spread over all executable segments as if they were one.
std::vector<std::uint64_t> RandomAddresses(const ObjectInfo& info, std::mt19937_64& random) {
  std::uint64_t bytes = 0;
  for (const LoadSegment& segment : info.segments)
    if (segment.executable) bytes += segment.file_bytes;
  std::vector<std::uint64_t> addresses;
  while (bytes > 0 && addresses.size() < kRandomAddresses) {
    std::uint64_t at = random() % bytes;
    for (const LoadSegment& segment : info.segments) {
      if (!segment.executable) continue;
      if (at < segment.file_bytes) {
        addresses.push_back(segment.vaddr + at);
        break;
      }
      at -= segment.file_bytes;
    }
  }
  return addresses;
}

void ExpectSameNames(const std::string& path, unsigned seed, std::size_t& compared) {
  SCOPED_TRACE(path + ", seed " + std::to_string(seed));
  test::DirectObjects source;
  const auto object = LoadFile(source, path);
  ASSERT_TRUE(object);
  const ObjectInfo& info = (*object)->info();
  const bool stripped = info.symbols_from == SymbolOrigin::kDynsym;
  const auto symbols = ListSymbols(path, stripped);
  ASSERT_FALSE(symbols.empty());

  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> addresses = RandomAddresses(info, random);
  ASSERT_EQ(addresses.size(), kRandomAddresses);
  for (int i = 0; i < 200; ++i) {
    // Where mistakes would be: at both ends of a function.
    const ListedSymbol& symbol = symbols[random() % symbols.size()];
    for (const std::uint64_t address : {symbol.start - 1, symbol.start,
                                        symbol.start + symbol.size - 1, symbol.start + symbol.size})
      addresses.push_back(address);
  }
  std::size_t named = 0;
  for (const std::uint64_t address : addresses) {
    const auto found = (*object)->FindSymbol(address);
    const std::set<std::string> right = RightNames(symbols, address);
    if (!found || found->name.empty()) {
      ASSERT_TRUE(right.empty()) << std::hex << address << " is " << *right.begin();
      continue;
    }
    ++named;
    const std::string name(found->name);
    const bool may_reach = !stripped && right.empty() && MayReach(symbols, name, address);
    const bool stub = right.empty() && name.ends_with("@plt");
    // By .eh_frame; FunctionExtents.AreThoseOfReadelf has their ends.
    const bool by_frame = stripped && right.empty() && SizeOf(symbols, name) == 0;
    const bool by_class =
        stripped && right.empty() && name.find(kVirtualPlace) != std::string::npos;
    ASSERT_TRUE(right.contains(name) || may_reach || stub || by_frame || by_class)
        << std::hex << address << " is not " << name;
  }
  EXPECT_GT(named, 100u);
  compared += kRandomAddresses;
}

bool HaveReadelf() { return profd::testing::Run({"readelf", "--version"}).exit_code == 0; }

TEST(SystemFiles, NamesAreThoseOfReadelf) {
  if (!HaveReadelf()) GTEST_SKIP() << "needs readelf (binutils) to compare with";
  const unsigned seed = 7919;
  std::size_t checked = 0;
  std::size_t compared = 0;
  std::string absent;
  for (const std::string path : {"/lib/x86_64-linux-gnu/libc.so.6",
                                 "/lib/x86_64-linux-gnu/libcrypto.so.3",
                                 "/lib/x86_64-linux-gnu/libdw.so.1",
                                 "/lib/x86_64-linux-gnu/libelf.so.1",
                                 "/lib/x86_64-linux-gnu/libgrpc.so.29",
                                 "/lib/x86_64-linux-gnu/libLLVM-16.so.1",
                                 "/lib/x86_64-linux-gnu/libm.so.6",
                                 "/lib/x86_64-linux-gnu/libprotobuf.so.32",
                                 "/lib/x86_64-linux-gnu/libsqlite3.so.0",
                                 "/lib/x86_64-linux-gnu/libstdc++.so.6",
                                 "/lib/x86_64-linux-gnu/libzstd.so.1",
                                 "/lib64/ld-linux-x86-64.so.2",
                                 "/bin/bash",
                                 "/usr/bin/clang-16",
                                 "/usr/bin/cmake",
                                 "/usr/bin/gdb",
                                 "/usr/bin/node",
                                 "/usr/bin/perf",
                                 "/usr/bin/perl",
                                 "/usr/bin/python3",
                                 "/usr/bin/redis-server",
                                 "/usr/lib/postgresql/15/bin/postgres",
                                 "/usr/sbin/nginx"}) {
    if (!std::filesystem::exists(path)) {
      absent += " " + path;
      continue;
    }
    ++checked;
    ExpectSameNames(std::filesystem::canonical(path), seed, compared);
    if (HasFatalFailure()) return;
  }
  RecordProperty("addresses", static_cast<int>(compared));
  if (checked < kEnoughFiles)
    GTEST_SKIP() << "only " << checked << " of " << kEnoughFiles << " files are here, without"
                 << absent;
  EXPECT_GE(compared, 10'000u);
}

// "address name@plt" of all stubs, as objdump finds them; those without a version.
std::map<std::uint64_t, std::string> ListStubs(const std::string& path) {
  std::map<std::uint64_t, std::string> stubs;
  for (const char* section : {".plt", ".plt.sec", ".plt.got"}) {
    const auto outcome = profd::testing::Run({"objdump", "-d", "-j", section, path});
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.ends_with("@plt>:")) continue;
      const std::size_t name = line.find('<') + 1;
      stubs[std::stoull(line, nullptr, 16)] = line.substr(name, line.size() - name - 2);
    }
  }
  return stubs;
}

TEST(SystemFiles, StubsAreThoseOfObjdump) {
  if (!HaveReadelf()) GTEST_SKIP() << "needs binutils to compare with";
  std::size_t compared = 0;
  for (const std::string path : {"/bin/bash", "/usr/bin/python3", "/usr/bin/redis-server",
                                 "/lib/x86_64-linux-gnu/libstdc++.so.6", PROFD_SYMBOLS_FIXTURE}) {
    if (!std::filesystem::exists(path)) continue;
    test::DirectObjects source;
    const auto object = LoadFile(source, std::filesystem::canonical(path));
    ASSERT_TRUE(object);
    for (const auto& [address, name] : ListStubs(path)) {
      if (name.starts_with("*ABS*")) continue;  // an indirect function: no symbol names it
      const auto found = (*object)->FindSymbol(address + 1);
      ASSERT_TRUE(found) << path << ' ' << std::hex << address << " is " << name;
      ASSERT_EQ(found->name, name.substr(0, name.find('@')) + "@plt") << path;
      ++compared;
    }
  }
  EXPECT_GT(compared, 500u);
}

std::string NameAt(const ObjectRef& object, std::uint64_t vaddr) {
  const auto symbol = object->FindSymbol(vaddr);
  return symbol ? std::string(symbol->name) : "-";
}

std::uint64_t AddressOf(const std::vector<ListedSymbol>& symbols, const std::string& name) {
  const auto found = std::ranges::find(symbols, name, &ListedSymbol::name);
  EXPECT_NE(found, symbols.end()) << name;
  return found == symbols.end() ? 0 : found->start;
}

TEST(SystemFiles, ALibraryOfOurOwn) {
  if (!HaveReadelf()) GTEST_SKIP() << "needs readelf (binutils) to compare with";
  test::DirectObjects source;
  const auto object = LoadFile(source, PROFD_SYMBOLS_FIXTURE);
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)->info().symbols_from, SymbolOrigin::kSymtab);
  const auto symbols = ListSymbols(PROFD_SYMBOLS_FIXTURE, false);
  EXPECT_EQ(NameAt(*object, AddressOf(symbols, "fixture_local")), "fixture_local");
  EXPECT_EQ(NameAt(*object, AddressOf(symbols, "__fixture_aliased")), "fixture_aliased");
  EXPECT_EQ(NameAt(*object, AddressOf(symbols, "fixture_exported")), "fixture_exported");
  EXPECT_EQ(NameAt(*object, AddressOf(symbols, "fixture_choose")), "fixture_ifunc")
      << "the function that chooses has the name of what it chooses for";
  const std::uint64_t no_size = AddressOf(symbols, "fixture_no_size");
  EXPECT_EQ(NameAt(*object, no_size), "fixture_no_size");
  EXPECT_EQ(NameAt(*object, no_size + 1), "fixture_no_size") << "the label is inside of it";
  EXPECT_EQ(NameAt(*object, AddressOf(symbols, "fixture_no_type")), "fixture_no_type");
}

TEST(SystemFiles, TheSameLibraryStripped) {
  if (!HaveReadelf()) GTEST_SKIP() << "needs readelf (binutils) to compare with";
  test::DirectObjects source;
  const auto object = LoadFile(source, PROFD_SYMBOLS_FIXTURE_STRIPPED);
  const auto whole = LoadFile(source, PROFD_SYMBOLS_FIXTURE);
  ASSERT_TRUE(object && whole);
  EXPECT_EQ((*object)->info().symbols_from, SymbolOrigin::kDynsym);
  EXPECT_EQ((*object)->info().symbols_missing, "stripped: install its debug package");
  EXPECT_EQ((*object)->info().build_id, (*whole)->info().build_id);
  EXPECT_NE((*object)->info().build_id, "");
  const auto symbols = ListSymbols(PROFD_SYMBOLS_FIXTURE, false);
  const std::uint64_t local = AddressOf(symbols, "fixture_local");
  const auto without_symbol = (*object)->FindSymbol(local + 1);
  ASSERT_TRUE(without_symbol);
  EXPECT_EQ(*without_symbol, (SymbolRange{local, local + SizeOf(symbols, "fixture_local"), ""}));
  const std::uint64_t frame = AddressOf(symbols, "fixture_frame");
  EXPECT_EQ((*object)->FindSymbol(frame + 1), (SymbolRange{frame, frame + 2, "fixture_frame"}));
  EXPECT_EQ(NameAt(*object, AddressOf(symbols, "fixture_no_type")), "-")
      << "how far does it reach?";
  EXPECT_EQ(NameAt(*object, AddressOf(symbols, "fixture_exported")), "fixture_exported");
}

}  // namespace
}  // namespace profd::elf
