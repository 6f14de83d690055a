#include "tests/e2e/viewers/in_chromium.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/e2e/viewers/exported_files.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = test::SourceDirectory() + "/tests/e2e/viewers";
const fs::path kWork = test::BinaryDirectory() + "/viewers";

std::string Chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (const std::string found = FindProgram(name); !found.empty()) return found;
  return "";
}

std::string Contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Why the packages cannot be had; "" when they are there. Installs them once per lock file.
std::string Install() {
  fs::create_directories(kWork / "shots");
  for (const auto& entry : fs::directory_iterator(kSource))
    if (entry.path().extension() == ".mjs" || entry.path().extension() == ".json")
      fs::copy_file(entry.path(), kWork / entry.path().filename(),
                    fs::copy_options::overwrite_existing);
  const std::string wanted = Contents(kWork / "package-lock.json");
  if (Contents(kWork / "installed") == wanted) return "";
  SubprocessOptions options;
  options.working_directory = kWork;
  const Outcome npm =
      testing::Run({"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}, options);
  if (npm.exit_code != 0) return "npm cannot install the viewers: " + npm.err.substr(0, 300);
  std::ofstream(kWork / "installed", std::ios::binary) << wanted;
  return "";
}

}  // namespace

void InChromium::SetUp() {
  chromium_ = Chromium();
  if (chromium_.empty()) GTEST_SKIP() << "chromium is not installed";
  for (const char* program : {"node", "npm"})
    if (FindProgram(program).empty()) GTEST_SKIP() << program << " is not installed";
  static const std::string problem = Install();
  if (!problem.empty()) GTEST_SKIP() << problem;
}

void InChromium::RunChecks(const std::string& file, const std::string& host) {
  SubprocessOptions options;
  options.working_directory = kWork;
  options.environment["VIEWER_FILES"] = ExportedFiles();
  options.environment["VIEWER_SHOTS"] = kWork / "shots";
  options.environment["VIEWER_CHROMIUM"] = chromium_;
  options.environment["VIEWER_PROFCTL"] = test::BinaryDirectory() + "/bin/profctl";
  options.environment["VIEWER_HOST"] = host;
  const Outcome node = testing::Run({"node", "--test", "--test-reporter=spec", file}, options);
  std::cout << node.out;
  EXPECT_EQ(node.exit_code, 0) << node.err;
}

}  // namespace profd::testing
