#include "client/commands/common/profile_file.h"

#include <cerrno>
#include <fstream>
#include <iostream>

#include "client/format/json.h"

namespace profd::client {

Result<v1::Profile> ReadProfileFile(const std::string& path) {
  if (path == "-") return ReadJson(std::cin);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    Error error = ErrorFromErrno(errno, "cannot read " + path);
    error.code = ErrorCode::kIo;
    return error;
  }
  Result<v1::Profile> profile = ReadJson(file);
  if (!profile) return profile.error().Wrap("cannot read " + path);
  return profile;
}

}  // namespace profd::client
