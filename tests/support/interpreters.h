// The CPython interpreters of this machine that tests are run with.
#pragma once

#include <string>
#include <vector>

namespace profd::test {

// Minor versions of CPython 3 that there should be tests with.
[[nodiscard]] std::vector<int> WantedMinors();

// Those of `minor` that scripts/pythons finds.
[[nodiscard]] std::vector<std::string> FindInterpreters(int minor);

}  // namespace profd::test
