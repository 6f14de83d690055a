#include "client/system/temp_files.h"

#include <cstdio>
#include <ranges>

namespace profd::client {

void TempFiles::Add(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  paths_.insert(path);
}

void TempFiles::Forget(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  paths_.erase(path);
}

void TempFiles::RemoveAll() {
  const std::scoped_lock lock(mutex_);
  // In reverse order of names a file comes before its directory.
  for (const std::string& path : std::views::reverse(paths_)) ::remove(path.c_str());
  paths_.clear();
}

}  // namespace profd::client
