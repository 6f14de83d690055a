// TempTree: a folder of its own for one test, removed with it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace profd::elf::testing {

class TempTree {
 public:
  TempTree() {
    std::string name = (std::filesystem::temp_directory_path() / "profd-elf-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    EXPECT_NE(path_, "") << "cannot make a temporary folder";
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;
  ~TempTree() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string Path(const std::string& name = "") const { return path_ + "/" + name; }
  // Makes the folders on the way too.
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = Path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  void Link(const std::string& name, const std::string& target) const {
    const std::filesystem::path path = Path(name);
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(target, path);
  }

 private:
  std::string path_;
};

}  // namespace profd::elf::testing
