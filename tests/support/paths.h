// Where the tree and the build folder of this test lie. Only paths.cc knows them when it is
// compiled, so that a compiler cache serves all clones.
#pragma once

#include <string>

namespace profd::test {

[[nodiscard]] std::string SourceDirectory();
[[nodiscard]] std::string BinaryDirectory();
// tests/data of the tree.
[[nodiscard]] std::string TestData();

}  // namespace profd::test
