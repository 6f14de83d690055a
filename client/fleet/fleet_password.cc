#include "client/fleet/fleet_password.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "daemon/base/files.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxFileBytes = 4096;

}  // namespace

Result<std::string> FleetPassword(const std::string& file) {
  std::string password;
  if (!file.empty()) {
    const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!opened.valid()) return ErrorFromErrno(errno, "cannot read " + file);
    const auto text = ReadAll(opened.get(), file, kMaxFileBytes);
    if (!text) return text.error();
    password = text->substr(0, text->find_first_of("\r\n"));
  } else if (const char* set = std::getenv("PROFD_FLEET_PASSWORD"); set != nullptr) {
    password = set;
  }
  if (std::ranges::all_of(password, [](char c) { return c >= ' ' && c <= '~'; })) return password;
  return Error{ErrorCode::kInvalidArgument, "the password has characters that HTTP cannot carry",
               "it may have those from space to ~"};
}

}  // namespace profd::client
