#include "tests/e2e/viewers/exported_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "client/format/exporter.h"
#include "tests/support/paths.h"
#include "tests/support/sample_profiles.h"

namespace profd::testing {

namespace {

// As of a session: each sample has an instant of its own.
v1::Profile Timed(v1::Profile profile) {
  profile.mutable_samples()->mutable_edges()->Resize(profile.samples().node_size(), 0);
  return profile;
}

}  // namespace

const std::string& ExportedFiles() {
  static const std::string folder = [] {
    // Of each test its own.
    const std::string path = test::BinaryDirectory() + "/viewers/" +
                             std::filesystem::read_symlink("/proc/self/exe").filename().string();
    std::filesystem::create_directories(path);
    const std::pair<std::string, v1::Profile> profiles[] = {
        {"small", SmallProfile()},          {"typical", TypicalProfile()},
        {"large", LargeProfile(20'000)},    {"many", ManyThreadsProfile(1000)},
        {"hostile", HostileProfile()},      {"empty", EmptyProfile()},
        {"tower", TowerProfile()},          {"sampled", SampledProfile()},
        {"timed", Timed(WaitingProfile())}, {"later", SmallProfileLater()},
        {"on-whom", WaitingProfile()},      {"operators", OperatorProfile()},
        {"stepped", SteppedProfile()},      {"counted", Timed(CountedProfile())}};
    for (const auto& [name, profile] : profiles) {
      for (const client::Exporter& exporter : client::Exporters()) {
        const std::string file = path + "/" + name + std::string(exporter.extensions.front());
        std::ofstream out(file, std::ios::binary);
        const client::ExportOptions options{
            .threads = name == "many",
            .on_whom = name == "on-whom" ? client::PathDetail::kStacks : client::PathDetail::kNone};
        const auto written = exporter.write(profile, options, out);
        EXPECT_TRUE(written) << file << ": " << (written ? "" : written.error().message);
      }
    }
    return path;
  }();
  return folder;
}

std::string FindProgram(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return folder + "/" + program;
  return "";
}

}  // namespace profd::testing
