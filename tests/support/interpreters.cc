#include "tests/support/interpreters.h"

#include <cstdlib>
#include <sstream>

#include "daemon/base/python_versions.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::test {

std::vector<int> WantedMinors() {
  std::vector<int> minors;
  for (const PythonVersion& version : kPythonVersions)
    minors.push_back(static_cast<int>(version.minor));
  return minors;
}

std::vector<std::string> FindInterpreters(int minor) {
  static const std::string all = testing::Run({test::SourceDirectory() + "/scripts/pythons"}).out;
  const std::string wanted = "3." + std::to_string(minor);
  std::vector<std::string> found;
  std::istringstream lines(all);
  std::string version;
  for (std::string path; lines >> version >> path;)
    if (version == wanted) found.push_back(path);
  return found;
}

}  // namespace profd::test
