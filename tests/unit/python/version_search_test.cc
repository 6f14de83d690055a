#include "daemon/python/find/version_search.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace profd::python {
namespace {

using std::string_view_literals::operator""sv;

TEST(VersionSearch, ReadsTagAndVersion) {
  VersionSearch search;
  search.Look("x\0cpython-310\0y\0sqlite 3.8.1\0003.10.13\0z"sv);
  EXPECT_EQ(search.version(), 0x030a0df0u);
}

TEST(VersionSearch, KnowsTheMinorWithoutThePatchLevel) {
  VersionSearch search;
  search.Look("\0cpython-38\0003.9.7\0"sv);
  EXPECT_EQ(search.version(), 0x03080000u);
}

TEST(VersionSearch, KnowsConstantsThatShareTheEndOfAnother) {
  VersionSearch search;
  search.Look("\0cpython-39\0/opt/python/3.9.18\0"sv);
  EXPECT_EQ(search.version(), 0x030912f0u);
}

TEST(VersionSearch, TakesTextsOfSeveralPieces) {
  VersionSearch search;
  search.Look("\0cpython-39\0"sv);
  search.Look("\0003.9.18+\0"sv);
  EXPECT_EQ(search.version(), 0x030912f0u);
}

TEST(VersionSearch, DoesNotGuess) {
  VersionSearch search;
  search.Look("cpython-39\0\0cpython-39-x86_64-linux-gnu\0\0cpython-3\0\0cpython-399\0"sv);
  EXPECT_EQ(search.version(), 0u);
  search.Look("\0cpython-38\0\0cpython-39\0"sv);  // one of them belongs to another library
  EXPECT_EQ(search.version(), 0u);
}

}  // namespace
}  // namespace profd::python
