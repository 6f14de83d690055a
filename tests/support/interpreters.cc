#include "tests/support/interpreters.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/support/subprocess.h"

namespace profd::test {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ':');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<std::string> Candidates(const std::string& name) {
  std::vector<std::string> files;
  std::vector<std::string> folders{"/usr/bin", "/usr/local/bin"};
  for (const std::string& folder : Split(Variable("PATH"))) folders.push_back(folder);
  std::vector<std::string> roots{Variable("PYENV_ROOT"), Variable("HOME") + "/.pyenv"};
  for (const std::string& root : roots) {
    std::error_code error;
    for (const auto& version : std::filesystem::directory_iterator(root + "/versions", error))
      folders.push_back(version.path() / "bin");
  }
  for (const std::string& folder : folders) files.push_back(folder + "/" + name);
  for (const std::string& file : Split(Variable("PROFD_PYTHONS"))) files.push_back(file);
  return files;
}

// Wrappers that start another program, as pyenv has them in PATH, are no interpreters.
bool IsOf(const std::string& file, int minor) {
  const std::string wanted = "cpython 3." + std::to_string(minor) + "\n";
  return testing::Run(
             {file, "-c",
              "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"})
             .out == wanted;
}

}  // namespace

std::vector<int> WantedMinors() { return {7, 8, 9, 10, 11, 12, 13, 14, 15}; }

std::vector<std::string> FindInterpreters(int minor) {
  std::set<std::string> seen;
  std::vector<std::string> found;
  for (const std::string& file : Candidates("python3." + std::to_string(minor))) {
    std::error_code error;
    const auto real = std::filesystem::canonical(file, error);
    if (error || ::access(real.c_str(), X_OK) != 0 || real.filename().string().find("python") != 0)
      continue;
    if (seen.insert(real).second && IsOf(real, minor)) found.push_back(real);
  }
  return found;
}

}  // namespace profd::test
