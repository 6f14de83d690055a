#include "tests/support/paths.h"

namespace profd::test {

std::string SourceDirectory() { return PROFD_SOURCE_DIR; }
std::string BinaryDirectory() { return PROFD_BINARY_DIR; }
std::string TestData() { return PROFD_SOURCE_DIR "/tests/data"; }

}  // namespace profd::test
