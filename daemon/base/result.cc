#include "daemon/base/result.h"

#include <cerrno>
#include <system_error>

namespace profd {

Error ErrorFromErrno(int error_number, std::string_view context) {
  ErrorCode code = ErrorCode::kIo;
  if (error_number == ENOENT || error_number == ESRCH) code = ErrorCode::kNotFound;
  if (error_number == EACCES || error_number == EPERM) code = ErrorCode::kPermissionDenied;
  std::string cause = std::generic_category().message(error_number);
  if (!cause.empty() && cause[0] >= 'A' && cause[0] <= 'Z')
    cause[0] = static_cast<char>(cause[0] - 'A' + 'a');
  return Error{code, std::string(context) + ": " + cause, ""};
}

}  // namespace profd
