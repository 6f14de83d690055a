#include "client/commands/profile_file.h"

#include <cerrno>
#include <fstream>
#include <iostream>

#include "client/export/json.h"

namespace profd::commands {

Result<v1::Profile> ReadProfileFile(const std::string& path) {
  if (path == "-") return client::ReadJson(std::cin);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    Error error = ErrorFromErrno(errno, "cannot read " + path);
    error.code = ErrorCode::kIo;
    return error;
  }
  Result<v1::Profile> profile = client::ReadJson(file);
  if (!profile) return profile.error().Wrap("cannot read " + path);
  return profile;
}

}  // namespace profd::commands
