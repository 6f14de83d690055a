#include "client/commands/web/desktop_browser.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "client/system/command_child.h"
#include "client/system/invoking_user.h"
#include "client/text/escape.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {
namespace {

constexpr std::string_view kSuffix = ".html";

bool HasDisplay() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return true;
  return false;
}

// The path of a file that leads to the address.
Result<std::string> WriteSignpost(const std::string& address,
                                  const std::optional<InvokingUser>& user, TempFiles& temp_files) {
  std::string path = "/tmp/profctl-web-XXXXXX" + std::string(kSuffix);
  const UniqueFd file(::mkstemps(path.data(), static_cast<int>(kSuffix.size())));
  if (!file.valid()) return ErrorFromErrno(errno, "cannot make a file for the browser");
  temp_files.Add(path);
  const std::string text =
      "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=" +
      EscapeXml(address) + "\"><title>profd</title>\n";
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      (user && ::fchown(file.get(), user->uid, user->gid) != 0))
    return ErrorFromErrno(errno, "cannot write " + path);
  return path;
}

}  // namespace

Result<void> OpenInBrowser(const std::string& address, const Context& context,
                           const StopSignals& signals) {
  if (!HasDisplay())
    return Error{ErrorCode::kUnsupported, "cannot open a browser: there is no display",
                 "open the address yourself"};
  const auto user = InvokingUser::FromEnvironment();
  const auto path = WriteSignpost(address, user, context.temp_files);
  if (!path) return path.error();
  // The shell leaves it behind: nothing waits for a browser.
  const auto child =
      CommandChild::Fork({"sh", "-c", "xdg-open \"$1\" >/dev/null 2>&1 &", "sh", *path}, user,
                         signals.original_mask());
  if (!child) return child.error();
  return (*child)->Release();
}

}  // namespace profd::client
